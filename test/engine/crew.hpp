// Engines whose lanes are spread over threads: each rank with a thread for its loop and some more for its lanes, joined by links in memory.
#pragma once

#include "engine/table.hpp"
#include "runtime/mailbox.hpp"
#include "runtime/run_on.hpp"
#include "support/running_loop.hpp"

#include <algorithm>
#include <mutex>
#include <thread>

namespace tutti::test {

/// Receives small parts, and yields after each: its calls take long, so a thread that ends them early finds one of them at work.
class slow_link final : public link {
public:
    explicit slow_link(std::unique_ptr<link> over) : over_(std::move(over)) {}

    moved try_send(std::span<const std::span<const std::byte>> parts) noexcept override { return over_->try_send(parts); }
    moved try_recv(std::span<const std::span<std::byte>> parts) noexcept override {
        constexpr std::size_t part_bytes = 512;
        moved all;
        for (auto rest : parts)
            while (!rest.empty()) {
                const std::span<std::byte> part[] = {rest.first(std::min(rest.size(), part_bytes))};
                const moved one = over_->try_recv(part);
                all.bytes += one.bytes;
                if (all.bytes == 0) all.code = one.code;
                if (one.bytes < part[0].size()) return all;
                rest = rest.subspan(one.bytes);
                std::this_thread::yield();
            }
        return all;
    }
    void when_readable(tutti::detail::runnable& work) noexcept override { over_->when_readable(work); }
    void when_writable(tutti::detail::runnable& work) noexcept override { over_->when_writable(work); }
    void close() noexcept override { over_->close(); }
    std::unique_ptr<link> move_to(event_loop& other) noexcept override {
        auto moved = over_->move_to(other);
        return moved ? std::make_unique<slow_link>(std::move(moved)) : nullptr;
    }
    std::string peer() const override { return over_->peer(); }

private:
    std::unique_ptr<link> over_;
};

class crew {
public:
    class member final : private engine_observer {
    public:
        member(crew& at, rank me, int size, const engine_settings& settings, int threads) : at_(at), me_(me) {
            std::vector<event_loop*> loops;
            for (int more = 1; more < threads; ++more) loops.push_back(&further_.emplace_back(std::make_unique<running_loop>())->loop);
            engine_.reset(new class engine(own_.loop, engine_identity{"crew", 7, me, size, {}}, settings, *this, loops));
        }
        ~member() { shut_down(); }

        class engine& engine() noexcept { return *engine_; }
        future<> issue(const request& what) { return future<>(engine_->issue(what, std::chrono::minutes(1))); }
        /// As a process that ends.
        void shut_down() {
            run_on(own_.loop, [this] {
                letters_.close();
                engine_->shut_down();
            });
        }
        void say_goodbye() {
            run_on(own_.loop, [this] { engine_->say_goodbye(); });
        }
        bool idle() {
            bool idle = false;
            run_on(own_.loop, [&] { idle = engine_->idle(); });
            return idle;
        }

    private:
        friend class crew;

        void wanted(rank peer, lane_kind kind) noexcept override {
            for (int index = 0; index < lanes_of(kind, engine_->settings().lanes); ++index) at_.connect(me_, peer, {kind, index});
        }
        void engine_failed(const report& why) noexcept override { at_.spread(me_, why); }
        void waits(std::uint64_t, const call_signature&, std::string_view) noexcept override {}
        void stalls(const std::string&) noexcept override {}
        void differs(rank, std::uint64_t, const call_signature&, std::string_view) noexcept override {}
        void link_lost(rank peer, lane_id, std::error_code) noexcept override {
            report why;
            why.code = error::peer_died;
            why.peers = {peer};
            why.cause = fmt::format("rank {} lost a link to rank {}", me_, peer);
            engine_->fail_and_tell(why);
        }
        void take(rank peer, lane_id which, std::unique_ptr<link> over) {
            (void)letters_.send([this, peer, which, kept = std::make_shared<std::unique_ptr<link>>(std::move(over))] {
                engine_->attach(peer, which, std::move(*kept));
            });
        }

        crew& at_;
        const rank me_;
        running_loop own_;
        std::vector<std::unique_ptr<running_loop>> further_;
        mailbox letters_{own_.loop};
        std::shared_ptr<class engine> engine_;
    };

    crew(int size, const engine_settings& settings, int threads, std::size_t capacity_bytes = 256 * KiB) : capacity_bytes_(capacity_bytes) {
        for (rank me = 0; me < size; ++me) members_.push_back(std::make_unique<member>(*this, me, size, settings, threads));
    }
    ~crew() {
        for (auto& each : members_) each->shut_down();
    }
    /// Before anything is issued: all links are slow ones.
    void slow_down() noexcept { slow_ = true; }

    member& operator[](rank me) { return *members_[static_cast<std::size_t>(me)]; }
    int size() const noexcept { return static_cast<int>(members_.size()); }

private:
    void connect(rank one, rank other, lane_id which) {
        const std::lock_guard lock(guard_);
        if (!connected_.insert({std::min(one, other), std::max(one, other), which}).second) return;
        auto ends = make_memory_links({(*this)[one].own_.loop, fmt::format("rank {}", one)}, {(*this)[other].own_.loop, fmt::format("rank {}", other)},
                                      capacity_bytes_);
        for (auto* each : {&ends.first, &ends.second})
            if (slow_) *each = std::make_unique<slow_link>(std::move(*each));
        (*this)[one].take(other, which, std::move(ends.first));
        (*this)[other].take(one, which, std::move(ends.second));
    }
    /// Does what the control tree does.
    void spread(rank from, const report& why) {
        for (rank each = 0; each < size(); ++each)
            if (each != from) (*this)[each].engine_->fail(why);
    }

    const std::size_t capacity_bytes_;
    bool slow_ = false;
    std::mutex guard_;
    std::set<std::tuple<rank, rank, lane_id>> connected_;
    std::vector<std::unique_ptr<member>> members_;
};

/// Waits for the end; how it went.
inline report end_of(future<>& called) {
    try {
        called.get();
    } catch (const failure& caught) {
        return caught.details();
    }
    return {};
}

}  // namespace tutti::test
