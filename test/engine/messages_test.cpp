// Which message a receive gets, what waits where meanwhile, and that a message without a receive holds up nothing else.
#include "engine/table.hpp"

#include "runtime/background.hpp"

#include <doctest/doctest.h>

#include <numeric>

using namespace tutti;
using test::why;

namespace {

std::vector<int> counting(std::size_t count, int first) {
    std::vector<int> made(count);
    std::iota(made.begin(), made.end(), first);
    return made;
}

task<> note(future<received> ending, std::vector<int>& ends, int name) {
    co_await std::move(ending);
    ends.push_back(name);
}

}  // namespace

TEST_CASE("a receive takes the first message that has its source and tag, and leaves the others") {
    for (const bool early : {true, false})
        for (const std::size_t count : {0u, 1u, 9u, 10u, 11u, 16u, 17u, 1000u}) {
            CAPTURE(early);
            CAPTURE(count);
            test::table table(2, test::few_credits());
            std::vector<std::vector<int>> out, in(4, std::vector<int>(count, -1));
            for (int index = 0; index < 4; ++index) out.push_back(counting(count, 100 * index));
            const message_tag tags[] = {5, 7, 5, 6};
            std::vector<future<>> sent;
            std::vector<future<received>> got;
            const auto send_all = [&] {
                for (std::size_t index = 0; index < 4; ++index) sent.push_back(table[0].send(out[index], 1, tags[index]));
                table.settle();
            };
            if (early) send_all();
            got.push_back(table[1].recv(in[3], 0, 6));
            got.push_back(table[1].recv(in[0], 0, 5));
            got.push_back(table[1].recv(in[2], any_source, 5));
            got.push_back(table[1].recv(in[1], 0, any_tag));
            if (!early) send_all();
            table.settle();
            for (auto& each : sent) CHECK(!why(each).code);
            const int order[] = {3, 0, 2, 1};
            for (std::size_t index = 0; index < 4; ++index) {
                REQUIRE(got[index].ready());
                CHECK(got[index].get() == received{0, tags[order[index]], count, data_type::i32});
            }
            CHECK(in == out);
        }
}

TEST_CASE("a receive of any source takes what arrived first") {
    test::table table(4);
    std::vector<int> data[4] = {{0}, {1}, {2}, {3}}, got(1);
    for (const rank from : {2, 0, 3, 1}) {
        auto sent = table[from].send(data[from], 0, 1);
        table.settle();
        CHECK(!why(sent).code);
    }
    for (const rank from : {2, 0, 3, 1}) {
        auto next = table[0].recv(got, any_source, any_tag);
        table.settle();
        CHECK(next.get().source == from);
        CHECK(got[0] == from);
    }
}

TEST_CASE("receives of any source and of one source are served in the order of their calls") {
    test::table table(3);
    std::vector<int> data{1}, first(1), second(1), third(1);
    auto one = table[0].recv(first, any_source, any_tag);
    auto two = table[0].recv(second, 1, any_tag);
    auto three = table[0].recv(third, any_source, 4);
    for (const message_tag tag : {9u, 4u, 4u}) {
        auto sent = table[1].send(data, 0, tag);
        table.settle();
    }
    CHECK(one.get().tag == 9);
    CHECK(two.get().tag == 4);
    CHECK(three.get().tag == 4);
}

TEST_CASE("a message may have fewer elements than its receive, which is told, and the rest stays as it was") {
    for (const std::size_t count : {0u, 3u, 10u, 500u}) {
        test::table table(2, test::few_credits());
        std::vector<int> data(count, 8), there(600, 1);
        auto got = table[1].recv(there, 0, 2);
        auto sent = table[0].send(data, 1, 2);
        table.settle();
        CHECK(got.get() == received{0, 2, count, data_type::i32});
        CHECK(!why(sent).code);
        CHECK(std::count(there.begin(), there.end(), 8) == static_cast<std::ptrdiff_t>(count));
        CHECK(std::count(there.begin(), there.end(), 1) == static_cast<std::ptrdiff_t>(600 - count));
    }
}

