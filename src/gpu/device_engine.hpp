// The operations of one rank of a gpu::communicator: their order, their deadlines, the three completions of each (enqueued, ordered on a stream,
// completed), and one failure for all. A carrier moves the bytes.
//
// The way of an operation. The groups of functions below say on which loop each runs:
//
// 1. Issued. The caller's thread takes an operation_state, fills it in and calls `issue`. Under the guard it gets its sequence number and its turn on
//    the working loop (arrived_for_issue).
// 2. Carried out. The working loop gives it to the carrier. That loop is the device's issuing loop; on a rank without a device it is the progress
//    loop. The carrier calls `placed` when the operation is on the device, with the event behind it.
// 3. Polled. The poller of the progress loop waits for that event (arrived_for_polling, came). With poll_mode::thread the device's polling thread does.
// 4. Ended. The progress loop ends the future and takes the operation off the list (arrived_for_end). It keeps the deadlines, too.
//
// Calls that may block are made on the device's lifecycle; aborts on threads beside it.
#pragma once

#include "gpu/carrier.hpp"
#include "gpu/device_state.hpp"
#include "gpu/poller.hpp"

#include <tutti/detail/future_source.hpp>
#include <tutti/event_loop.hpp>
#include <tutti/gpu/operation.hpp>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tutti::gpu {

struct device_engine_settings {
    std::string name;  // of the communicator, for messages
    int me = 0, size = 1;
    duration operation{};                                       // the deadline of calls that name none
    std::size_t pending_limit = 1 << 20;                        // operations under way
    duration stuck = std::chrono::seconds(30);                  // after it the end of the carrier is given up
    duration lost_link{};                                       // within it the sibling communicator finds a dead rank
    std::function<void(const report&)> tell;                    // tells the other ranks of a failure here; from any thread
    std::function<void(std::uint64_t, const call_signature&)> ask;  // asks the other ranks whether they call the same; on the progress loop
};

/// One for each rank of a gpu::communicator, owned by its device_group. `guard_` protects the list of operations, the failure and the end. Public
/// functions may be called from any thread, but those for the carrier. It never blocks, never calls NCCL itself, and frees no user's buffer with the
/// guard held.
class device_engine final : operation_owner, public std::enable_shared_from_this<device_engine> {
public:
    static constexpr std::size_t remembered = 64;  // collectives that `compare` can look back on

    /// Must be made shared. `card` is null for a rank without a device. `progress` may end before the engine.
    device_engine(std::shared_ptr<device_state> card, event_loop& progress, device_engine_settings how);
    ~device_engine();
    /// Must be called before everything else.
    void carried_by(std::unique_ptr<carrier> who) { carrier_ = std::move(who); }

    /// Called on the progress loop, before `start`: makes the engine notice the end of that loop.
    void attach();
    /// Begins the carrier; the future ends when it has begun. From then on the engine keeps itself until it has closed, or has dealt with its failure.
    future<> start(duration within);

    /// An empty one, to be filled in and issued.
    operation_state& take() { return pool_->take(*this); }
    /// Issues an operation. Its place in the order of calls is taken when this returns.
    operation issue(operation_state& which);
    std::optional<std::string> cannot(const device_request& what) const { return carrier_->cannot(what); }

    /// Ends all operations with this failure, and tells the other ranks. The first cause stays.
    void fail(report why) noexcept;
    std::optional<report> failed() const;
    /// The future ends when nothing is under way, or when the engine has failed and has dealt with the failure as far as it can. Operations that
    /// are under way after `limit` are such a failure.
    future<> idle(time_point limit);
    /// Accepts no more calls. When nothing is under way, the carrier gives everything back; if that takes too long, the engine fails.
    future<> close();

    /// Called on the progress loop when rank `who` waits in its collective `number`. Fails the engine if this rank has called a different one with
    /// that number, or has closed without calling it.
    void compare(rank who, std::uint64_t number, const call_signature& theirs) noexcept;

    std::string words() const { return carrier_->words(); }
    ncclComm* native() const noexcept { return carrier_->native(); }

