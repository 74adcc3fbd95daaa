#include "transport/multiplexed_link.hpp"

#include "pump.hpp"
#include "stage.hpp"
#include "transport/memory_link.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tutti::test {
namespace {

/// Keeps the streams that the peer opens.
class keeper final : public multiplexed_link_owner {
public:
    void opened(std::unique_ptr<link> stream) override { streams.push_back(std::move(stream)); }
    void ended(multiplexed_link&) noexcept override { ++ends; }

    std::vector<std::unique_ptr<link>> streams;
    int ends = 0;
};

/// Two processes, with a multiplexed link between them that takes little at once.
struct two_processes {
    explicit two_processes(std::size_t capacity_bytes = 1000) {
        auto ends = make_memory_links({loop, "left"}, {loop, "right"}, capacity_bytes);
        one = std::make_shared<multiplexed_link>(loop, std::move(ends.first), multiplexed_link::side::dialled, left);
        other = std::make_shared<multiplexed_link>(loop, std::move(ends.second), multiplexed_link::side::accepted, right);
        one->start();
        other->start();
    }
    ~two_processes() {
        one->close();
        other->close();
    }
    /// Returns both ends of a new stream.
    link_pair open() {
        auto mine = one->open();
        settle();
        REQUIRE_FALSE(right.streams.empty());
        auto theirs = std::move(right.streams.back());
        right.streams.pop_back();
        return {std::move(mine), std::move(theirs)};
    }
    void settle() { run(loop, a_while()); }

