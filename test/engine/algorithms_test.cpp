// Every algorithm of the catalogue, carried out by real engines and compared with a serial oracle.
#include "engine/table.hpp"
#include "proof/expected.hpp"
#include "support/matrix.hpp"
#include "support/oracle.hpp"
#include "support/sanitizers.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace tutti;
using test::byte_vector;
using test::call;
using test::matrix;
using test::matrix_product;
using test::oracle;

namespace {

const custom_op<std::uint16_t> masked_sum("sum modulo 4096", commutes::yes,
                                          [](std::span<const std::uint16_t> left, std::span<std::uint16_t> inout) {
                                              for (std::size_t index = 0; index < left.size(); ++index)
                                                  inout[index] = static_cast<std::uint16_t>((left[index] + inout[index]) % 4096);
                                          });

/// in_place: the output is the memory of the input, or of this rank's part of it.
enum class place_of_output { beside, in_place };

bool has_in_place(collective kind) {
    using enum collective;
    return kind != all_to_all && kind != all_to_all_v && kind != barrier && kind != broadcast;
}

/// One rank's memory, exactly as large as the call needs, so that sanitizers see a byte too much.
class part_of_call {
public:
    part_of_call(const call& what, const oracle& truth, rank me, place_of_output where)
        : me_(me),
          input_(truth.input(me)),
          output_(truth.output_count(me) * what.element_bytes(), std::byte{0xa5}) {
        asked_.kind = what.kind;
        asked_.type = what.type;
        asked_.opaque_bytes = what.opaque_bytes;
        asked_.op = what.op;
        asked_.root = what.root;
        if (what.kind == collective::barrier) return;
        asked_.count = what.count;
        if (has_counts(what.kind)) {
            counts_ = truth.counts(me);
            recv_counts_ = truth.recv_counts(me);
            asked_.count = truth.offset(me, static_cast<rank>(counts_.size()));
            asked_.counts = counts_;
            if (what.kind == collective::all_to_all_v) asked_.recv_counts = recv_counts_;
        }
        const bool elsewhere = has_root(what.kind) && me != what.root;
        asked_.input = elsewhere && spreads(what.kind) ? nullptr : input_.data();
        asked_.output = elsewhere && collects(what.kind) ? nullptr : output_.data();
        if (what.kind == collective::broadcast) {
            asked_.input = nullptr;
            if (me == what.root) output_ = input_;
            asked_.output = output_.data();
        } else if (where == place_of_output::in_place) {
            lie_within(what.kind, truth.offset(me, me) * what.element_bytes(), elsewhere);
        }
        if (what.kind == collective::reduce && me != what.root) asked_.output = nullptr;
    }

    const request& asked() const { return asked_; }
    byte_vector result() const {
        byte_vector copy(asked_.output ? output_.size() : 0);
        if (!copy.empty()) std::memcpy(copy.data(), asked_.output, copy.size());
        return copy;
    }
    bool input_is_whole(const oracle& truth) const { return lies_within_ || test::same_bytes(input_, truth.input(me_)); }

private:
    /// At the root of gather and scatter, and everywhere where there is none, one is this rank's part of the other, or the same.
    void lie_within(collective kind, std::size_t mine, bool elsewhere) {
        if (elsewhere && (spreads(kind) || collects(kind))) return;
        lies_within_ = true;
        if (collects(kind)) {
            if (!input_.empty()) std::memcpy(output_.data() + mine, input_.data(), input_.size());
            asked_.input = output_.data() + mine;
        } else {
            asked_.output = input_.data() + (spreads(kind) ? mine : 0);
        }
    }

