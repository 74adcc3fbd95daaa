// Engines around a table: each its own rank, joined by links in memory on one loop of virtual time, without communicators.
#pragma once

#include "engine/engine.hpp"
#include "transport/memory_link.hpp"

#include <tutti/future.hpp>

#include <fmt/format.h>

#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace tutti::test {

/// With one algorithm, which has several slices of most vectors, and several of those in a segment, where slices have 64 bytes.
inline engine_settings only(const algorithm& entry, std::size_t slice_bytes, int lanes = 1) {
    engine_settings settings;
    settings.forced = {&entry};
    settings.slice_bytes = slice_bytes;
    settings.segment = slice_bytes == 64 ? 3 : 1;
    settings.small_bytes = 512;
    settings.lanes = lanes;
    return settings;
}

/// Everything travels over these.
inline engine_settings lanes_of_bulk(int lanes, std::size_t slice_bytes) {
    engine_settings settings;
    settings.slice_bytes = slice_bytes;
    settings.small_bytes = 0;
    settings.lanes = lanes;
    return settings;
}

/// Room for few messages, so that some hundred small ones reach every limit.
inline engine_settings few_credits() {
    engine_settings settings;
    settings.slice_bytes = 64;
    settings.messages.eager_bytes = 40;
    settings.messages.kept_bytes = 100;
    settings.messages.kept_messages = 8;
    return settings;
}

class table {
public:
    /// One rank's place: remembers what its engine reports.
    class seat final : private engine_observer {
    public:
        seat(table& at, rank me, int size, const engine_settings& settings, const host_map& hosts)
            : at_(at), me_(me), engine_(new class engine(at.loop_, engine_identity{"table", 7, me, size, hosts}, settings, *this)) {}
        ~seat() { engine_->shut_down(); }

        class engine& engine() noexcept { return *engine_; }
        future<> issue(const request& what, duration deadline = duration::max()) { return future<>(engine_->issue(what, deadline)); }

        template <class T>
        future<> send(std::vector<T>& data, rank to, message_tag tag = 0, duration deadline = duration::max()) {
            return future<>(engine_->messages().issue(call_of(send_to(buffer(std::span(data)), to, tag)), deadline));
        }
        template <class T>
        future<received> recv(std::vector<T>& data, rank from, message_tag tag = 0, duration deadline = duration::max()) {
            return future<received>(engine_->messages().issue(call_of(recv_from(buffer(std::span(data)), from, tag)), deadline));
        }
        template <class T>
        std::optional<future<received>> try_recv(std::vector<T>& data, rank from, message_tag tag = 0) {
            message* const made = engine_->messages().try_recv(call_of(recv_from(buffer(std::span(data)), from, tag)), duration::max());
            if (!made) return std::nullopt;
            return future<received>(*made);
        }
        future<received> probe(rank from, message_tag tag = 0, duration deadline = duration::max()) {
            return future<received>(engine_->messages().issue(probe_of(from, tag), deadline));
        }
        std::optional<received> try_probe(rank from, message_tag tag = 0) { return engine_->messages().try_probe(from, tag).value(); }
        future<> exchange(const std::vector<transfer>& parts, duration deadline = duration::max()) {
            return future<>(engine_->messages().exchange(parts, exchange_of(parts.size()), deadline));
        }

        std::vector<report> failures;
        std::vector<std::pair<rank, std::error_code>> lost;
        std::vector<std::pair<rank, lane_id>> wishes;  // that the test has not fulfilled
        std::vector<std::string> stalled;

