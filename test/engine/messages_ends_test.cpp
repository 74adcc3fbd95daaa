// Receives that end before their message is there, or get one that does not fit: they end alone, and everything else goes on.
#include "engine/put.hpp"
#include "engine/table.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <optional>

using namespace tutti;
using namespace std::chrono_literals;
using test::why;

namespace {

constexpr duration short_time = 5ms;

/// Stops the loop after a while.
class pause {
public:
    pause(event_loop& loop, duration length) : loop_(loop) { loop_.start_timer(over_, loop_.now() + length); }

private:
    void stop() noexcept { loop_.stop(); }

    event_loop& loop_;
    detail::alarm<&pause::stop> over_{*this};
};

/// The table's loop runs for so long.
void pass(test::table& table, duration length = 1us) {
    const pause until(table.loop(), length);
    table.loop().run();
}

/// How a receive ends early.
enum class way { cancelled, dropped, overdue };
constexpr way ways[] = {way::cancelled, way::dropped, way::overdue};

std::vector<int> counting_from(std::size_t count, int first) {
    std::vector<int> made(count);
    std::iota(made.begin(), made.end(), first);
    return made;
}

/// A receive whose memory is looked at long after its end.
class watched {
public:
    watched(test::table& table, way how, std::size_t count, rank from, message_tag tag = 0) : table_(table), how_(how), memory_(count, -1) {
        future_ = table[1].recv(memory_, from, tag, how == way::overdue ? short_time : duration::max());
    }

    void end() {
        if (how_ == way::cancelled) future_->cancel();
        if (how_ == way::dropped) future_.reset();
        pass(table_, how_ == way::overdue ? 2 * short_time : 1us);
        std::fill(memory_.begin(), memory_.end(), -2);
        if (!future_) return;
        const report told = why(*future_);
        CHECK(told.code == (how_ == way::cancelled ? error::cancelled : error::timed_out));
        CHECK(told.operation.starts_with("recv i32"));
    }
    bool untouched() const { return std::count(memory_.begin(), memory_.end(), -2) == static_cast<std::ptrdiff_t>(memory_.size()); }

private:
    test::table& table_;
    way how_;
    std::vector<int> memory_;
    std::optional<future<received>> future_;
};

/// Rank 0 as the test plays it: it sends frames in pieces.
class player {
public:
    explicit player(test::table& table) : link_(table.play(1, 0, lane_kind::point)) {}

    void begin(frame_kind kind, std::uint64_t number, const std::vector<int>& data, message_tag tag = 0, std::uint32_t slice = 0) {
        frame head;
        head.kind = kind;
        head.epoch = 7;
        head.sequence = number;
        head.slice = slice;
        head.payload_bytes = kind == frame_kind::offer ? 0 : data.size() * sizeof(int);
        head.what.type = static_cast<std::uint8_t>(data_type::i32);
        head.what.count = data.size();
        head.what.digest = tag;
        const frame_header bytes = encode(head);
        put(bytes);
    }
    void put(std::span<const std::byte> bytes) {
        const std::span<const std::byte> parts[] = {bytes};
        REQUIRE(link_->try_send(parts).bytes == bytes.size());
    }
    /// The next frame that has come.
    frame next() {
        frame_header bytes;
        const std::span<std::byte> into[] = {bytes};
        REQUIRE(link_->try_recv(into).bytes == frame_bytes);
        frame head;
        REQUIRE(decode(bytes, head));
        return head;
    }

private:
    std::unique_ptr<tutti::link> link_;
};

std::span<const std::byte> bytes_of(const std::vector<int>& data, std::size_t first, std::size_t count) {
    return std::as_bytes(std::span(data).subspan(first, count));
}

}  // namespace

