// Every call that MPI and Tutti both have, made through both by the ranks of one mpirun, with the same inputs. Whole numbers, and whatever
// does not depend on the order of ranks, must be equal to the last bit; sums and products of fractions within what their roundings may do.
#define DOCTEST_CONFIG_IMPLEMENT  // whose macros the rehearsal uses; main is below
#include "communicator/rehearsal.hpp"
#include "mpi_call.hpp"
#include "support/matrix.hpp"

#include <tutti/context.hpp>

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace tutti;
using test::byte_vector;
using test::call;
using test::contents;
using test::oracle;

namespace {

struct tally {
    long cases = 0, open = 0, same_bits = 0, wrong = 0;
};

bool is_fraction(data_type type) { return type == data_type::f32 || type == data_type::f64 || is_complex(type); }

/// How far two results may be apart that were combined in different orders.
double allowed(const call& what, int size, double value) {
    const bool wide = what.type == data_type::f64 || what.type == data_type::cf64;
    if (what.op == reduce_op::sum) return 2 * test::tolerance(wide ? data_type::f64 : data_type::f32, size);
    const double unit = wide ? 0x1p-53 : 0x1p-24;
    // Parts of a complex product can be small differences of large ones: |z| is at most 2 sqrt(2) for each rank.
    return is_complex(what.type) ? 8 * size * unit * std::pow(2.83, size) : 2 * size * unit * std::abs(value);
}

bool close(const call& what, int size, const byte_vector& mine, const byte_vector& theirs) {
    if (mine.size() != theirs.size()) return false;
    const bool wide = what.type == data_type::f64 || what.type == data_type::cf64;
    const data_type part = wide ? data_type::f64 : data_type::f32;
    for (std::size_t index = 0; index < mine.size() / size_of(part); ++index) {
        const double one = test::element_at(part, mine, index), other = test::element_at(part, theirs, index);
        if (!(std::abs(one - other) <= allowed(what, size, one))) return false;
    }
    return true;
}

/// Two ranks have one order; small whole numbers and halves are exact in any; least and greatest need none.
bool order_shows(const call& what, contents kind, int size) {
    return reduces(what.kind) && is_fraction(what.type) && kind == contents::random && size > 2 &&
           (what.op == reduce_op::sum || what.op == reduce_op::prod);
}

task<> compare(communicator& world, const call& what, contents kind, bool in_place, tally& all) {
    const oracle truth(what, world.size(), static_cast<std::uint64_t>(all.cases + 1), kind);
    test::part mine(world, what, truth, in_place);
    auto begun = mine.begin();
    co_await std::move(begun);
    const byte_vector found = mine.result();
    const std::optional<byte_vector> theirs = test::through_mpi(what, truth, world.rank());
    ++all.cases;
    all.open += !theirs;
    if (!theirs) co_return;
    const bool same = test::alike(what.type, found, *theirs);
    all.same_bits += same;
    if (same || (order_shows(what, kind, world.size()) && close(what, world.size(), found, *theirs))) co_return;
    ++all.wrong;
    fmt::print(stderr, "rank {} of {}: {} {} {} x {}, root {}, {}, seed {}: Tutti and MPI differ\n", world.rank(), world.size(),
               name(what.kind), name(what.op.kind()), name(what.type), what.count, what.root, in_place ? "in place" : "beside", all.cases);
}

task<> compare_counts(communicator& world, call what, tally& all) {
    const auto ranks = static_cast<std::size_t>(world.size());
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, ranks - 1, ranks + 1, std::size_t{97}, std::size_t{10'007}}) {
        what.count = count;
        if (has_root(what.kind)) what.root = static_cast<rank>(count % ranks);
        const bool in_place = all.cases % 2 == 1 && what.kind != collective::all_to_all && what.kind != collective::all_to_all_v;
        co_await compare(world, what, contents::small, in_place, all);
        if (reduces(what.kind) && is_fraction(what.type)) co_await compare(world, what, contents::random, in_place, all);
    }
}

task<> compare_all(communicator& world, tally& all) {
    for (const collective kind : test::all_kinds) {
        for (const data_type type : test::all_types)
            for (const reduction& op : test::all_ops) {
                const call what{kind, type, op};
                if (!test::has_op(kind, op) || (reduces(kind) && !defined(op.kind(), type)) || !test::in_mpi(what)) continue;
                co_await compare_counts(world, what, all);
            }
        call opaque{kind, data_type::opaque, sum, 0, 0, 3};
        if (reduces(kind)) opaque.op = test::matrix_product, opaque.opaque_bytes = sizeof(test::matrix);
        if (test::has_op(kind, opaque.op) && kind != collective::barrier) co_await compare_counts(world, opaque, all);
    }
}

/// Where the ranks meet: rank 0 makes a file, and tells the others by MPI.
std::string make_meeting(rank me) {
    char path[] = "/tmp/against-mpi-XXXXXX";
    if (me == 0) {
        const int made = ::mkstemp(path);
        if (made < 0) MPI_Abort(MPI_COMM_WORLD, 1);
        ::close(made);
    }
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    return path;
}

}  // namespace

int main(int argc, char** argv) {
    int provided = 0, me = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    const std::string meeting = make_meeting(me);
    ::setenv("TUTTI_STORE", ("file:" + meeting).c_str(), 1);
    tally mine;
    const std::function<task<>(communicator&)> body = [&mine](communicator& world) { return compare_all(world, mine); };
    const int code = tutti::run(body);
    long wrong = 0;
    MPI_Allreduce(&mine.wrong, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0) {
        fmt::print("{} cases, of which MPI leaves {} open on rank 0, and {} have the same bits there; wrong on all ranks: {}\n", mine.cases,
                   mine.open, mine.same_bits, wrong);
        std::remove(meeting.c_str());
    }
    MPI_Finalize();
    return code != 0 || wrong != 0 || mine.cases < 1000 ? 1 : 0;
}