    // For the carrier, on the working loop; the last one on any.
    const device_engine_settings& how() const noexcept { return how_; }
    /// Returns whether the engine has failed or suspects a failure. Then the carrier carries out nothing more.
    bool has_failed() const noexcept { return failed_.load(std::memory_order_acquire); }
    /// Returns the number of operations that were given to the device and whose end was not seen yet.
    std::size_t on_device() const noexcept { return on_device_.load(std::memory_order_relaxed); }
    /// Null where the rank has no device.
    const std::shared_ptr<device_state>& card() const noexcept { return card_; }
    event_loop& work() { return card_ ? card_->issuing() : *progress_; }
    void begun();
    /// The operation is on the device, and is completed when the device reaches `end`; with an empty event it is completed now. The carrier must not touch
    /// it afterwards, because the state may already serve another operation.
    void placed(operation_state& which, event end) noexcept;
    /// Fails the engine with a failure of this rank; `which` is the operation, or null.
    void blame(const failure& why, const operation_state* which) noexcept;
    /// Blames a failure that another rank's death may have caused, unless the sibling communicator reports within twice `lost_link` which rank is dead.
    void suspect(const failure& why, const operation_state* which) noexcept;
    void ended() noexcept;

private:
    using promise = detail::future_source<>;
    /// A caller of `idle`.
    struct waiter {
        promise ends;
        time_point limit;
        std::uint64_t number;
    };

    // On the working loop.
    void arrived_for_issue(operation_state& which) noexcept override;
    void begin() noexcept;
    void finish() noexcept;
    void hand_over() noexcept;

    // On the poller's loop.
    void arrived_for_polling(operation_state& which) noexcept override;
    void came(operation_state& which, const failure* why) noexcept override;
    void forsaken(operation_state& which) noexcept override;

    // On the progress loop; when that is gone, on any thread.
    void arrived_for_end(operation_state& which) noexcept override;
    void tend() noexcept;
    void dated() noexcept;
    void ask(time_point at) noexcept;
    operation_state* first_collective() const noexcept;
    void give_up() noexcept;
    void over_now() noexcept;
    void end_all(const std::optional<report>& why) noexcept;
    void drop(operation_state& which) noexcept;
    void progress_ended() noexcept;
    std::vector<operation_state*> leave_progress();
    void rest_if_done() noexcept;

    /// Returns the loop that waits for events; null when it is gone. With the guard.
    event_loop* polls() const noexcept { return apart_ ? apart_ : progress_; }
    void post(detail::runnable& work) noexcept {
        if (progress_) progress_->post(work);
    }
    void post_work(detail::runnable& work) noexcept {
        if (card_) card_->issuing().post(work);
        else post(work);
    }
    void end_well() noexcept;
    void too_many(const operation_state& which);
    report about(const failure& why, const operation_state* which) const;
    void stop_waiting(std::uint64_t number) noexcept;
    failure told(const report& why, const operation_state* which) const;
    std::string place() const;
    time_point now() const;

    const device_engine_settings how_;
    const std::shared_ptr<device_state> card_;
    event_loop* const apart_;  // the loop of the device's polling thread with poll_mode::thread, else null
    const std::shared_ptr<operation_pool> pool_ = std::make_shared<operation_pool>();

    mutable std::mutex guard_;
    event_loop* progress_;  // null when it is gone
    linked_queue<operation_state, &operation_state::under_way> under_way_;
    std::size_t under_way_count_ = 0;
    std::size_t collectives_under_way_ = 0;
    std::uint64_t issued_ = 0;
    std::uint64_t collectives_ = 0;  // issued
    std::array<call_signature, remembered> recent_{};
    std::optional<report> why_;
    std::optional<report> suspected_;
    time_point told_by_ = no_deadline;  // when the suspected failure becomes the failure
    bool closing_ = false;
    bool is_over_ = false;
    bool told_ = false;  // all waiters have been told of the failure
    bool tend_posted_ = false;
    bool given_up_ = false;           // the carrier did not end in time, so `stuck` keeps the engine in place of `self_`
    bool has_ended_ = false;          // the carrier
    bool leaving_ = false;            // the progress loop is ending, and the code that ends it calls over_now
    bool swept_ = false;              // all operations have ended; events that still come only drop them
    time_point armed_ = no_deadline;  // the timer's date
    time_point start_by_ = no_deadline;
    time_point stuck_at_ = no_deadline;  // when the end of the carrier has taken too long
    std::vector<waiter> idle_;
    std::uint64_t last_waiter_ = 0;
    std::optional<promise> starting_, closed_;
    std::shared_ptr<device_engine> self_, handing_over_;

    std::atomic<bool> failed_{false};
    std::atomic<std::size_t> on_device_{0};
    std::unique_ptr<carrier> carrier_;

    detail::callback<&device_engine::begin> begin_{*this};
    detail::callback<&device_engine::finish> finish_{*this};
    detail::callback<&device_engine::hand_over> hand_over_{*this};
    detail::callback<&device_engine::tend> tend_{*this};
    detail::callback<&device_engine::over_now> over_{*this};
    detail::alarm<&device_engine::dated> timer_{*this};
};

}  // namespace tutti::gpu