    private:
        void wanted(rank peer, lane_kind kind) noexcept override {
            for (int index = 0; index < lanes_of(kind, engine_->settings().lanes); ++index) {
                if (at_.automatic_) at_.connect(me_, peer, {kind, index});
                else wishes.emplace_back(peer, lane_id(kind, index));
            }
        }
        void engine_failed(const report& why) noexcept override { failures.push_back(why); }
        void waits(std::uint64_t sequence, const call_signature& what, std::string_view label) noexcept override {
            for (auto& each : at_.seats_)
                if (each.get() != this) each->engine_->compare(me_, sequence, what, label);
        }
        void stalls(const std::string& sentence) noexcept override {
            stalled.push_back(fmt::format("{:.0f} s: {}", std::chrono::duration<double>(at_.loop_.now() - time_point{}).count(), sentence));
        }
        void differs(rank peer, std::uint64_t sequence, const call_signature& what, std::string_view label) noexcept override {
            if (at_.mute_) return;
            at_.at(peer).engine_->compare(me_, sequence, what, label);
        }
        void link_lost(rank peer, lane_id, std::error_code why) noexcept override { lost.emplace_back(peer, why); }

        table& at_;
        rank me_;
        std::shared_ptr<class engine> engine_;
    };

    explicit table(int size, engine_settings settings = engine_settings(), std::size_t capacity_bytes = 256 * KiB, const host_map& hosts = {})
        : capacity_bytes_(capacity_bytes) {
        for (rank me = 0; me < size; ++me) seats_.push_back(std::make_unique<seat>(*this, me, size, settings, hosts));
    }

    seat& at(rank me) { return *seats_[static_cast<std::size_t>(me)]; }
    seat& operator[](rank me) { return at(me); }
    event_loop& loop() noexcept { return loop_; }
    int size() const noexcept { return static_cast<int>(seats_.size()); }
    /// Everything that can happen without another call.
    void settle() { loop_.run(); }

    /// Instead of links in memory.
    using two_ends = std::pair<std::unique_ptr<link>, std::unique_ptr<link>>;
    void over(std::function<two_ends(event_loop&, rank, rank, lane_id)> links) { make_links_ = std::move(links); }
    /// Engines that have different labels for a call do not hear of each other's.
    void mute() noexcept { mute_ = true; }
    /// Lanes are made only by `connect`.
    void by_hand() noexcept { automatic_ = false; }
    void connect(rank one, rank other, lane_id which) {
        if (!connected_.insert({std::min(one, other), std::max(one, other), which}).second) return;
        auto ends = links(one, other, which);
        at(one).engine().attach(other, which, std::move(ends.first));
        at(other).engine().attach(one, which, std::move(ends.second));
    }
    /// The other end of a lane of `me`, for a test that plays `peer` itself.
    std::unique_ptr<link> play(rank me, rank peer, lane_id which) {
        auto ends = links(me, peer, which);
        at(me).engine().attach(peer, which, std::move(ends.first));
        return std::move(ends.second);
    }

private:
    two_ends links(rank one, rank other, lane_id which) {
        if (make_links_) return make_links_(loop_, one, other, which);
        return make_memory_links({loop_, fmt::format("rank {}", one)}, {loop_, fmt::format("rank {}", other)}, capacity_bytes_);
    }

    event_loop loop_{event_loop::virtual_time};
    const std::size_t capacity_bytes_;
    std::function<two_ends(event_loop&, rank, rank, lane_id)> make_links_;
    bool automatic_ = true;
    bool mute_ = false;
    std::set<std::tuple<rank, rank, lane_id>> connected_;
    std::vector<std::unique_ptr<seat>> seats_;
};

/// Typed requests for tests.
template <class T>
request asking(collective kind, std::vector<T>& data, reduction op = sum, rank root = 0) {
    request what;
    what.kind = kind;
    what.type = type_of<T>;
    what.opaque_bytes = element<T> ? 0 : sizeof(T);
    what.op = op;
    what.root = root;
    what.count = data.size();
    what.output = data.data();
    return what;
}
inline request asking_barrier() { return request(); }

/// The failure of a future that has ended; a bare report when it went well.
template <class T>
report why(future<T>& ended) {
    report pending;
    pending.code = std::make_error_code(std::errc::operation_in_progress);
    if (!ended.ready()) return pending;
    try {
        (void)ended.get();
    } catch (const failure& caught) {
        return caught.details();
    }
    return {};
}

}  // namespace tutti::test
