#include "transport/shm_ring.hpp"

#include "pump.hpp"
#include "support/seeds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <thread>

namespace tutti::test {
namespace {

struct one_ring {
    ring_state state;
    std::vector<std::byte> bytes = std::vector<std::byte>(ring_bytes);
    ring both() { return {&state, bytes.data()}; }
};

moved send(ring_sender& over, std::span<const std::byte> what) {
    const std::span<const std::byte> parts[] = {what};
    return over.send(parts);
}

moved recv(ring_receiver& over, std::span<std::byte> into) {
    const std::span<std::byte> parts[] = {into};
    return over.recv(parts);
}

}  // namespace

TEST_CASE("a ring takes what fits and no more, and gives it back in order, around its end as well") {
    one_ring ring;
    ring_sender sender(ring.both());
    ring_receiver receiver(ring.both());
    bytes got(ring_bytes);
    for (std::uint64_t round = 0; round < 5; ++round) {
        CAPTURE(round);
        const bytes sent = random_bytes(ring_bytes, round);
        const std::size_t first = ring_bytes / 2 - 64 * round, fitting = send(sender, std::span(sent).first(first)).bytes;
        CHECK(fitting == first);
        const std::size_t all = fitting + send(sender, std::span(sent).subspan(first)).bytes;
        CHECK(all <= ring_bytes);
        CHECK(all > ring_bytes - untold_bytes);
        CHECK(send(sender, sent).bytes == 0);
        CHECK(recv(receiver, std::span(got).first(first)).bytes == first);
        CHECK(recv(receiver, std::span(got).subspan(first)).bytes == all - first);
        CHECK(std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(all), sent.begin()));
        CHECK(recv(receiver, std::span(got)).bytes == 0);
    }
}

TEST_CASE("a receiver writes nothing that the sender looks at until it has read a good deal") {
    one_ring ring;
    ring_sender sender(ring.both());
    ring_receiver receiver(ring.both());
    bytes place(1000);
    for (std::size_t read = place.size(); read < 3 * untold_bytes; read += place.size()) {
        send(sender, place);
        recv(receiver, place);
        CHECK(ring.state.received.load() <= read);
        CHECK(ring.state.received.load() + untold_bytes > read);
        if (read < untold_bytes) CHECK(ring.state.received.load() == 0);
    }
}

TEST_CASE("a receiver that keeps pace writes into each line that it has read, and into nothing that it has not") {
    one_ring ring;
    ring_sender sender(ring.both());
    ring_receiver receiver(ring.both());
    receiver.keep_pace(true);
    const bytes sent = random_bytes(ring_bytes - untold_bytes, 11);
    bytes got(sent.size());
    for (int round = 0; round < 3; ++round) {
        const auto begin = static_cast<std::size_t>(ring.state.sent.load());
        REQUIRE(send(sender, sent).bytes == sent.size());
        std::size_t at = 0;
        for (std::size_t piece = 1; at < sent.size(); piece = piece * 7 % 5003) {
            auto into = std::span(got).subspan(at, std::min(piece, sent.size() - at));
            if (piece % 2 == 0) {
                std::span<const std::byte> shown;
                receiver.peek(shown);
                into = into.first(std::min(into.size(), shown.size()));
                std::copy_n(shown.begin(), into.size(), into.begin());
                receiver.skip(into.size());
            } else {
                REQUIRE(recv(receiver, into).bytes == into.size());
            }
            at += into.size();
        }
        CHECK(got == sent);
        for (std::size_t line = 0; line < sent.size(); line += 64) {
            const auto there = ring.bytes.begin() + static_cast<std::ptrdiff_t>((begin + line) % ring_bytes);
            REQUIRE(std::count(there, there + 64, std::byte{0}) > 0);
        }
    }
}