    rank me_;
    byte_vector input_;
    byte_vector output_;
    std::vector<std::size_t> counts_, recv_counts_;
    bool lies_within_ = false;
    request asked_;
};

/// Issues the call on all ranks and compares; the text says what was wrong.
std::string carry_out(test::table& table, const call& what, const oracle& truth, place_of_output where) {
    std::vector<std::unique_ptr<part_of_call>> parts;
    std::vector<future<>> ends;
    for (rank me = 0; me < table.size(); ++me) {
        parts.push_back(std::make_unique<part_of_call>(what, truth, me, where));
        ends.push_back(table[me].issue(parts.back()->asked()));
    }
    table.settle();
    for (rank me = 0; me < table.size(); ++me) {
        auto& ended = ends[static_cast<std::size_t>(me)];
        const auto& part = *parts[static_cast<std::size_t>(me)];
        if (!ended.ready()) return fmt::format("rank {} is still under way", me);
        const report why = test::why(ended);
        if (why.code) return to_string(why);
        if (!test::alike(what.type, part.result(), truth.expected(me))) return fmt::format("rank {} has a wrong result", me);
        if (!part.input_is_whole(truth)) return fmt::format("the input of rank {} was written to", me);
    }
    return "right";
}

std::vector<reduction> ops_of(collective kind) {
    std::vector<reduction> ops;
    for (const reduction& op : test::all_ops)
        if (test::has_op(kind, op)) ops.push_back(op);
    return ops;
}

void check_every_call(const algorithm& entry, test::table& table, int turn) {
    const auto ranks = static_cast<std::size_t>(table.size());
    const std::size_t counts[] = {0, 1, ranks - 1, ranks, ranks + 1, 17, 1009};
    int next = turn;
    for (const reduction& op : ops_of(entry.kind))
        for (const std::size_t count : counts) {
            // All types with all operators, and with all counts, over the sizes and algorithms; not all three with each other.
            call what{entry.kind, test::type_for(op, static_cast<std::size_t>(next++)), op, 0, count};
            if (has_root(entry.kind)) what.root = next % table.size();
            const oracle truth(what, table.size(), static_cast<std::uint64_t>(next));
            for (const auto where : {place_of_output::beside, place_of_output::in_place}) {
                if (where == place_of_output::in_place && !has_in_place(entry.kind)) continue;
                CAPTURE(name(what.type));
                CAPTURE(name(op.kind()));
                CAPTURE(what.root);
                CAPTURE(count);
                CAPTURE(next);
                const bool in_place = where == place_of_output::in_place;
                CAPTURE(in_place);
                REQUIRE(carry_out(table, what, truth, where) == "right");
            }
        }
}

/// One host where that is as good as any; otherwise the first and the last of those worth checking.
std::vector<host_map> some_hosts(const algorithm& entry, int size) {
    std::vector<host_map> all = host_maps(entry, size);
    if (all.size() > 2) all.erase(all.begin() + 1, all.end() - 1);
    return all;
}

}  // namespace

TEST_CASE("every algorithm gives the serial result for every type, operator, size, slice size and number of lanes, in place or not") {
    struct row {
        std::size_t slice_bytes;
        int lanes = 1;
    };
    int turn = 0;
    for (const algorithm& entry : catalogue())
        for (const int size : {1, 2, 3, 4, 5, 7, 8})
            for (const auto& [slice_bytes, lanes] : {row{64}, row{256 * KiB}, row{64, size % 2 == 0 ? 2 : 4}})
                for (const host_map& hosts : some_hosts(entry, size)) {
                    if (lanes > 1 && size != 3 && size != 8) continue;
                    CAPTURE(lanes);
                    CAPTURE(name(entry.kind));
                    CAPTURE(entry.name);
                    CAPTURE(size);
                    CAPTURE(hosts.count());
                    CAPTURE(slice_bytes);
                    // Links that hold less than a frame in the one case, and everything in the other.
                    test::table table(size, test::only(entry, slice_bytes, lanes), slice_bytes == 64 ? 100 : 256 * KiB, hosts);
                    check_every_call(entry, table, ++turn);
                }
}

