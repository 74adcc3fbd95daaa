// Lanes that share a guard with lanes on other threads: they have it only between their calls, and no thread but that of their loop moves bytes.
#include "road.hpp"
#include "stage.hpp"
#include "support/running_loop.hpp"

#include "runtime/run_on.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

namespace tutti::test {
namespace {

/// Stays in its next call until it is let go.
class stuck_link final : public tutti::link {
public:
    moved try_send(std::span<const std::span<const std::byte>>) noexcept override {
        stay();
        return {};
    }
    moved try_recv(std::span<const std::span<std::byte>>) noexcept override {
        stay();
        return {};
    }
    void when_readable(tutti::detail::runnable&) noexcept override {}
    void when_writable(tutti::detail::runnable&) noexcept override {}
    void close() noexcept override {}
    std::string peer() const override { return "nobody"; }

    std::atomic<bool> inside{false}, go_on{false};

private:
    void stay() noexcept {
        inside = true;
        while (!go_on) std::this_thread::yield();
        inside = false;
    }
};

}  // namespace

TEST_CASE("the guard of a spread lane is free while bytes move, and who stops the lane waits until they do not") {
    for (const bool sends : {true, false}) {
        CAPTURE(sends);
        auto made = std::make_unique<stuck_link>();
        stuck_link& over = *made;
        running_loop loop;
        std::mutex guard;
        addressee owner;
        parcel one(0, random_bytes(1000, 1), 1);
        const auto made_lane = make_lane(loop.loop, guard, std::move(made), owner, lane::kind::spread);
        lane& way = *made_lane;
        {
            const std::lock_guard lock(guard);
            if (sends) {
                way.send(one);
                way.flush();
            } else {
                way.resume();
            }
        }
        while (!over.inside) std::this_thread::yield();
        std::atomic<bool> stopping{false};
        std::thread lets_go([&] {
            while (!stopping) std::this_thread::yield();
            for (int turn = 0; turn < 1000; ++turn)
                std::this_thread::yield();  // so that no thread that does not wait is taken for one that does
            over.go_on = true;
        });
        {
            const std::lock_guard lock(guard);  // which is free
            CHECK(over.inside);
            stopping = true;
            way.stop();
            CHECK_FALSE(over.inside);
            CHECK(way.flushed());
        }
        lets_go.join();
        run_on(loop.loop, [&] {
            const std::lock_guard lock(guard);
            way.close();
        });
        CHECK(one.times_sent == 0);
        CHECK(owner.losses == 0);
    }
}

TEST_CASE("frames over spread lanes arrive whole and in order, whoever asks for them to be sent") {
    for (const std::size_t capacity : {std::size_t{100}, std::size_t{256 * KiB}}) {
        CAPTURE(capacity);
        running_loop near_loop, far_loop;
        std::mutex guard;
        addressee here, there;
        auto ends = make_memory_links({near_loop.loop, "near"}, {far_loop.loop, "far"}, capacity);
        const std::unique_ptr<lane> lanes[] = {make_lane(near_loop.loop, guard, std::move(ends.first), here, lane::kind::spread),
                                               make_lane(far_loop.loop, guard, std::move(ends.second), there, lane::kind::spread)};
        lane &near = *lanes[0], &far = *lanes[1];
        std::deque<parcel> all;
        std::mt19937_64 random{7};
        there.parks_from = 20;
        for (std::uint64_t index = 0; index < 60; ++index) {
            const std::size_t length = random() % 3 == 0 ? random() % 20'000 : random() % 200;
            const std::lock_guard lock(guard);
            near.send(all.emplace_back(index, random_bytes(length, index + 1), 1 + random() % 5));
            if (random() % 3 == 0) near.flush();
            if (index == 30) far.resume();
        }
        const auto wait_for = [&](std::size_t frames) {
            for (;; std::this_thread::yield()) {
                const std::lock_guard lock(guard);
                if (there.heads.size() == frames && there.losses == 0) return;
            }
        };
        wait_for(20);
        {
            const std::lock_guard lock(guard);
            there.parks_from = 1000;
            near.flush();
            far.resume();
        }
        wait_for(60);
        for (;; std::this_thread::yield()) {
            const std::lock_guard lock(guard);
            if (near.flushed()) break;
        }
        {
            const std::lock_guard lock(guard);
            for (std::size_t index = 0; index < all.size(); ++index) {
                CHECK(there.payloads[index] == all[index].payload);
                CHECK(all[index].times_sent == 1);
            }
            near.close_soon();  // from this thread
        }
        for (;; std::this_thread::yield()) {
            const std::lock_guard lock(guard);
            if (there.losses == 1) break;
        }
        CHECK(there.code == error::peer_died);
        for (const auto& [at, which] : {std::pair(&near_loop, &near), std::pair(&far_loop, &far)})
            run_on(at->loop, [&guard, which = which] {
                const std::lock_guard lock(guard);
                which->close();
            });
    }
}

}  // namespace tutti::test
