// Collectives whose memory is a list of buffers, one for each rank, instead of parts behind each other.
#include "communicator/over_each.hpp"
#include "communicator/rehearsal.hpp"
#include "support/allocations.hpp"
#include "support/ranks.hpp"
#include "support/sanitizers.hpp"

#include <tutti/persistent.hpp>

#include <array>
#include <memory>

namespace parts_test {

using namespace tutti;
using test::programme;
using test::run_ranks;
using test::slices_of;

namespace {

constexpr collective kinds[] = {collective::all_gather, collective::gather, collective::scatter, collective::reduce_scatter,
                                collective::all_to_all};

/// The parts that lie behind each other in a rehearsal, in memory of its own for each rank's part, in an order that is not theirs.
class listed {
public:
    listed(const test::call& what, const test::byte_vector& all, int size) : memory_(static_cast<std::size_t>(size)) {
        const std::size_t each = all.size() / memory_.size();
        for (std::size_t index = memory_.size(); index-- > 0;) memory_[index] = std::make_unique<std::byte[]>(each);
        for (const auto& one : memory_) list_.push_back(what.of(one.get(), each / what.element_bytes()));
        fill(all);
    }
    void fill(const test::byte_vector& all) {
        const std::byte* from = all.data();
        for (const buffer& each : list_) {
            std::copy_n(from, each.bytes(), static_cast<std::byte*>(each.data));
            from += each.bytes();
        }
    }
    test::byte_vector joined() const {
        test::byte_vector all;
        for (const buffer& each : list_) {
            const auto* from = static_cast<const std::byte*>(each.data);
            all.insert(all.end(), from, from + each.bytes());
        }
        return all;
    }
    const std::vector<buffer>& list() const noexcept { return list_; }
    buffer of(rank which) const { return list_[static_cast<std::size_t>(which)]; }

private:
    std::vector<std::unique_ptr<std::byte[]>> memory_;
    std::vector<buffer> list_;
};

/// A call with lists where it has parts for each rank, or, of some ranks, with those behind each other.
class listed_part {
public:
    listed_part(communicator& with, const programme::entry& one, bool lists)
        : with_(with),
          one_(one),
          lists_(lists),
          in_(one.what, one.truth.input(with.rank()), spreads(one.what.kind) ? with.size() : 1),
          out_(one.what, test::byte_vector(one.truth.output_count(with.rank()) * one.what.element_bytes(), std::byte{0xa5}),
               collects(one.what.kind) ? with.size() : 1),
          plain_(with, one.what, one.truth, one.in_place) {}

    future<> begin(call_options how = {}) {
        if (!lists_) return plain_.begin(how);
        const rank me = with_.rank(), root = one_.what.root;
        const bool here = me == root;
        const reduction op = one_.what.op;
        // Gone when the call returns.
        const std::vector<buffer> from = in_.list(), to = out_.list();
        buffer mine = collects(one_.what.kind) ? in_.of(0) : out_.of(0);
        if (one_.in_place && collects(one_.what.kind) && (here || !has_root(one_.what.kind))) {
            std::copy_n(static_cast<const std::byte*>(mine.data), mine.bytes(), static_cast<std::byte*>(out_.of(me).data));
            mine = out_.of(me);
        } else if (one_.in_place && spreads(one_.what.kind) && (here || !has_root(one_.what.kind))) {
            mine = in_.of(me);
            result_in_ = true;
        }
        switch (one_.what.kind) {
            case collective::all_gather: return with_.all_gather(mine, to, how);
            case collective::gather: return with_.gather(mine, here ? to : std::vector<buffer>(), root, how);
            case collective::scatter: return with_.scatter(here ? from : std::vector<buffer>(), mine, root, how);
            case collective::reduce_scatter: return with_.reduce_scatter(from, mine, op, how);
            default: return with_.all_to_all(from, to, how);
        }
    }

    /// Before it is started once more: without what the last time left.
    void clear() {
        if (result_in_) in_.fill(one_.truth.input(with_.rank()));
        else if (!one_.in_place) out_.fill(test::byte_vector(out_.joined().size(), std::byte{0xa5}));
    }