TEST_CASE("every algorithm moves a large vector") {
    for (const algorithm& entry : catalogue())
        for (const int size : {2, 5, 8})
            for (const int lanes : {1, 2, 4})
                for (const host_map& hosts : some_hosts(entry, size)) {
                    if (test::sanitized && size != 5) continue;
                    CAPTURE(name(entry.kind));
                    CAPTURE(entry.name);
                    CAPTURE(size);
                    CAPTURE(lanes);
                    test::table table(size, test::only(entry, 16 * KiB, lanes), 256 * KiB, hosts);
                    const call what{entry.kind, data_type::f32, sum, 0, 50'021};
                    CHECK(carry_out(table, what, oracle(what, size, 3), place_of_output::beside) == "right");
                }
}

TEST_CASE("an operation takes every root of every algorithm that has one") {
    for (const algorithm& entry : catalogue())
        for (const int size : {2, 3, 5, 8})
            for (const host_map& hosts : some_hosts(entry, size)) {
                if (!has_root(entry.kind)) continue;
                test::table table(size, test::only(entry, 64), 256 * KiB, hosts);
                for (rank root = 0; root < size; ++root) {
                    CAPTURE(entry.name);
                    CAPTURE(size);
                    CAPTURE(root);
                    const call what{entry.kind, data_type::i32, sum, root, 100};
                    CHECK(carry_out(table, what, oracle(what, size, 5), place_of_output::in_place) == "right");
                }
            }
}

TEST_CASE("every ordered algorithm combines with a user's operator in the order of ranks, every algorithm with one that commutes") {
    for (const algorithm& entry : catalogue())
        for (const int size : {1, 2, 3, 4, 5, 7, 8})
            for (const std::size_t slice_bytes : {std::size_t{64}, 256 * KiB}) {
                const auto hosts = some_hosts(entry, size);
                if (!reduces(entry.kind) || hosts.empty()) continue;
                test::table table(size, test::only(entry, slice_bytes), slice_bytes == 64 ? 100 : 256 * KiB, hosts.back());
                for (const std::size_t count : {0u, 1u, 2u, 7u, 17u, 501u})
                    for (const rank root : {0, size - 1})
                        for (const auto where : {place_of_output::beside, place_of_output::in_place}) {
                            CAPTURE(name(entry.kind));
                            CAPTURE(entry.name);
                            CAPTURE(size);
                            CAPTURE(slice_bytes);
                            CAPTURE(count);
                            CAPTURE(root);
                            // An algorithm that keeps no order is not taken for the first, though it is forced.
                            call matrices{entry.kind, data_type::opaque, matrix_product, root, count, sizeof(matrix)};
                            call numbers{entry.kind, data_type::u16, masked_sum, root, count};
                            if (!has_root(entry.kind)) matrices.root = numbers.root = 0;
                            if (!test::has_op(entry.kind, matrix_product)) continue;
                            REQUIRE(carry_out(table, matrices, oracle(matrices, size, 17 + count), where) == "right");
                            REQUIRE(carry_out(table, numbers, oracle(numbers, size, 19 + count), where) == "right");
                        }
            }
}

TEST_CASE("elements of no type are moved by every algorithm, whatever their size") {
    for (const algorithm& entry : catalogue())
        for (const int size : {1, 2, 3, 5, 8})
            for (const std::size_t opaque_bytes : {1u, 3u, 24u, 1000u}) {
                const auto hosts = some_hosts(entry, size);
                if (reduces(entry.kind) || entry.kind == collective::barrier || hosts.empty()) continue;
                test::table table(size, test::only(entry, 256), 256 * KiB, hosts.back());
                for (const std::size_t count : {0u, 1u, 7u, 50u}) {
                    CAPTURE(name(entry.kind));
                    CAPTURE(entry.name);
                    CAPTURE(size);
                    CAPTURE(opaque_bytes);
                    CAPTURE(count);
                    const call what{entry.kind, data_type::opaque, sum, has_root(entry.kind) ? size - 1 : 0, count, opaque_bytes};
                    CHECK(carry_out(table, what, oracle(what, size, count), place_of_output::beside) == "right");
                }
            }
}

TEST_CASE("sums of fractions are as good as their type, and bit for bit the same on all ranks, with every algorithm") {
    for (const algorithm& entry : catalogue()) {
        if (entry.kind != collective::all_reduce) continue;
        for (const data_type type : {data_type::f32, data_type::f64, data_type::f16, data_type::bf16})
            for (const reduce_op op : {reduce_op::sum, reduce_op::avg}) {
                const int size = host_maps(entry, 6).empty() ? 8 : 6;
                const auto hosts = some_hosts(entry, size);
                test::table table(size, test::only(entry, 200), 256 * KiB, hosts.front());
                const call what{entry.kind, type, op, 0, 501};
                const oracle truth(what, size, 11, test::contents::random);
                std::vector<std::unique_ptr<part_of_call>> parts;
                std::vector<future<>> ends;
                for (rank me = 0; me < size; ++me) {
                    parts.push_back(std::make_unique<part_of_call>(what, truth, me, place_of_output::beside));
                    ends.push_back(table[me].issue(parts.back()->asked()));
                }
                table.settle();
                CAPTURE(entry.name);
                CAPTURE(name(type));
                CAPTURE(name(op));
                const byte_vector first = parts[0]->result();
                for (rank me = 0; me < size; ++me) {
                    CHECK(!test::why(ends[static_cast<std::size_t>(me)]).code);
                    CHECK(parts[static_cast<std::size_t>(me)]->result() == first);
                }
                for (std::size_t index = 0; index < what.count; ++index) {
                    double exact = 0;
                    for (rank each = 0; each < size; ++each) exact += test::element_at(type, truth.input(each), index);
                    if (op == avg) exact /= size;
                    CHECK(std::abs(test::element_at(type, first, index) - exact) <= test::tolerance(type, size));
                }
            }
    }
}
