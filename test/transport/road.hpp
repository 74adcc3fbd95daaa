// Two lanes over one link, what travels on them, and who takes it: for the tests of lanes.
#pragma once

#include "pump.hpp"
#include "transport/lane.hpp"
#include "transport/memory_link.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <functional>

namespace tutti::test {

/// Moves at most `most` bytes a call, and counts the calls that moved any.
class counting_link final : public tutti::link {
public:
    counting_link(std::unique_ptr<tutti::link> over, std::size_t most) : over_(std::move(over)), most_(most) {}

    moved try_send(std::span<const std::span<const std::byte>> parts) noexcept override {
        const auto offered = limited<const std::byte>(parts);
        const moved now = over_->try_send(offered);
        sends += now.bytes > 0 ? 1 : 0;
        return now;
    }
    moved try_recv(std::span<const std::span<std::byte>> parts) noexcept override {
        const auto offered = limited<std::byte>(parts);
        return over_->try_recv(offered);
    }
    void when_readable(tutti::detail::runnable& work) noexcept override { over_->when_readable(work); }
    void when_writable(tutti::detail::runnable& work) noexcept override { over_->when_writable(work); }
    void close() noexcept override { over_->close(); }
    std::string peer() const override { return over_->peer(); }

    int sends = 0;

private:
    template <class Byte>
    std::vector<std::span<Byte>> limited(std::span<const std::span<Byte>> parts) const {
        std::vector<std::span<Byte>> first;
        std::size_t room = most_;
        for (const auto& each : parts) {
            if (room == 0) break;
            first.push_back(each.first(std::min(room, each.size())));
            room -= first.back().size();
        }
        return first;
    }

    std::unique_ptr<tutti::link> over_;
    const std::size_t most_;
};

/// A frame whose payload lies in several runs, some of them empty.
class parcel final : public outgoing {
public:
    parcel(std::uint64_t sequence, bytes what, std::size_t runs) : payload(std::move(what)), runs_(runs) {
        head.sequence = sequence;
        head.payload_bytes = payload.size();
    }
    void gather(std::vector<std::span<const std::byte>>& runs) const override {
        std::span<const std::byte> rest(payload);
        for (std::size_t left = runs_; left > 0; --left) {
            runs.push_back(rest.first(rest.size() / left));
            rest = rest.subspan(rest.size() / left);
        }
    }
    void sent() noexcept override {
        ++times_sent;
        if (when_sent) when_sent();
    }

    bytes payload;
    int times_sent = 0;
    std::function<void()> when_sent;

private:
    std::size_t runs_;
};

/// Takes frames into memory of several runs; parks or refuses what it is told to.
class addressee final : public lane_owner {
public:
    landing arrived(const frame& head, std::vector<std::span<std::byte>>& runs) noexcept override {
        ++asked;
        if (head.sequence == refuses) return landing::refuse;
        if (head.sequence >= parks_from) return landing::park;
        arriving_.assign(head.payload_bytes, std::byte{0xcc});
        std::span<std::byte> rest(arriving_);
        while (!rest.empty()) {
            const std::size_t length = std::min(rest.size(), 1 + rest.size() / 3);
            runs.push_back(rest.first(length));
            rest = rest.subspan(length);
        }
        return landing::here;
    }
    bool taken(const frame& head, std::span<const std::byte> payload) noexcept override {
        if (takes_every == 0 || head.sequence % takes_every != 0 || head.sequence >= parks_from) return false;
        ++taken_at_once;
        arriving_.assign(payload.begin(), payload.end());
        landed(head);
        return true;
    }
    void landed(const frame& head) noexcept override {
        heads.push_back(head);
        payloads.push_back(arriving_);
        if (when_landed) when_landed();
    }
    void lent(const frame&, const remote_reference& what) noexcept override { references.push_back(what); }
    bool awaits() const noexcept override { return awaited; }
    void lost(std::error_code why) noexcept override {
        ++losses;
        code = why;
    }

    std::uint64_t parks_from = ~std::uint64_t{0};
    std::uint64_t refuses = ~std::uint64_t{0};
    std::uint64_t takes_every = 0;
    int taken_at_once = 0;
    bool awaited = false;
    int asked = 0;
    int losses = 0;
    std::error_code code;
    std::vector<frame> heads;
    std::vector<bytes> payloads;
    std::vector<remote_reference> references;
    std::function<void()> when_landed;

private:
    bytes arriving_;
};

/// Two lanes over one link.
struct road {
    road(event_loop& on, std::unique_ptr<tutti::link> one, std::unique_ptr<tutti::link> other)
        : loop(on), ends{make_lane(on, guard, std::move(one), here), make_lane(on, guard, std::move(other), there)} {
        start();
    }
    ~road() {
        const std::lock_guard lock(guard);
        near.close();
        far.close();
    }
    void start() {
        const std::lock_guard lock(guard);
        near.resume();
        far.resume();
    }
    parcel& add(std::size_t payload_bytes, std::size_t runs = 1) {
        const auto sequence = static_cast<std::uint64_t>(parcels.size());
        return parcels.emplace_back(sequence, random_bytes(payload_bytes, sequence + 1), runs);
    }
    void send(parcel& one) {
        const std::lock_guard lock(guard);
        near.send(one);
    }
    bool send_now(parcel& one) {
        const std::lock_guard lock(guard);
        const bool gone = near.send_now(one.head, one.payload);
        one.times_sent += gone ? 1 : 0;
        return gone;
    }
    void flush() {
        const std::lock_guard lock(guard);
        near.flush();
    }
    void resume() {
        const std::lock_guard lock(guard);
        far.resume();
    }
    void look() {
        const std::lock_guard lock(guard);
        far.look();
    }
    void check_all_arrived() {
        REQUIRE(there.heads.size() == parcels.size());
        for (std::size_t index = 0; index < parcels.size(); ++index) {
            CHECK(there.heads[index] == parcels[index].head);
            CHECK(there.payloads[index] == parcels[index].payload);
            CHECK(parcels[index].times_sent == 1);
        }
        CHECK(near.flushed());
    }

    event_loop& loop;
    std::mutex guard;
    addressee here, there;
    std::unique_ptr<lane> ends[2];
    lane &near = *ends[0], &far = *ends[1];
    std::deque<parcel> parcels;
};

/// A road over memory of which a call moves at most `most` bytes.
struct memory_road {
    explicit memory_road(std::size_t capacity = 256 * KiB, std::size_t most = ~std::size_t{0})
        : ends(make_memory_links({loop, "near"}, {loop, "far"}, capacity)), counted(new counting_link(std::move(ends.first), most)),
          way(loop, std::unique_ptr<tutti::link>(counted), std::make_unique<counting_link>(std::move(ends.second), most)) {}

    event_loop loop{event_loop::virtual_time};
    std::pair<std::unique_ptr<tutti::link>, std::unique_ptr<tutti::link>> ends;
    counting_link* counted;
    road way;
};

}  // namespace tutti::test