TEST_CASE("a receive that ends early before its message comes leaves it to the next one") {
    for (const way how : ways)
        for (const std::size_t count : {1u, 100'000u}) {
            test::table table(3);
            watched gone(table, how, count, any_source);
            gone.end();
            std::vector<int> data = counting_from(count, 5), there(count);
            auto sent = table[0].send(data, 1);
            auto got = table[1].recv(there, 0);
            table.settle();
            CHECK(!why(sent).code);
            CHECK(got.get().count == count);
            CHECK(there == data);
            CHECK(gone.untouched());
            CHECK(table[1].failures.empty());
        }
}

TEST_CASE("a short message whose receive ends while it lands goes to the next receive, or is kept, with all its bytes") {
    for (const way how : ways)
        for (const bool direct : {true, false})  // into the receive's memory, or kept until it has landed
            for (const int next : {0, 1, 2}) {   // the next receive is called before that, while the message lands, or later
                CAPTURE(direct);
                CAPTURE(next);
                test::table table(2);
                table.by_hand();
                player sender(table);
                const std::vector<int> data = counting_from(1000, 3);
                std::vector<int> there(1000);
                std::optional<watched> gone;
                future<received> got;
                if (direct) gone.emplace(table, how, 1000, any_source, any_tag);
                if (direct && next == 0) got = table[1].recv(there, 0, 4);
                sender.begin(frame_kind::message, 1, data, 4);
                sender.put(bytes_of(data, 0, 300));
                pass(table);
                if (!direct) gone.emplace(table, how, 1000, 0, 4);
                if (!direct && next == 0) got = table[1].recv(there, any_source, any_tag);
                auto probing = table[1].probe(0, 4);
                gone->end();
                CHECK(probing.ready() == (next != 0));
                if (next == 1) got = table[1].recv(there, 0, 4);
                sender.put(bytes_of(data, 300, 700));
                pass(table);
                if (next == 2) got = table[1].recv(there, 0, any_tag);
                table.settle();
                CHECK(got.get() == received{0, 4, 1000, data_type::i32});
                CHECK(there == data);
                CHECK(gone->untouched());
                CHECK(table[1].failures.empty());
                probing.cancel();
                table.settle();
            }
}

TEST_CASE("a short message that is given back keeps its place among those of other ranks") {
    test::table table(3);
    table.by_hand();
    player sender(table);
    table.connect(1, 2, lane_kind::point);
    const std::vector<int> data = counting_from(1000, 3);
    std::vector<int> word{9}, there(1000);
    watched gone(table, way::cancelled, 1000, 0);
    sender.begin(frame_kind::message, 1, data);
    sender.put(bytes_of(data, 0, 500));
    pass(table);
    auto sent = table[2].send(word, 1);
    table.settle();
    gone.end();
    sender.put(bytes_of(data, 500, 500));
    table.settle();
    auto first = table[1].recv(there, any_source);
    table.settle();
    CHECK(first.get().source == 0);
    CHECK(there == data);
    auto second = table[1].recv(there, any_source);
    table.settle();
    CHECK(second.get().source == 2);
    CHECK(!why(sent).code);
}

TEST_CASE("a long message that has been asked for is thrown away when its receive has ended, whatever has come of it") {
    for (const way how : ways)
        for (const std::size_t before : {0u, 100u, 250u, 500u, 999u}) {
            CAPTURE(before);
            engine_settings settings;
            settings.slice_bytes = 1000;  // four slices
            settings.messages.eager_bytes = 100;
            test::table table(2, settings);
            table.by_hand();
            player sender(table);
            const std::vector<int> data = counting_from(1000, 3), word{8};
            watched gone(table, how, 1000, 0, 4);
            sender.begin(frame_kind::offer, 1, data, 4);
            pass(table);
            CHECK(sender.next().kind == frame_kind::go);
            std::size_t sent = 0;
            const auto send_up_to = [&](std::size_t end) {
                while (sent < end) {
                    if (sent % 250 == 0)
                        sender.begin(frame_kind::data, 1, std::vector<int>(250), 0, static_cast<std::uint32_t>(sent / 250));
                    const std::size_t count = std::min(end, sent - sent % 250 + 250) - sent;
                    sender.put(bytes_of(data, sent, count));
                    sent += count;
                }
            };
            send_up_to(before);
            pass(table);
            gone.end();
            std::vector<int> there(1);
            auto got = table[1].recv(there, 0, any_tag);
            send_up_to(1000);
            table.settle();
            CHECK_FALSE(got.ready());
            sender.begin(frame_kind::message, 2, word, 4);
            sender.put(bytes_of(word, 0, 1));
            table.settle();
            CHECK(got.get().tag == 4);
            CHECK(there == word);
            CHECK(gone.untouched());
            CHECK(table[1].failures.empty());
        }
}

TEST_CASE("a receive that has ended well is neither cancelled nor overdue any more") {
    test::table table(2);
    std::vector<int> data(10, 4), there(10);
    auto sent = table[0].send(data, 1);
    auto got = table[1].recv(there, 0, 0, 10ms);
    table.settle();
    got.cancel();
    CHECK(got.get().count == 10);
    CHECK(table[1].failures.empty());
}

TEST_CASE("a send that ends early fails the communicator, wherever its message is") {
    for (const way how : ways)
        for (const std::size_t count : {10u, 100'000u})
            for (const bool attached : {true, false}) {
                if (count == 10 && attached) continue;  // ends at once
                test::table table(2);
                table.by_hand();
                if (attached) table.connect(0, 1, lane_kind::point);
                std::vector<int> data(count);
                std::optional<future<>> sent(table[0].send(data, 1, 0, how == way::overdue ? short_time : duration::max()));
                pass(table);
                if (how == way::cancelled) sent->cancel();
                if (how == way::dropped) sent.reset();
                table.settle();
                CHECK(table[0].failures.size() == 1);
            }
}

TEST_CASE("an exchange ends alone where only receives of it are left") {
    for (const way how : ways)
        for (const bool sends : {true, false}) {
            CAPTURE(sends);
            test::table table(2);
            std::vector<int> few(10, 3), many(100'000), one(10, -1), two(100'000, -1), there(10);
            received told;
            std::vector<transfer> parts{send_to(buffer(std::span(few)), 1, 1), recv_from(buffer(std::span(one)), 1, 2, &told),
                                        recv_from(buffer(std::span(two)), 1, 3)};
            if (sends) parts.push_back(send_to(buffer(std::span(many)), 1, 4));
            std::optional<future<>> both(table[0].exchange(parts, how == way::overdue ? short_time : duration::max()));
            auto got = table[1].recv(there, 0, 1);
            pass(table);
            if (how == way::cancelled) both->cancel();
            if (how == way::dropped) both.reset();
            pass(table, how == way::overdue ? 2 * short_time : 1us);
            CHECK(table[0].failures.size() == (sends ? 1 : 0));
            if (both && !sends) CHECK(why(*both).operation == "exchange of 3 messages");
            if (sends) continue;
            CHECK(there == few);
            auto late = table[1].send(few, 0, 2);
            table.settle();
            CHECK(one == std::vector<int>(10, -1));
            CHECK(told == received());
            auto next = table[0].recv(there, 1, 2);
            table.settle();
            CHECK(next.get().count == 10);
        }
}

// ---- messages that do not fit

TEST_CASE("a message that does not fit its receive fails that alone, whatever comes first and however it travels") {
    for (const bool early : {true, false})
        for (const bool type : {true, false})
            for (const rank from : {0, 1})
                for (const std::size_t count : {4u, 40'000u}) {
                    CAPTURE(early);
                    CAPTURE(type);
                    CAPTURE(from);
                    CAPTURE(count);
                    test::table table(2);
                    std::vector<int> data(count, 5), less(count - 1, 7), there(count);
                    std::vector<float> other(count, 7);
                    future<received> got;
                    const auto receive = [&] { got = type ? table[1].recv(other, from, 3) : table[1].recv(less, any_source, any_tag); };
                    if (!early) receive();
                    auto sent = table[from].send(data, 1, 3);
                    table.settle();
                    if (early) receive();
                    table.settle();
                    const report told = why(got);
                    CHECK(told.code == (type ? error::mismatch : error::truncated));
                    const std::string mine = type ? fmt::format("recv f32 count {} from rank {} tag 3", count, from)
                                                  : fmt::format("recv i32 count {} from any rank with any tag", count - 1);
                    CHECK(told.cause ==
                          fmt::format("rank 1 called {} where rank {} called send i32 count {} to rank 1 tag 3 (message #1), which "
                                      "does not fit and is thrown away",
                                      mine, from, count));
                    CHECK(told.operation == mine);
                    CHECK(told.peers == std::vector<rank>{1, from});
                    CHECK(!why(sent).code);
                    CHECK(less == std::vector<int>(count - 1, 7));
                    CHECK(other == std::vector<float>(count, 7));
                    // The next messages are received, and credits for many more are there.
                    for (int times = 0; times < 100; ++times) {
                        auto next = table[from].send(data, 1, 3);
                        auto taken = table[1].recv(there, from, 3);
                        table.settle();
                        REQUIRE(!why(next).code);
                        REQUIRE(taken.get().count == count);
                    }
                    CHECK(there == data);
                    for (const rank each : {0, 1}) CHECK(table[each].failures.empty());
                }
}

TEST_CASE("a short message that does not fit is thrown away while it lands") {
    test::table table(2);
    table.by_hand();
    player sender(table);
    const std::vector<int> data = counting_from(1000, 3), word{8};
    std::vector<int> less(999, -1), there(1);
    auto early = table[1].recv(less, 0, 4);
    for (const std::uint64_t number : {1u, 2u}) {
        sender.begin(frame_kind::message, number, data, 4);
        sender.put(bytes_of(data, 0, 300));
        pass(table);
        auto late = number == 1 ? std::move(early) : table[1].recv(less, 0, 4);  // before it comes, or while it lands
        pass(table);
        CHECK(why(late).code == error::truncated);
        sender.put(bytes_of(data, 300, 700));
        pass(table);
    }
    auto got = table[1].recv(there, 0, 4);
    sender.begin(frame_kind::message, 3, word, 4);
    sender.put(bytes_of(word, 0, 1));
    table.settle();
    CHECK(got.get().count == 1);
    CHECK(there == word);
    CHECK(less == std::vector<int>(999, -1));
    CHECK(table[1].failures.empty());
}

TEST_CASE("a part of an exchange that gets what does not fit fails the exchange when the other parts have ended") {
    for (const bool here : {true, false}) {  // the message is there already
        test::table table(2);
        std::vector<int> data(10, 3), less(9, -1), there(10), more(10);
        future<> sent;
        if (here) sent = table[1].send(data, 0, 1);
        table.settle();
        auto both = table[0].exchange({recv_from(buffer(std::span(less)), 1, 1), recv_from(buffer(std::span(there)), 1, 2)});
        if (!here) sent = table[1].send(data, 0, 1);
        table.settle();
        CHECK_FALSE(both.ready());
        auto rest = table[1].send(data, 0, 2);
        table.settle();
        const report told = why(both);
        CHECK(told.code == error::truncated);
        CHECK(told.operation == "exchange of 2 messages");
        CHECK(told.cause.starts_with("rank 0 called recv i32 count 9 from rank 1 tag 1 where rank 1 called send i32 count 10"));
        CHECK(there == data);
        CHECK(!why(sent).code);
        CHECK(!why(rest).code);
        CHECK(table[0].failures.empty());
        auto alone = table[0].exchange({send_to(buffer(std::span(data)), 0, 5), recv_from(buffer(std::span(less)), 0, 5)});
        table.settle();
        CHECK(why(alone).code == error::truncated);
        CHECK(table[0].failures.empty());
    }
}