    std::string verdict() const {
        if (!lists_) return plain_.verdict();
        const buffer mine = result_in_ ? in_.of(with_.rank()) : buffer();
        const auto* at = static_cast<const std::byte*>(mine.data);
        const test::byte_vector result = result_in_ ? test::byte_vector(at, at + mine.bytes()) : out_.joined();
        if (!test::alike(one_.what.type, result, one_.truth.expected(with_.rank()))) return "wrong result";
        if (!result_in_ && !test::same_bytes(in_.joined(), one_.truth.input(with_.rank()))) return "the input was written to";
        return "right";
    }

private:
    communicator& with_;
    const programme::entry& one_;
    bool lists_;
    listed in_;
    listed out_;
    test::part plain_;
    bool result_in_ = false;
};

programme calls(int size, std::initializer_list<std::size_t> counts) {
    programme all;
    int turn = size;
    for (const auto kind : kinds)
        for (const std::size_t count : counts)
            for (const bool in_place : {false, true}) {
                test::call what{kind, test::all_types[static_cast<std::size_t>(turn) % test::all_types.size()], sum, 0, count};
                if (reduces(kind)) {
                    what.op = test::all_ops[static_cast<std::size_t>(turn) % std::size(test::all_ops)];
                    what.type = test::type_for(what.op, static_cast<std::size_t>(turn));
                }
                if (has_root(kind)) what.root = turn % size;
                all.add(what, size, in_place);
                ++turn;
            }
    return all;
}

enum class who { all, even };

task<> rehearse(communicator& world, const programme& all, who lists, bool at_once) {
    std::deque<listed_part> parts;
    std::vector<future<>> begun;
    for (const auto& each : all.entries) {
        auto one = parts.emplace_back(world, each, lists == who::all || world.rank() % 2 == 0).begin();
        if (at_once) begun.push_back(std::move(one));
        else co_await std::move(one);
    }
    for (auto& each : begun) co_await std::move(each);
    for (std::size_t index = 0; index < parts.size(); ++index) {
        const test::call& what = all.entries[index].what;
        CAPTURE(name(what.kind));
        CAPTURE(name(what.type));
        CAPTURE(name(what.op.kind()));
        CAPTURE(what.count);
        CAPTURE(all.entries[index].in_place);
        REQUIRE(parts[index].verdict() == "right");
    }
}

task<> use_conveniences(communicator& world) {
    const auto me = static_cast<std::size_t>(world.rank());
    std::vector<int> mine(2, world.rank()), one(2, -1);
    std::array<int, 2> two{-1, -1};
    int rest[] = {-1, -1};
    co_await world.all_gather(mine, buffers(one, two, rest));
    CHECK((one == std::vector<int>(2, 0) && two == std::array{1, 1} && rest[0] == 2 && rest[1] == 2));
    one = {1, 2}, two = {3, 4};
    std::array<int, 2> sums{};
    co_await world.reduce_scatter(buffers(one, two, rest), sums, sum);
    CHECK(sums == (me == 0 ? std::array{3, 6} : me == 1 ? std::array{9, 12} : std::array{6, 6}));
    std::vector<buffer> none;
    std::array<int, 2> from_root{-1, -1};
    if (me == 1) co_await world.scatter(buffers(one, two, rest), from_root, 1);
    else co_await world.scatter(none, from_root, 1);
    CHECK(from_root == (me == 0 ? std::array{1, 2} : me == 1 ? std::array{3, 4} : std::array{2, 2}));
    if (me == 2) co_await world.gather(from_root, buffers(rest, two, one), 2);
    else co_await world.gather(from_root, std::span<const buffer>(), 2);
    if (me == 2) CHECK((rest[0] == 1 && rest[1] == 2 && two == std::array{3, 4} && one == std::vector<int>{2, 2}));
    std::array<int, 1> a{10 * world.rank()}, b{10 * world.rank() + 1}, c{10 * world.rank() + 2}, d{}, e{}, f{};
    co_await world.all_to_all(buffers(a, b, c), buffers(d, e, f));
    CHECK((d[0] == world.rank() && e[0] == 10 + world.rank() && f[0] == 20 + world.rank()));
}

// ---- what is refused

alignas(8) std::array<std::byte, 4096> memory;
buffer at(std::size_t offset, std::size_t count, data_type type = data_type::f32) { return {memory.data() + offset, count, type}; }
using list = std::vector<buffer>;

struct row {
    const char* cause;
    future<> (*call)(communicator&);
};
const char overlap[] = "input and output overlap in a way that this operation does not allow";

// On rank 1 of 3.
const row rows[] = {
    {"the output is a list of 2 buffers, 3 are expected, one for each rank",
     [](communicator& c) {
         return c.all_gather(at(0, 4), list{at(64, 4), at(128, 4)});
     }},
    {"the output is a list of 0 buffers, 3 are expected, one for each rank",
     [](communicator& c) { return c.all_gather(at(0, 4), list{}); }},
    {"the output is a list of 4 buffers, 3 are expected, one for each rank",
     [](communicator& c) {
         return c.gather(at(0, 4), list{at(64, 4), at(128, 4), at(192, 4), at(256, 4)}, 1);
     }},
    {"the input is a list of 1 buffers, 3 are expected, one for each rank",
     [](communicator& c) { return c.scatter(list{at(64, 4)}, at(0, 4), 1); }},
    {"the input is a list of 2 buffers, 3 are expected, one for each rank",
     [](communicator& c) {
         return c.reduce_scatter(list{at(64, 4), at(128, 4)}, at(0, 4), sum);
     }},
    {"the input is a list of 0 buffers, 3 are expected, one for each rank", [](communicator& c) { return c.all_to_all(list{}, list{}); }},
    {"the output is a list of 2 buffers, 3 are expected, one for each rank",
     [](communicator& c) {
         return c.all_to_all(list{at(0, 4), at(64, 4), at(128, 4)}, list{at(256, 4), at(512, 4)});
     }},
    {"the output's buffer 2 has 5 elements, 4 are expected",
     [](communicator& c) {
         return c.all_gather(at(0, 4), list{at(64, 4), at(128, 4), at(192, 5)});
     }},
    {"the input's buffer 1 has 3 elements, 4 are expected",
     [](communicator& c) {
         return c.reduce_scatter(list{at(64, 4), at(128, 3), at(192, 4)}, at(0, 4), sum);
     }},
    {"the input's buffer 1 has 3 elements, 4 are expected",
     [](communicator& c) {
         return c.all_to_all(list{at(64, 4), at(128, 3), at(192, 4)}, list{at(256, 4), at(320, 4), at(384, 4)});
     }},
    {"the output's buffer 0 of 4 elements is a null pointer",
     [](communicator& c) {
         return c.all_gather(at(0, 4), list{buffer(nullptr, 4, data_type::f32), at(128, 4), at(192, 4)});
     }},
    {"the input's buffer 1 is not aligned for f32",
     [](communicator& c) {
         return c.scatter(list{at(64, 4), at(129, 4), at(192, 4)}, at(0, 4), 1);
     }},
    {"the output's list holds f64 in buffer 1, and f32 in buffer 0",
     [](communicator& c) {
         return c.all_gather(at(0, 4), list{at(64, 4), at(128, 4, data_type::f64), at(192, 4)});
     }},
    {"the input holds i32, the output f32",
     [](communicator& c) {
         return c.scatter(list{at(64, 4, data_type::i32), at(128, 4), at(192, 4)}, at(0, 4), 1);
     }},
    {"the list's buffers 0 and 2 overlap",
     [](communicator& c) {
         return c.all_gather(at(0, 4), list{at(64, 4), at(128, 4), at(72, 4)});
     }},
    {"the list's buffers 0 and 1 overlap",
     [](communicator& c) {
         return c.gather(at(0, 4), list{at(64, 4), at(64, 4), at(192, 4)}, 1);
     }},
    {overlap,
     [](communicator& c) {
         return c.all_gather(at(64, 4), list{at(64, 4), at(128, 4), at(192, 4)});
     }},  // that is rank 0's
    {overlap,
     [](communicator& c) {
         return c.all_gather(at(132, 4), list{at(64, 4), at(128, 4), at(192, 4)});
     }},
    {overlap,
     [](communicator& c) {
         return c.reduce_scatter(list{at(64, 4), at(128, 4), at(192, 4)}, at(192, 4), sum);
     }},  // rank 2's
    {overlap,
     [](communicator& c) {
         return c.reduce_scatter(list{at(64, 4), at(128, 4), at(136, 4)}, at(128, 4), sum);
     }},
    {overlap,
     [](communicator& c) {
         return c.all_to_all(list{at(0, 4), at(64, 4), at(128, 4)}, list{at(256, 4), at(320, 4), at(64, 4)});
     }},
    {"the input's buffer 1 has no data type",
     [](communicator& c) {
         const auto no_type = static_cast<data_type>(42);
         return c.all_to_all(list{at(0, 4), at(64, 4, no_type), at(128, 4)}, list{at(256, 4), at(320, 4), at(384, 4)});
     }},
    {"root 3 is not among the ranks 0 to 2", [](communicator& c) { return c.gather(at(0, 4), list{}, 3); }},
    {"root 4 is not among the ranks 0 to 2", [](communicator& c) { return c.scatter(list{}, at(0, 4), 4); }},
    {"there is no operator number 77",
     [](communicator& c) {
         return c.reduce_scatter(list{at(64, 4), at(128, 4), at(192, 4)}, at(0, 4), static_cast<reduce_op>(77));
     }},
};

task<> call_wrongly(communicator& world, const row& one) {
    auto begun = world.rank() == 1 ? one.call(world) : world.barrier();
    const auto ended = co_await as_result(std::move(begun));
    REQUIRE_FALSE(ended);
    CHECK(ended.failure().code() == error::invalid_argument);
    const std::string& cause = ended.failure().details().cause;
    CAPTURE(cause);
    CHECK(cause.starts_with("rank 1 called "));
    CHECK(cause.ends_with(std::string("with a wrong argument: ") + one.cause));
}

// ---- again and again

task<> count_allocations(communicator& world, std::size_t& most) {
    std::vector<float> mine(1009), one(1009), two(1009), three(1009), four(1009);
    const auto parts = buffers(one, two, three, four);
    for (int step = 0; step < 70; ++step) {
        co_await world.barrier();
        const std::size_t before = test::allocations();
        co_await world.all_gather(mine, parts);
        co_await world.reduce_scatter(parts, mine, premul_sum(0.5));
        co_await world.reduce_scatter(parts, mine, sum);
        co_await world.gather(mine, parts, 1);
        co_await world.scatter(parts, mine, 2);
        co_await world.barrier();
        if (step >= 10 && step < 60) most = std::max(most, test::allocations() - before);
    }
}

task<> keep_and_start(communicator& world, const programme& all) {
    std::deque<listed_part> parts;
    std::deque<persistent> kept;
    for (const auto& each : all.entries) {
        auto& part = parts.emplace_back(world, each, true);
        kept.emplace_back([&part](call_options how) { return part.begin(how); });
    }
    for (int turn = 0; turn < 3; ++turn)
        for (std::size_t index = 0; index < parts.size(); ++index) {
            parts[index].clear();
            auto started = kept[index].start();
            co_await std::move(started);
            REQUIRE(parts[index].verdict() == "right");
        }
}

}  // namespace

TEST_CASE("parts in a list of buffers give the serial result, on any number of ranks, in place or not" * doctest::skip(test::sanitizer_wants_threads)) {
    for (const int size : {1, 2, 3, 5, 8}) {
        const programme all = calls(size, {0, 1, 7, 1009, 5003});
        for (const std::size_t slice_bytes : {std::size_t{64}, 4 * KiB, 256 * KiB})
            for (const bool at_once : {false, true}) {
                CAPTURE(size);
                CAPTURE(slice_bytes);
                run_ranks(
                    size, [&](communicator& world) { return rehearse(world, all, who::all, at_once); }, slices_of(slice_bytes));
            }
    }
}

TEST_CASE("some ranks may give lists and others parts behind each other") {
    for (const int size : {2, 5}) {
        const programme all = calls(size, {0, 1, 1009});
        run_ranks(
            size, [&](communicator& world) { return rehearse(world, all, who::even, false); }, slices_of(256));
    }
}

TEST_CASE("parts in a list of buffers serve over every transport") {
    for (const int size : {2, 3}) {
        if (test::sanitized && size == 2) continue;
        const programme all = calls(size, {1, 1009, 100'003});
        test::run_over_each(size, [&](communicator& world) { return rehearse(world, all, who::all, true); });
    }
}

TEST_CASE("vectors, arrays and spans may be the parts") { run_ranks(3, use_conveniences); }

TEST_CASE("a list that does not fit is refused before anything is sent, and all ranks hear why") {
    for (const row& each : rows) {
        CAPTURE(each.cause);
        run_ranks(3, [&each](communicator& world) { return call_wrongly(world, each); });
    }
}

TEST_CASE("after warm-up calls with lists allocate nothing, on any rank" * doctest::skip(!test::counts_allocations)) {
    std::size_t most = 0;
    run_ranks(4, [&](communicator& world) { return count_allocations(world, most); });
    CHECK(most == 0);
}

TEST_CASE("calls with lists may be kept and started again") {
    const programme all = calls(3, {0, 1, 1009});
    run_ranks(
        3, [&](communicator& world) { return keep_and_start(world, all); }, slices_of(256));
}

}  // namespace parts_test
