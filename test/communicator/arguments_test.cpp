// Calls that cannot be right, and calls on communicators that are no more: what the caller hears, and what the others hear.
#include "support/ranks.hpp"

#include <doctest/doctest.h>

#include <array>

namespace arguments_test {

using namespace tutti;
using test::run_ranks;

namespace {

alignas(8) std::array<std::byte, 4096> memory;

buffer at(std::size_t offset, std::size_t count, data_type type = data_type::f32) { return {memory.data() + offset, count, type}; }
constexpr auto no_type = static_cast<data_type>(42);
constexpr std::size_t too_many = std::size_t{1} << 62;

/// Counts that live until the next call of the same length.
template <class... Counts>
std::span<const std::size_t> counted(Counts... each) {
    static std::array<std::size_t, sizeof...(each)> counts[2];
    static int turn = 0;
    auto& next = counts[turn++ % 2];
    next = {static_cast<std::size_t>(each)...};
    return next;
}

struct row {
    const char* cause;
    future<> (*call)(communicator&);
};

const char overlap[] = "input and output overlap in a way that this operation does not allow";

// On rank 1 of 3.
const row rows[] = {
    {"the input holds f32, the output f64", [](communicator& c) { return c.all_reduce(at(0, 4), at(64, 4, data_type::f64), sum); }},
    {"the output has 3 elements, 4 are expected", [](communicator& c) { return c.all_reduce(at(0, 4), at(64, 3), sum); }},
    {"the input of 4 elements is a null pointer",
     [](communicator& c) { return c.all_reduce(const_buffer(nullptr, 4, data_type::f32), at(0, 4), sum); }},
    {"the output of 4 elements is a null pointer",
     [](communicator& c) { return c.all_reduce(at(0, 4), buffer(nullptr, 4, data_type::f32), sum); }},
    {"the input is not aligned for f32", [](communicator& c) { return c.all_reduce(at(2, 4), at(64, 4), sum); }},
    {"the output is not aligned for f64",
     [](communicator& c) { return c.all_reduce(at(0, 4, data_type::f64), at(260, 4, data_type::f64), sum); }},
    {"the input has no data type", [](communicator& c) { return c.all_reduce(at(0, 4, no_type), sum); }},
    {"4611686018427387904 elements of f32 are more than memory can hold",
     [](communicator& c) { return c.all_reduce(at(0, too_many), sum); }},
    {overlap, [](communicator& c) { return c.all_reduce(at(0, 4), at(4, 4), sum); }},
    {"there is no operator number 77", [](communicator& c) { return c.all_reduce(at(0, 4), static_cast<reduce_op>(77)); }},
    {"the list's buffer 1 of 4 elements is a null pointer",
     [](communicator& c) {
         return c.all_reduce({at(0, 4), buffer(nullptr, 4, data_type::f32)}, sum);
     }},
    {"the list's buffer 2 is not aligned for f32",
     [](communicator& c) {
         return c.all_reduce({at(0, 4), at(64, 0), at(34, 4)}, sum);
     }},
    {"the list's buffer 0 has no data type",
     [](communicator& c) {
         return c.all_reduce({at(0, 0, no_type), at(64, 4)}, sum);
     }},
    {"the list's buffer 1 holds f64, buffer 0 holds f32",
     [](communicator& c) {
         return c.all_reduce({at(0, 4), at(64, 0, data_type::f64)}, sum);
     }},
    {"the list's buffers 0 and 2 overlap",
     [](communicator& c) {
         return c.all_reduce({at(128, 4), at(0, 4), at(140, 4), at(16, 4)}, sum);
     }},
    {"the list's buffers 0 and 1 overlap",
     [](communicator& c) {
         return c.all_reduce({at(0, 4), at(0, 4)}, sum);
     }},
    {"the list has more elements than memory can hold, from buffer 2 on",
     [](communicator& c) {
         return c.all_reduce({at(0, 1), at(8, too_many / 2 - 2), at(0, 2)}, sum);
     }},
    {"there is no operator number 77", [](communicator& c) { return c.all_reduce(std::span<const buffer>(), static_cast<reduce_op>(77)); }},
    {"root 3 is not among the ranks 0 to 2", [](communicator& c) { return c.broadcast(at(0, 4), 3); }},
    {"root -1 is not among the ranks 0 to 2", [](communicator& c) { return c.broadcast(at(0, 4), -1); }},
    {"the buffer of 4 elements is a null pointer", [](communicator& c) { return c.broadcast(buffer(nullptr, 4, data_type::f32), 0); }},
    {"the buffer has no data type", [](communicator& c) { return c.broadcast(at(0, 4, no_type), 0); }},
    {"root 9 is not among the ranks 0 to 2", [](communicator& c) { return c.reduce(at(0, 4), sum, 9); }},
    {"the input is not aligned for f32", [](communicator& c) { return c.reduce(at(1, 4), sum, 0); }},
    {"the output has 5 elements, 4 are expected", [](communicator& c) { return c.reduce(at(0, 4), at(64, 5), sum, 1); }},
    {"the input holds f32, the output i32", [](communicator& c) { return c.reduce(at(0, 4), at(64, 4, data_type::i32), sum, 1); }},
    {"the output of 4 elements is a null pointer",
     [](communicator& c) { return c.reduce(at(0, 4), buffer(nullptr, 4, data_type::f32), sum, 1); }},
    {overlap, [](communicator& c) { return c.reduce(at(0, 4), at(8, 4), sum, 1); }},
    {"the output has 4 elements, 12 are expected", [](communicator& c) { return c.all_gather(at(0, 4), at(64, 4)); }},
    {"the input holds f32, the output u8", [](communicator& c) { return c.all_gather(at(0, 4), at(64, 12, data_type::u8)); }},
    {"the output has no data type", [](communicator& c) { return c.all_gather(at(0, 4), at(64, 12, no_type)); }},
    {overlap, [](communicator& c) { return c.all_gather(at(0, 4), at(0, 12)); }},  // that is rank 0's part
    {"the input has 11 elements, 12 are expected", [](communicator& c) { return c.reduce_scatter(at(0, 11), at(64, 4), sum); }},
    {"the input holds f64, the output f32", [](communicator& c) { return c.reduce_scatter(at(0, 12, data_type::f64), at(256, 4), sum); }},
    {overlap, [](communicator& c) { return c.reduce_scatter(at(0, 12), at(32, 4), sum); }},  // rank 2's part
    {"4611686018427387904 elements of f32 for each of 3 ranks are more than memory can hold",
     [](communicator& c) { return c.reduce_scatter(at(0, 12), at(64, too_many), sum); }},
    {"the input has 4 elements, a multiple of 3 is expected", [](communicator& c) { return c.all_to_all(at(0, 4), at(64, 4)); }},
    {"the output has 6 elements, 3 are expected", [](communicator& c) { return c.all_to_all(at(0, 3), at(64, 6)); }},
    {overlap, [](communicator& c) { return c.all_to_all(at(0, 3), at(0, 3)); }},
    {"root 3 is not among the ranks 0 to 2", [](communicator& c) { return c.gather(at(0, 4), at(64, 12), 3); }},
    {"the output has 4 elements, 12 are expected", [](communicator& c) { return c.gather(at(0, 4), at(64, 4), 1); }},
    {"the input of 4 elements is a null pointer",
     [](communicator& c) { return c.gather(const_buffer(nullptr, 4, data_type::f32), at(64, 4), 0); }},
    {"the input holds f32, the output i32", [](communicator& c) { return c.gather(at(0, 4), at(64, 12, data_type::i32), 1); }},
    {overlap, [](communicator& c) { return c.gather(at(0, 4), at(0, 12), 1); }},  // that is rank 0's part
    {"4611686018427387904 elements of f32 for each of 3 ranks are more than memory can hold",
     [](communicator& c) { return c.gather(at(0, too_many), at(64, 12), 0); }},
    {"root -1 is not among the ranks 0 to 2", [](communicator& c) { return c.scatter(at(0, 12), at(64, 4), -1); }},
    {"the input has 11 elements, 12 are expected", [](communicator& c) { return c.scatter(at(0, 11), at(64, 4), 1); }},
    {"the output is not aligned for f32", [](communicator& c) { return c.scatter(at(0, 12), at(65, 4), 0); }},
    {overlap, [](communicator& c) { return c.scatter(at(0, 12), at(32, 4), 1); }},  // rank 2's part
    {"there is no operator number 42", [](communicator& c) { return c.scan(at(0, 4), static_cast<reduce_op>(42)); }},
    {"the output has 3 elements, 4 are expected", [](communicator& c) { return c.scan(at(0, 4), at(64, 3), sum); }},
    {overlap, [](communicator& c) { return c.scan(at(0, 4), at(4, 4), sum); }},
    {"the input holds f32, the output f64", [](communicator& c) { return c.exclusive_scan(at(0, 4), at(64, 4, data_type::f64), sum); }},
    {"the input of 4 elements is a null pointer",
     [](communicator& c) { return c.exclusive_scan(buffer(nullptr, 4, data_type::f32), max); }},
    {"there are 2 counts for 3 ranks", [](communicator& c) { return c.all_gather_v(at(0, 4), at(64, 8), counted(4, 4)); }},
    {"the input has 4 elements, 5 are expected", [](communicator& c) { return c.all_gather_v(at(0, 4), at(64, 12), counted(3, 5, 4)); }},
    {"the output has 11 elements, 12 are expected", [](communicator& c) { return c.all_gather_v(at(0, 5), at(64, 11), counted(3, 5, 4)); }},
    {overlap, [](communicator& c) { return c.all_gather_v(at(0, 5), at(0, 12), counted(3, 5, 4)); }},
    {"the counts add up to more elements of f32 than memory can hold",
     [](communicator& c) { return c.all_gather_v(at(0, 5), at(0, 12), counted(too_many, 5, too_many)); }},
    {"the counts add up to more elements of f32 than memory can hold",
     [](communicator& c) { return c.reduce_scatter_v(at(0, 12), at(64, 5), counted(2, 5, ~std::size_t{0} - 1), sum); }},
    {"there are 0 counts for 3 ranks", [](communicator& c) { return c.reduce_scatter_v(at(0, 12), at(64, 5), {}, sum); }},
    {"the input has 13 elements, 12 are expected",
     [](communicator& c) { return c.reduce_scatter_v(at(0, 13), at(64, 5), counted(3, 5, 4), sum); }},
    {"the output has 4 elements, 5 are expected",
     [](communicator& c) { return c.reduce_scatter_v(at(0, 12), at(64, 4), counted(3, 5, 4), sum); }},
    {overlap, [](communicator& c) { return c.reduce_scatter_v(at(0, 12), at(16, 5), counted(3, 5, 4), sum); }},
    {"root 5 is not among the ranks 0 to 2", [](communicator& c) { return c.gather_v(at(0, 5), at(64, 12), counted(3, 5, 4), 5); }},
    {"the input has 4 elements, 5 are expected", [](communicator& c) { return c.gather_v(at(0, 4), at(64, 12), counted(3, 5, 4), 0); }},
    {"the output has 13 elements, 12 are expected", [](communicator& c) { return c.gather_v(at(0, 5), at(64, 13), counted(3, 5, 4), 1); }},
    {"the output has 3 elements, 5 are expected", [](communicator& c) { return c.scatter_v(at(0, 12), at(64, 3), counted(3, 5, 4), 0); }},
    {"the input has 3 elements, 12 are expected", [](communicator& c) { return c.scatter_v(at(0, 3), at(64, 5), counted(3, 5, 4), 1); }},
    {overlap, [](communicator& c) { return c.scatter_v(at(0, 12), at(0, 5), counted(3, 5, 4), 1); }},
    {"there are 2 send counts for 3 ranks",
     [](communicator& c) { return c.all_to_all_v(at(0, 5), at(64, 12), counted(2, 3), counted(3, 5, 4)); }},
    {"there are 4 recv counts for 3 ranks",
     [](communicator& c) { return c.all_to_all_v(at(0, 12), at(64, 12), counted(3, 5, 4), counted(3, 5, 4, 1)); }},
    {"the recv counts add up to more elements of f32 than memory can hold",
     [](communicator& c) { return c.all_to_all_v(at(0, 12), at(64, 12), counted(3, 5, 4), counted(3, too_many, 4)); }},
    {"the input has 11 elements, 12 are expected",
     [](communicator& c) { return c.all_to_all_v(at(0, 11), at(64, 12), counted(3, 5, 4), counted(3, 5, 4)); }},
    {"the output has 11 elements, 12 are expected",
     [](communicator& c) { return c.all_to_all_v(at(0, 12), at(64, 11), counted(3, 5, 4), counted(3, 5, 4)); }},
    {"rank 1 sends 5 elements to itself and receives 6",
     [](communicator& c) { return c.all_to_all_v(at(0, 12), at(64, 12), counted(3, 5, 4), counted(3, 6, 3)); }},
    {overlap, [](communicator& c) { return c.all_to_all_v(at(0, 12), at(0, 12), counted(3, 5, 4), counted(3, 5, 4)); }},
    {"peer 3 is not among the ranks 0 to 2", [](communicator& c) { return c.send(at(0, 3), 3); }},
    {"peer -2 is not among the ranks 0 to 2", [](communicator& c) { return c.exchange(send_to(at(0, 3), 0), recv_from(at(64, 3), -2)); }},
    {"peer -1 is not among the ranks 0 to 2", [](communicator& c) { return c.send(at(0, 3), any_source); }},
    {"a deadline of -5 s", [](communicator& c) { return c.barrier({.deadline = std::chrono::seconds(-5)}); }},
    {"a deadline of -0.001 s", [](communicator& c) { return c.send(at(0, 3), 0, 7, {.deadline = std::chrono::milliseconds(-1)}); }},
    {"a deadline of -2 s",
     [](communicator& c) {
         const transfer parts[] = {send_to(at(0, 3), 0), recv_from(at(64, 3), 0)};
         return c.exchange(parts, {.deadline = std::chrono::seconds(-2)});
     }},
    {"any_tag is for receivers", [](communicator& c) { return c.send(at(0, 3), 0, any_tag); }},
    {"the buffer is not aligned for f32", [](communicator& c) { return c.send(at(3, 3), 0); }},
    {"the buffer has no data type", [](communicator& c) { return c.send(at(0, 4, no_type), 0); }},
    {"4611686018427387904 elements of f32 are more than memory can hold",
     [](communicator& c) { return c.exchange(recv_from(at(0, too_many), any_source, any_tag)); }},
    {"the buffer of 1 elements is a null pointer",
     [](communicator& c) { return c.exchange(recv_from(buffer(nullptr, 1, data_type::f32), 0)); }},
    {"parts 0 and 2 overlap, and not both are sent",
     [](communicator& c) { return c.exchange(send_to(at(0, 3), 0), send_to(at(0, 2), 2), recv_from(at(8, 1), 0)); }},
};

task<> expect_failure(future<> begun, error code, std::string cause) {
    auto ended = co_await as_result(std::move(begun));
    REQUIRE_FALSE(ended);
    CHECK(ended.failure().code() == code);
    CHECK(ended.failure().details().cause.find(cause) != std::string::npos);
}

task<> come_with_no_time(communicator& world) {
    auto begun = world.monitored_barrier(world.rank() == 1 ? call_options{.deadline = std::chrono::seconds(-1)} : call_options());
    auto told = expect_failure(std::move(begun), error::invalid_argument,
                               "rank 1 called monitored_barrier with a wrong argument: a deadline of -1 s");
    co_await std::move(told);
}

task<> call_wrongly(communicator& world, const row& one) {
    std::vector<future<>> begun;
    const bool wrong = world.rank() == 1;
    begun.push_back(wrong ? one.call(world) : world.barrier());
    CHECK(begun[0].ready() == wrong);
    auto ended = co_await as_result(std::move(begun[0]));
    REQUIRE_FALSE(ended);
    const report& told = ended.failure().details();
    CHECK(told.code == error::invalid_argument);
    CHECK(told.cause.starts_with("rank 1 called "));
    CHECK(told.cause.ends_with(std::string("with a wrong argument: ") + one.cause));
    CHECK(told.root == 1);
}

// ---- what is called too late

const row calls[] = {
    {"all_reduce f32 sum count 3", [](communicator& c) { return c.all_reduce(at(0, 3), sum); }},
    {"all_reduce f32 sum count 5 in 2 buffers",
     [](communicator& c) {
         return c.all_reduce({at(0, 3), at(64, 2)}, sum);
     }},
    {"all_reduce f32 max count 3", [](communicator& c) { return c.all_reduce(at(0, 3), at(64, 3), max); }},
    {"broadcast f32 count 3 root 1", [](communicator& c) { return c.broadcast(at(0, 3), 1); }},
    {"reduce f32 prod count 3 root 0", [](communicator& c) { return c.reduce(at(0, 3), prod, 0); }},
    {"reduce f32 sum count 3 root 0", [](communicator& c) { return c.reduce(at(0, 3), at(64, 3), sum, 0); }},
    {"all_gather f32 count 3", [](communicator& c) { return c.all_gather(at(0, 3), at(64, 6)); }},
    {"reduce_scatter f32 avg count 3", [](communicator& c) { return c.reduce_scatter(at(0, 6), at(64, 3), avg); }},
    {"all_to_all f32 count 2", [](communicator& c) { return c.all_to_all(at(0, 4), at(64, 4)); }},
    {"gather f32 count 3 root 1", [](communicator& c) { return c.gather(at(0, 3), at(64, 6), 1); }},
    {"scatter f32 count 3 root 0", [](communicator& c) { return c.scatter(at(0, 6), at(64, 3), 0); }},
    {"scan f32 sum count 3", [](communicator& c) { return c.scan(at(0, 3), sum); }},
    {"exclusive_scan f32 min count 3", [](communicator& c) { return c.exclusive_scan(at(0, 3), at(64, 3), min); }},
    {"all_gather_v f32 count 6", [](communicator& c) { return c.all_gather_v(at(0, 3), at(64, 6), counted(3, 3)); }},
    {"reduce_scatter_v f32 max count 6", [](communicator& c) { return c.reduce_scatter_v(at(0, 6), at(64, 3), counted(3, 3), max); }},
    {"gather_v f32 count 6 root 0", [](communicator& c) { return c.gather_v(at(0, 3), at(64, 6), counted(3, 3), 0); }},
    {"scatter_v f32 count 6 root 1", [](communicator& c) { return c.scatter_v(at(0, 6), at(64, 3), counted(3, 3), 1); }},
    {"all_to_all_v f32", [](communicator& c) { return c.all_to_all_v(at(0, 4), at(64, 4), counted(2, 2), counted(2, 2)); }},
    {"barrier", [](communicator& c) { return c.barrier(); }},
    {"send f32 count 3 to rank 1 tag 4", [](communicator& c) { return c.send(at(0, 3), 1, 4); }},
    {"exchange of 2 messages", [](communicator& c) { return c.exchange(send_to(at(0, 3), 1), recv_from(at(64, 3), 0)); }},
};

task<> expect_all_fail(communicator& world, error code, std::string cause) {
    for (const row& each : calls) {
        CAPTURE(each.cause);
        auto begun = each.call(world);
        CHECK(begun.ready());
        auto ended = co_await as_result(std::move(begun));
        REQUIRE_FALSE(ended);
        const report& told = ended.failure().details();
        CHECK(told.code == code);
        CHECK(told.operation.starts_with(each.cause));  // digests may follow
        CHECK(told.cause == cause);
        CHECK(told.communicator == "world");
        CHECK(told.local == world.rank());
    }
    std::error_code splitting;
    try {
        auto child = world.split(0, 0);
        co_await std::move(child);
    } catch (const failure& why) {
        splitting = why.code();
    }
    CHECK(splitting == code);
}

task<> call_when_closed(communicator& world) {
    co_await world.barrier();
    auto closing = world.close();
    co_await std::move(closing);
    auto all = expect_all_fail(world, error::closed, "the communicator was closed");
    co_await std::move(all);
    // Closing again, and aborting what is over, change nothing.
    auto again = world.close();
    co_await std::move(again);
    world.abort("too late");
    CHECK(world.barrier().ready());
}

task<> call_when_aborted(communicator& world) {
    if (world.rank() == 1) {
        world.abort("the disk is full");
        world.abort("another reason");
    }
    auto waiting = expect_failure(world.barrier(), error::aborted, "rank 1 aborted: the disk is full");
    co_await std::move(waiting);
    auto all = expect_all_fail(world, error::aborted, "rank 1 aborted: the disk is full");
    co_await std::move(all);
}

task<> use_nothing(communicator& world) {
    // Empty buffers need no memory.
    std::vector<float> none;
    co_await world.all_reduce(none, sum);
    co_await world.all_gather(none, none);
    co_await world.all_to_all(none, none);
    co_await world.reduce_scatter(none, none, sum);
    co_await world.broadcast(none, 1);
    co_await world.reduce(none, max, 0);
    co_await world.gather(none, none, 1);
    co_await world.scatter(none, none, 1);
    co_await world.scan(none, sum);
    co_await world.exclusive_scan(none, sum);
    const std::vector<std::size_t> counts(static_cast<std::size_t>(world.size()));
    co_await world.all_gather_v(none, none, counts);
    co_await world.reduce_scatter_v(none, none, counts, sum);
    co_await world.gather_v(none, none, counts, 1);
    co_await world.scatter_v(none, none, counts, 1);
    co_await world.all_to_all_v(none, none, counts, counts);
}

}  // namespace

TEST_CASE("a wrong argument is told to its caller at once and to all other ranks, in the same words") {
    for (const row& each : rows) {
        CAPTURE(each.cause);
        CAPTURE(&each - rows);
        run_ranks(3, [&each](communicator& world) { return call_wrongly(world, each); });
    }
}

TEST_CASE("a monitored barrier that has less than no time is told to all ranks") { run_ranks(3, come_with_no_time); }

TEST_CASE("every function of a closed communicator fails at once with closed") { run_ranks(2, call_when_closed); }

TEST_CASE("every function of a failed communicator fails at once with its first cause") { run_ranks(2, call_when_aborted); }

TEST_CASE("empty buffers need no memory") { run_ranks(3, use_nothing); }

}  // namespace arguments_test