TEST_CASE("an empty ring begins anew where it began, so whoever reads in time needs a part of it only") {
    for (const std::size_t frame : {std::size_t{64}, std::size_t{1000}, std::size_t{20'001}, rewound_from}) {
        CAPTURE(frame);
        one_ring ring;
        ring_sender sender(ring.both());
        ring_receiver receiver(ring.both());
        bytes got(frame);
        for (std::uint64_t round = 0; round * frame < 5 * ring_bytes; ++round) {
            const bytes sent = random_bytes(frame, round);
            REQUIRE(send(sender, sent).bytes == frame);
            REQUIRE(recv(receiver, got).bytes == frame);
            REQUIRE(got == sent);
        }
        const auto touched = [](std::byte each) { return each != std::byte{0}; };
        const auto unused = ring.bytes.begin() + static_cast<std::ptrdiff_t>(rewound_from + frame);
        CHECK(std::any_of(ring.bytes.begin(), unused, touched));
        CHECK(std::none_of(unused, ring.bytes.end(), touched));
    }
}

TEST_CASE("what goes through a ring arrives as it was, wherever the ring begins anew") {
    const auto seed = test::any_seed();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    one_ring ring;
    ring_sender sender(ring.both());
    ring_receiver receiver(ring.both());
    const bytes stream = random_bytes(40 * ring_bytes, seed);
    bytes got(ring_bytes);
    std::size_t sent = 0, received = 0, rewound = 0;
    while (received < stream.size()) {
        const std::uint64_t origin = ring.state.origin.load();
        const std::size_t most = random() % (random() % 8 == 0 ? ring_bytes : 64 * KiB);
        sent += send(sender, std::span(stream).subspan(sent, std::min(most, stream.size() - sent))).bytes;
        rewound += ring.state.origin.load() != origin;
        REQUIRE(ring.state.origin.load() <= received + untold_bytes);
        const std::size_t wanted = random() % (random() % 2 == 0 ? ring_bytes : 32 * KiB);
        std::size_t taken = 0;
        if (random() % 2 == 0) {
            std::span<const std::byte> shown;
            receiver.peek(shown);
            taken = std::min(wanted, shown.size());
            std::copy_n(shown.begin(), taken, got.begin());
            receiver.skip(taken);
        } else {
            taken = recv(receiver, std::span(got).first(wanted)).bytes;
        }
        REQUIRE(std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(taken), stream.begin() + static_cast<std::ptrdiff_t>(received)));
        received += taken;
    }
    CHECK(rewound > 10);
    CHECK(ring.state.sent.load() == stream.size());
}

TEST_CASE("who sleeps is to be woken once, the sender only when a good part is free") {
    one_ring ring;
    ring_sender sender(ring.both());
    ring_receiver receiver(ring.both());
    CHECK_FALSE(receiver.ready());
    ring.state.receiver_sleeps = 1;
    send(sender, bytes(ring_bytes));
    CHECK(sender.must_wake());
    CHECK_FALSE(sender.must_wake());
    CHECK(receiver.ready());
    CHECK_FALSE(sender.ready());
    ring.state.sender_sleeps = 1;
    bytes got(ring_bytes / 4);
    recv(receiver, std::span(got).first(1000));
    CHECK_FALSE(receiver.must_wake());
    CHECK_FALSE(sender.ready());
    recv(receiver, got);
    CHECK(receiver.must_wake());
    CHECK_FALSE(receiver.must_wake());
    CHECK(sender.ready());
}

TEST_CASE("a sender that sleeps until a cell is free is not woken by bytes, but when the receiver publishes that it took some") {
    one_ring ring;
    ring_sender sender(ring.both());
    ring_receiver receiver(ring.both());
    send(sender, bytes(1000));
    frame head;
    while (sender.send_cell(head, {})) {}
    CHECK_FALSE(sender.ready());
    ring.state.sender_sleeps = sender.wish();
    bytes got(1000);
    recv(receiver, got);
    CHECK_FALSE(receiver.must_wake());
    cell_contents contents;
    for (std::uint32_t index = 1; index < cell_ring::untold; ++index) {
        REQUIRE(receiver.take_cell(head, contents));
        CHECK_FALSE(receiver.must_wake_for_cells());
    }
    CHECK_FALSE(sender.ready());
    REQUIRE(receiver.take_cell(head, contents));
    CHECK(receiver.must_wake_for_cells());
    CHECK_FALSE(receiver.must_wake_for_cells());
    CHECK(sender.ready());
}

TEST_CASE("a position that the other side cannot have written ends the ring, not the memory behind it") {
    struct row {
        std::uint64_t sent, received;
        bool sender_notices, receiver_notices;
    };
    constexpr std::size_t all_sent = 2 * untold_bytes, all_received = untold_bytes;
    for (const row& wrong : {row{ring_bytes + all_sent + 1, all_received, false, true}, row{all_sent - 1, all_received, false, true},
                             row{all_sent, 10 * ring_bytes, true, false}, row{all_sent, all_received - 1, true, false},
                             row{~std::uint64_t{0}, ~std::uint64_t{0}, true, true}}) {
        CAPTURE(wrong.sent);
        CAPTURE(wrong.received);
        one_ring ring;
        ring_sender sender(ring.both());
        ring_receiver receiver(ring.both());
        bytes place(2 * ring_bytes);
        send(sender, std::span(place).first(all_sent));
        recv(receiver, std::span(place).first(all_received));
        send(sender, {});
        CHECK(sender.ready());
        ring.state.sent = wrong.sent;
        ring.state.received = wrong.received;
        const moved out = send(sender, place);
        CHECK((out.code == error::protocol_error) == wrong.sender_notices);
        CHECK(out.bytes <= ring_bytes);
        ring.state.sent = wrong.sent;
        bytes all(2 * ring_bytes);
        while (recv(receiver, all).bytes > 0) {}
        CHECK((recv(receiver, all).code == error::protocol_error) == wrong.receiver_notices);
        if (wrong.receiver_notices) CHECK(receiver.ready());
        if (wrong.sender_notices) CHECK(send(sender, all).code == error::protocol_error);
    }
}

TEST_CASE("two threads hand over every byte, and nobody sleeps while there is something to do") {
    one_ring ring;
    const bytes sent = random_bytes(20 * MiB + 13, 17);
    bytes got(sent.size());
    std::thread other([&] {
        ring_receiver receiver(ring.both());
        for (std::size_t done = 0; done < got.size();) {
            const auto part = std::min<std::size_t>(got.size() - done, 1 + done % 70'001);
            done += recv(receiver, std::span(got).subspan(done, part)).bytes;
        }
    });
    ring_sender sender(ring.both());
    for (std::size_t done = 0; done < sent.size();) {
        const auto part = std::min<std::size_t>(sent.size() - done, 1 + done % 90'001);
        done += send(sender, std::span(sent).subspan(done, part)).bytes;
    }
    other.join();
    CHECK(got == sent);
}

}  // namespace tutti::test