    event_loop loop{event_loop::virtual_time};
    keeper left, right;
    std::shared_ptr<multiplexed_link> one, other;
};

std::size_t send_until_full(link& over, std::size_t bytes_at_once) {
    const bytes some(bytes_at_once);
    const std::span<const std::byte> part = some;
    std::size_t sent = 0;
    for (;;) {
        const auto now = over.try_send(std::span(&part, 1));
        REQUIRE_FALSE(now.code);
        if (now.bytes == 0) return sent;
        sent += now.bytes;
    }
}

std::size_t receive_all(link& over) {
    bytes place(100'000);
    const std::span<std::byte> part = place;
    std::size_t came = 0;
    for (;;) {
        const auto now = over.try_recv(std::span(&part, 1));
        came += now.bytes;
        if (now.bytes == 0) return came;
    }
}

void check_way(two_processes& of, link& from, link& to, std::size_t count, std::uint64_t seed) {
    pump sender{from, random_bytes(count, seed), 0, [] {}};
    pump receiver{to, {}, count, [] {}};
    receiver.start_receiving();
    sender.start_sending();
    of.settle();
    CHECK(receiver.received() == random_bytes(count, seed));
}

/// A link that takes bytes when the test lets it, and says so out of the test's call, not from the loop.
class gate final : public link {
public:
    moved try_send(std::span<const std::span<const std::byte>> parts) noexcept override {
        std::size_t taken = 0;
        for (const auto& part : parts) {
            const std::size_t now = std::min(part.size(), room_);
            room_ -= now;
            taken += now;
        }
        return {taken, {}};
    }
    moved try_recv(std::span<const std::span<std::byte>>) noexcept override { return {}; }
    void when_readable(detail::runnable&) noexcept override {}
    void when_writable(detail::runnable& work) noexcept override { work_ = &work; }
    void close() noexcept override { work_ = nullptr; }
    std::string peer() const override { return "gate"; }

    bool waits() const noexcept { return work_ != nullptr; }
    void open(std::size_t bytes) {
        room_ += bytes;
        if (auto* const work = std::exchange(work_, nullptr)) work->run();
    }

private:
    std::size_t room_ = 0;
    detail::runnable* work_ = nullptr;
};

/// Bytes in the form of a record.
bytes record(std::uint64_t number, std::uint32_t length, unsigned kind) {
    bytes made(16);
    for (std::size_t index = 0; index < 8; ++index) made[index] = static_cast<std::byte>(number >> (8 * index) & 0xff);
    for (std::size_t index = 0; index < 4; ++index) made[8 + index] = static_cast<std::byte>(length >> (8 * index) & 0xff);
    made[12] = static_cast<std::byte>(kind);
    return made;
}

}  // namespace

TEST_CASE("a stream that nobody reads takes one window, and holds up no other") {
    two_processes of;
    const auto unread = of.open(), other = of.open();
    std::size_t sent = 0;
    for (int round = 0; round < 1000; ++round) {
        sent += send_until_full(*unread.one, 5000);
        of.settle();
    }
    CHECK(sent == multiplexed_link::window_bytes);
    check_way(of, *other.one, *other.other, 3 * multiplexed_link::window_bytes, 1);
    check_way(of, *other.other, *other.one, 3 * multiplexed_link::window_bytes, 2);
    CHECK(receive_all(*unread.other) == sent);
    of.settle();
    CHECK(send_until_full(*unread.one, 5000) > 0);  // credit has come back
}

TEST_CASE("streams that send as much as they can take turns") {
    two_processes of;
    constexpr std::size_t count = 1'000'000;
    std::vector<link_pair> pairs;
    std::vector<std::unique_ptr<pump>> senders, receivers;
    for (int each = 0; each < 3; ++each) pairs.push_back(of.open());
    for (auto& pair : pairs) {
        senders.push_back(std::make_unique<pump>(*pair.one, random_bytes(count, 3), 0, [] {}));
        receivers.push_back(std::make_unique<pump>(*pair.other, bytes{}, count, [&] {
            for (const auto& each : receivers) CHECK(each->received_bytes() + 2 * multiplexed_link::window_bytes >= count);
        }));
    }
    for (auto& each : receivers) each->start_receiving();
    for (auto& each : senders) each->start_sending();
    of.settle();
    for (const auto& each : receivers) CHECK(each->received() == random_bytes(count, 3));
}

TEST_CASE("a link that can be written while a stream's turn is already posted gives that turn once") {
    event_loop loop{event_loop::virtual_time};
    keeper owner;
    auto made = std::make_unique<gate>();
    gate& line = *made;
    const auto shared = std::make_shared<multiplexed_link>(loop, std::move(made), multiplexed_link::side::dialled, owner);
    std::vector<std::unique_ptr<link>> streams;
    for (int each = 0; each < 4; ++each) streams.push_back(shared->open());
    std::vector<std::unique_ptr<pump>> pumps;
    for (int each = 0; each < 3; ++each) {
        pumps.push_back(std::make_unique<pump>(*streams[static_cast<std::size_t>(each)], random_bytes(300'000, 5), 0, [] {}));
        pumps.back()->start_sending();
    }
    REQUIRE(line.waits());
    line.open(2 * multiplexed_link::backlog_bytes);  // takes all that waits: a stream's turn comes, and those of the others are posted
    REQUIRE_FALSE(line.waits());
    while (!line.waits()) REQUIRE(send_until_full(*streams[3], 1000) > 0);
    line.open(2 * multiplexed_link::backlog_bytes);
    run(loop, a_while());
    line.open(1 * MiB);
    run(loop, a_while());
    for (const auto& each : pumps) CHECK(each->sent_bytes() == multiplexed_link::window_bytes);
    shared->close();
}

TEST_CASE("a stream that closes leaves the others and the link alone, and its number is not used again") {
    two_processes of;
    const auto stays = of.open();
    for (int round = 0; round < 100; ++round) {
        auto goes = of.open();
        CHECK(send_until_full(*goes.one, 700) > 0);
        of.settle();
        if (round % 2 == 0) goes.one.reset();
        else goes.other.reset();
        of.settle();
    }
    check_way(of, *stays.one, *stays.other, 10'000, 4);
    CHECK(of.left.ends + of.right.ends == 0);
}

TEST_CASE("what was sent before the link ended is received, then every stream ends with the link's code") {
    two_processes of(100'000);
    const auto one = of.open(), two = of.open();
    CHECK(send_until_full(*one.one, 40'000) >= 40'000);
    of.settle();
    of.one->close();
    of.settle();
    CHECK(of.right.ends == 1);
    CHECK(of.left.ends == 0);  // it has closed by itself
    CHECK(receive_all(*one.other) >= 40'000);
    std::byte place[1];
    const std::span<std::byte> part = place;
    for (link* each : {one.other.get(), two.other.get()}) CHECK(each->try_recv(std::span(&part, 1)).code == error::peer_died);
    CHECK(one.one->try_recv(std::span(&part, 1)).code == error::closed);
    const auto late = of.other->open();
    CHECK(late->try_recv(std::span(&part, 1)).code == error::peer_died);
}

TEST_CASE("records that no peer of this version sends end the link with protocol_error") {
    struct {
        const char* name;
        bytes sent;
    } const rows[] = {
        {"an unknown kind", record(1, 0, 9)},
        {"a stream with a number of the other side", record(2, 0, 1)},
        {"more bytes than a record may have", record(1, multiplexed_link::record_bytes + 1, 2)},
        {"credit for nothing", [] {
             bytes all = record(1, 0, 1), credit = record(1, 0, 3);
             all.insert(all.end(), credit.begin(), credit.end());
             return all;
         }()},
        {"more credit than the window", [] {
             bytes both = record(1, 0, 1), credit = record(1, 1, 3);
             both.insert(both.end(), credit.begin(), credit.end());
             return both;
         }()},
        {"a stream that is opened twice", [] {
             bytes both = record(1, 0, 1), again = both;
             both.insert(both.end(), again.begin(), again.end());
             return both;
         }()},
        {"bytes beyond the window", [] {
             bytes all = record(1, 0, 1);
             for (std::size_t sent = 0; sent <= multiplexed_link::window_bytes; sent += multiplexed_link::record_bytes) {
                 const bytes head = record(1, multiplexed_link::record_bytes, 2);
                 all.insert(all.end(), head.begin(), head.end());
                 all.resize(all.size() + multiplexed_link::record_bytes);
             }
             return all;
         }()},
    };
    for (const auto& row : rows) {
        const std::string name = row.name;
        CAPTURE(name);
        event_loop loop{event_loop::virtual_time};
        keeper owner;
        auto ends = make_memory_links({loop, "stranger"}, {loop, "here"}, 1 * MiB);
        const auto here = std::make_shared<multiplexed_link>(loop, std::move(ends.second), multiplexed_link::side::accepted, owner);
        here->start();
        const std::span<const std::byte> part = row.sent;
        REQUIRE(ends.first->try_send(std::span(&part, 1)).bytes == row.sent.size());
        run(loop, a_while());
        CHECK(owner.ends == 1);
        CHECK(here->ended());
        if (!owner.streams.empty()) {
            std::byte place[1];
            const std::span<std::byte> one = place;
            receive_all(*owner.streams[0]);
            CHECK(owner.streams[0]->try_recv(std::span(&one, 1)).code == error::protocol_error);
        }
    }
}

}  // namespace tutti::test