TEST_CASE("a short send ends before its receive is called, a long one waits for it, and neither holds up the other") {
    test::table table(2, test::few_credits());
    std::vector<int> few(10, 1), many(100'000, 2), first(10), second(100'000);
    auto slow = table[0].send(many, 1, 1);
    auto quick = table[0].send(few, 1, 2);
    table.settle();
    CHECK_FALSE(slow.ready());
    CHECK(quick.ready());
    auto short_recv = table[1].recv(first, 0, 2);
    table.settle();
    CHECK(short_recv.ready());
    auto long_recv = table[1].recv(second, 0, 1);
    table.settle();
    CHECK(!why(slow).code);
    CHECK(!why(quick).code);
    CHECK(long_recv.get().count == 100'000);
    CHECK(short_recv.get().count == 10);
    CHECK(first == few);
    CHECK(second == many);
}

TEST_CASE("a message with another tag passes 10,000 that nobody has asked for") {
    for (const std::size_t count : {2u, 50u}) {
        test::table table(2, engine_settings(), 2000);
        engine_settings settings;
        constexpr int messages = 10'000;
        std::vector<std::vector<double>> out(messages, std::vector<double>(count)), in(out);
        std::vector<future<>> sent;
        std::vector<future<received>> got;
        for (int index = 0; index < messages; ++index) {
            out[static_cast<std::size_t>(index)][0] = index;
            sent.push_back(table[0].send(out[static_cast<std::size_t>(index)], 1, 3));
        }
        table.settle();
        const auto kept = std::count_if(sent.begin(), sent.end(), [](auto& each) { return each.ready(); });
        CHECK(kept == std::min<std::ptrdiff_t>(messages, static_cast<std::ptrdiff_t>(settings.messages.kept_bytes / (count * 8))));
        std::vector<int> word{42}, heard(1);
        auto control = table[0].send(word, 1, 4);
        auto hearing = table[1].recv(heard, 0, 4);
        table.settle();
        CHECK(!why(control).code);
        CHECK(hearing.ready());
        CHECK(heard[0] == 42);
        for (auto& each : in) got.push_back(table[1].recv(each, 0, 3));
        table.settle();
        for (auto& each : sent) REQUIRE(!why(each).code);
        for (auto& each : got) REQUIRE(!why(each).code);
        CHECK(in == out);
    }
}

TEST_CASE("without credits a send waits for the receiver, however often that happens") {
    test::table table(2, test::few_credits(), 300);
    for (int round = 0; round < 30; ++round) {
        std::vector<std::vector<int>> out, in;
        std::vector<future<>> sent;
        for (int index = 0; index < 20; ++index) {
            out.push_back(counting(static_cast<std::size_t>((index * 7 + round) % 23), index));
            in.emplace_back(23);
        }
        for (auto& each : out) sent.push_back(table[0].send(each, 1, 1));
        table.settle();
        CHECK_FALSE(std::all_of(sent.begin(), sent.end(), [](auto& each) { return each.ready(); }));
        for (std::size_t index = 0; index < 20; ++index) {
            auto got = table[1].recv(in[index], 0, 1);
            table.settle();
            REQUIRE(got.ready());
            in[index].resize(got.get().count);
            CHECK(in[index] == out[index]);
        }
        for (auto& each : sent) CHECK(!why(each).code);
    }
}

TEST_CASE("two ranks that send each other large messages first, and many at once, do not lock up") {
    test::table table(2, test::few_credits(), 100);
    std::vector<std::vector<int>> out[2], in[2];
    std::vector<future<>> sent;
    std::vector<future<received>> got;
    for (const rank me : {0, 1})
        for (int index = 0; index < 12; ++index) {
            out[me].push_back(counting(1000, 1000 * me + index));
            in[me].emplace_back(1000);
        }
    for (const rank me : {0, 1})
        for (auto& each : out[me]) sent.push_back(table[me].send(each, 1 - me, 1));
    table.settle();
    for (const rank me : {0, 1})
        for (auto& each : in[me]) got.push_back(table[me].recv(each, 1 - me, any_tag));
    table.settle();
    for (auto& each : sent) CHECK(!why(each).code);
    for (auto& each : got) CHECK(!why(each).code);
    CHECK(in[0] == out[1]);
    CHECK(in[1] == out[0]);
}

TEST_CASE("several long messages between two ranks take turns") {
    test::table table(2, test::few_credits(), 400);
    std::vector<int> longest(20'000, 1), shorter(2000, 2), one(20'000), other(2000);
    auto first = table[1].recv(one, 0, 1), second = table[1].recv(other, 0, 2);
    auto slow = table[0].send(longest, 1, 1), quick = table[0].send(shorter, 1, 2);
    std::vector<int> ends;
    background watching(table.loop());
    watching.start(note(std::move(first), ends, 1));
    watching.start(note(std::move(second), ends, 2));
    table.settle();
    CHECK(ends == std::vector<int>{2, 1});
    CHECK(!why(slow).code);
    CHECK(!why(quick).code);
    CHECK(one == longest);
    CHECK(other == shorter);
}

TEST_CASE("a rank sends to itself, short and long, before and after the receive") {
    for (const int size : {1, 3})
        for (const std::size_t count : {0u, 5u, 10u, 11u, 5000u})
            for (const bool early : {true, false}) {
                CAPTURE(count);
                test::table table(size, test::few_credits());
                table.by_hand();
                std::vector<int> out = counting(count, 4), in(count + 1);
                future<> sent;
                future<received> got;
                if (early) sent = table[0].send(out, 0, 6);
                else got = table[0].recv(in, any_source, any_tag);
                table.settle();
                if (early) CHECK(sent.ready() == (count <= 10));
                else CHECK_FALSE(got.ready());
                if (early) got = table[0].recv(in, 0, 6);
                else sent = table[0].send(out, 0, 6);
                table.settle();
                CHECK(!why(sent).code);
                CHECK(got.get() == received{0, 6, count, data_type::i32});
                in.pop_back();
                CHECK(in == out);
                CHECK(table[0].wishes.empty());
            }
}

TEST_CASE("what a rank sends to itself is kept within the same limits") {
    test::table table(1, test::few_credits());
    std::vector<std::vector<int>> out(20, std::vector<int>(5, 3)), in(20, std::vector<int>(5));
    std::vector<future<>> sent;
    for (auto& each : out) sent.push_back(table[0].send(each, 0, 1));
    table.settle();
    CHECK(std::count_if(sent.begin(), sent.end(), [](auto& each) { return each.ready(); }) == 5);  // of 20 bytes each
    for (auto& each : in) {
        auto got = table[0].recv(each, 0, 1);
        CHECK(got.ready());
    }
    table.settle();
    for (auto& each : sent) CHECK(!why(each).code);
    CHECK(in == out);
}

TEST_CASE("an immediate receive takes what is there and nothing else") {
    test::table table(2, test::few_credits());
    std::vector<int> few{1, 2}, many(500, 7), first(2), second(500);
    CHECK_FALSE(table[1].try_recv(first, 0, 1));
    CHECK_FALSE(table[1].try_probe(0, 1));
    auto short_send = table[0].send(few, 1, 1);
    auto long_send = table[0].send(many, 1, 2);
    table.settle();
    CHECK_FALSE(table[1].try_recv(first, 0, 3));
    CHECK(table[1].try_probe(any_source, 1) == received{0, 1, 2, data_type::i32});
    CHECK(table[1].try_probe(0, any_tag) == received{0, 1, 2, data_type::i32});
    CHECK(table[1].try_probe(0, 2) == received{0, 2, 500, data_type::i32});
    auto taken = table[1].try_recv(first, 0, 1);
    REQUIRE(taken);
    CHECK(taken->ready());
    CHECK(taken->get().count == 2);
    CHECK(first == few);
    CHECK_FALSE(table[1].try_recv(first, 0, 1));
    auto coming = table[1].try_recv(second, any_source, any_tag);
    REQUIRE(coming);
    table.settle();
    CHECK(coming->get().tag == 2);
    CHECK(second == many);
    CHECK(!why(short_send).code);
    CHECK(!why(long_send).code);
}

TEST_CASE("a probe ends when a message is there that no receive has taken, and leaves it there") {
    test::table table(2, test::few_credits());
    std::vector<int> data{1, 2, 3}, many(100), taken(3), left(3), rest(100);
    auto receiving = table[1].recv(taken, 0, 1);
    auto first = table[1].probe(any_source, 1), second = table[1].probe(0, any_tag), third = table[1].probe(0, 2);
    auto sent = table[0].send(data, 1, 1);
    table.settle();
    CHECK(receiving.ready());  // which was called before the probes, and left them nothing
    CHECK_FALSE(first.ready());
    auto again = table[0].send(data, 1, 1);
    table.settle();
    CHECK(first.get() == received{0, 1, 3, data_type::i32});
    CHECK(second.get() == received{0, 1, 3, data_type::i32});
    CHECK_FALSE(third.ready());
    auto late = table[1].probe(0, 1);
    CHECK(late.ready());
    CHECK(late.get().count == 3);
    auto got = table[1].recv(left, 0, 1);
    table.settle();
    CHECK(got.ready());
    auto offered = table[0].send(many, 1, 2);
    table.settle();
    CHECK(third.get() == received{0, 2, 100, data_type::i32});
    auto last = table[1].recv(rest, 0, 2);
    table.settle();
    CHECK(!why(offered).code);
    CHECK(!why(last).code);
    CHECK(!why(sent).code);
    CHECK(!why(again).code);
}

TEST_CASE("the parts of an exchange start together, in any order, and end as one") {
    for (const int size : {1, 2, 3, 5})
        for (const std::size_t count : {0u, 1u, 10u, 3000u}) {
            CAPTURE(size);
            CAPTURE(count);
            test::table table(size, test::few_credits(), 100);
            std::vector<std::vector<int>> out(static_cast<std::size_t>(size)), in(out);
            std::vector<received> told(static_cast<std::size_t>(size) * 2);
            std::vector<future<>> moved;
            for (rank me = 0; me < size; ++me) {
                const auto which = static_cast<std::size_t>(me);
                out[which] = counting(count, 10 * me);
                in[which].resize(2 * count);
                const auto lower = std::span(in[which]).first(count), upper = std::span(in[which]).last(count);
                const buffer mine{std::span(out[which])};
                const rank next = (me + 1) % size, previous = (me + size - 1) % size;
                std::vector<transfer> parts{send_to(mine, next, 1), send_to(mine, previous, 2), recv_from(buffer(lower), previous, 1, &told[2 * which]),
                                            recv_from(buffer(upper), next, 2, &told[2 * which + 1])};
                if (me % 2 == 1) std::reverse(parts.begin(), parts.end());
                moved.push_back(table[me].exchange(parts));
            }
            table.settle();
            for (auto& each : moved) CHECK(!why(each).code);
            for (rank me = 0; me < size; ++me) {
                const auto which = static_cast<std::size_t>(me);
                const rank next = (me + 1) % size, previous = (me + size - 1) % size;
                CHECK(told[2 * which] == received{previous, 1, count, data_type::i32});
                CHECK(told[2 * which + 1] == received{next, 2, count, data_type::i32});
                auto expected = out[static_cast<std::size_t>(previous)];
                expected.insert(expected.end(), out[static_cast<std::size_t>(next)].begin(), out[static_cast<std::size_t>(next)].end());
                CHECK(in[which] == expected);
            }
        }
}

TEST_CASE("an exchange of nothing ends at once") {
    test::table table(2);
    auto nothing = table[0].exchange({});
    CHECK(nothing.ready());
    CHECK(!why(nothing).code);
}
