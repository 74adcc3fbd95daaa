// The inside of a gpu::operation: the request, and how far it has come. It is taken from a pool and returns there.
#pragma once

#include "base/linked_queue.hpp"
#include "gpu/device_request.hpp"
#include "gpu/watched.hpp"

#include <tutti/detail/future_state.hpp>
#include <tutti/gpu/operation.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace tutti::gpu {

class issuing;
class operation_pool;
class placing;

/// The interface of device_engine to its operations.
class operation_owner {
public:
    /// Called on the poller's loop when the device has reached the operation's end. With `why` it never will.
    virtual void came(operation_state& which, const failure* why) noexcept = 0;
    /// Called instead when the poller's loop ends before.
    virtual void forsaken(operation_state& which) noexcept = 0;
    /// Called on the working loop, on the poller's loop, and on the progress loop, after to_issue, to_poll or to_end was posted there.
    virtual void arrived_for_issue(operation_state& which) noexcept = 0;
    virtual void arrived_for_polling(operation_state& which) noexcept = 0;
    virtual void arrived_for_end(operation_state& which) noexcept = 0;

protected:
    ~operation_owner() = default;
};

/// One call on devices. It has three references: the future's, the handle's and its engine's, which releases it when nothing uses the memory any more.
/// The future may end earlier, when it is cancelled or dropped. `guard_` protects how far it is placed and its waiters; the members that are not private
/// belong to the engine and are protected by the engine's guard.
class [[gnu::visibility("hidden")]] operation_state final : public detail::future_state {
public:
    device_request what;
    static constexpr duration first_patience = std::chrono::milliseconds(250);

    std::uint64_t sequence = 0;
    std::uint64_t collective = 0;  // its number among the calls of all ranks; 0: an exchange or a shrink
    time_point issued{};
    duration patience = first_patience;  // after it this rank tells the other ranks in which collective it waits
    time_point deadline = no_deadline;
    links<operation_state> under_way, queued;  // of the owner's lists
    issuing* launcher = nullptr;
    /// The way of its event, with the owner's guard. `asking`: on its way to the poller. `watched`: the poller has it. `come`: the poller has reported it,
    /// and the operation is on its way to its end.
    enum class news : std::uint8_t { none, asking, watched, come } heard = news::none;
    const failure* fault = nullptr;  // the device's, as the poller reported it

    void cancel() noexcept override;
    void abandon() noexcept override { cancel(); }
    void explain(detail::explanation& out) const override;

    // Any thread.
    future<> enqueued();
    future<> ordered_on(const stream& which);

    // For the owner.
    /// The operation is on the device, which reaches `end` when it is done. Without a device it is done.
    void placed(event end) noexcept;
    bool is_placed() const {
        const std::lock_guard lock(guard_);
        return over_ && !why_;
    }
    /// Returns, of a placed operation, whether it has an event; without a device it has none.
    bool has_event() const noexcept { return end_.valid(); }
    /// Ends all three completions that have not ended.
    void end(const failure* why) noexcept;
    /// Makes the object that the poller watches.
    watched& arrival(std::uint32_t kind) { return arrival_.emplace(*this, end_, kind); }
    detail::runnable& to_issue() noexcept { return to_issue_; }
    detail::runnable& to_poll() noexcept { return to_poll_; }
    detail::runnable& to_end() noexcept { return to_end_; }
    /// Releases the owner's reference, after the buffers.
    void let_go() noexcept;

private:
    friend class operation_pool;

    class coming final : public watched {
    public:
        coming(operation_state& of, event what, std::uint32_t kind) noexcept : watched(std::move(what), kind), of_(of) {}
        void came(const failure* why) noexcept override { of_.owner_->came(of_, why); }
        void forsaken() noexcept override { of_.owner_->forsaken(of_); }

    private:
        operation_state& of_;
    };

    void recycle() noexcept override;
    future<> add(std::optional<stream> ordered);
    void issue() noexcept { owner_->arrived_for_issue(*this); }
    void poll() noexcept { owner_->arrived_for_polling(*this); }
    void settle() noexcept { owner_->arrived_for_end(*this); }

    std::shared_ptr<operation_pool> pool_;  // while it is out of it
    operation_owner* owner_ = nullptr;
    std::atomic<bool> ended_{false};
    mutable std::mutex guard_;
    event end_;          // guarded until it is placed
    bool over_ = false;  // placed, or failed
    std::optional<failure> why_;
    placing* waiting_ = nullptr;  // a list
    std::optional<coming> arrival_;
    detail::callback<&operation_state::issue> to_issue_{*this};
    detail::callback<&operation_state::poll> to_poll_{*this};
    detail::callback<&operation_state::settle> to_end_{*this};
};

/// The operations of an engine, used again. Shared with the operations, because a handle may outlive the engine. Any thread.
class operation_pool final : public std::enable_shared_from_this<operation_pool> {
public:
    operation_pool() = default;
    operation_pool(const operation_pool&) = delete;
    operation_pool& operator=(const operation_pool&) = delete;
    ~operation_pool();

    operation_state& take(operation_owner& owner);
    void give(operation_state& which) noexcept;

private:
    std::mutex guard_;
    std::vector<operation_state*> here_;
    std::size_t made_ = 0;
};

}  // namespace tutti::gpu
