// Operations on the devices of a group: their order, their deadlines, the three ends of each, and one failure for all. A carrier does the
// work.
//
// Three threads take part, and whose loop a function runs on stands at its group below. The caller's gives an operation its place. The
// working loop's, which is the device's issuing loop, carries it out; of a rank without a device that is the progress loop. The progress loop
// waits for events and deadlines, and ends operations; with poll_mode::thread the device's polling thread waits for the events, and brings
// the operations there. What may block is done by the device's lifecycle, and beside it.
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
    std::string name;  // of the communicator, for sentences
    int me = 0, size = 1;
    duration operation{};                                       // a deadline, where the call names none
    std::size_t pending_limit = 1 << 20;                        // operations under way
    duration stuck = std::chrono::seconds(30);                  // for ending, before it is given up
    duration lost_link{};                                       // in which the ranks' communicator finds out who has died
    std::function<void(const report&)> tell;                    // the other ranks, of what has failed here; from any thread
    std::function<void(std::uint64_t, const descriptor&)> ask;  // whether they call the same; on the progress loop
};

/// Every public function may be called from any thread, but those for the carrier.
class device_engine final : operation_owner, public std::enable_shared_from_this<device_engine> {
public:
    static constexpr std::size_t remembered = 64;  // collectives, to compare with

    /// Made shared. Null for a rank that has no device. `progress` may end before.
    device_engine(std::shared_ptr<device_state> card, event_loop& progress, device_engine_settings how);
    ~device_engine();
    /// Before everything else.
    void carried_by(std::unique_ptr<carrier> who) { carrier_ = std::move(who); }

    /// On the progress loop, before `start`: from now on its end is noticed.
    void attach();
    /// Ends when the carrier has begun. From then on, until close has ended or the failure has been dealt with, the engine keeps itself.
    future<> start(duration within);

    /// An empty one, to be filled in and issued.
    operation_state& take() { return pool_->take(*this); }
    /// Its place in the order is taken when this returns.
    operation issue(operation_state& which);
    std::optional<std::string> cannot(const device_request& what) const { return carrier_->cannot(what); }

    /// Ends everything with this, and, by the group, on all ranks. The first cause stays.
    void fail(report why) noexcept;
    std::optional<report> failed() const;
    /// Ends when nothing is under way; or when it has failed and the failure has been dealt with, as well as that can be done. What is under
    /// way after `limit` is such a failure.
    future<> idle(time_point limit);
    /// Nothing more is called. When nothing is under way it gives everything back, or fails when that takes too long.
    future<> close();

    /// On the progress loop: that rank waits in this collective. Fails when this rank has called another one, or never will.
    void compare(rank who, std::uint64_t number, const descriptor& theirs) noexcept;

    std::string words() const { return carrier_->words(); }
    ncclComm* native() const noexcept { return carrier_->native(); }

    // For the carrier, on the working loop; the last one on any.
    const device_engine_settings& how() const noexcept { return how_; }
    /// Or is going to: nothing more is carried out.
    bool has_failed() const noexcept { return failed_.load(std::memory_order_acquire); }
    /// Operations that the device has been given and not been seen to have done.
    std::size_t on_device() const noexcept { return on_device_.load(std::memory_order_relaxed); }
    /// Null where the rank has no device.
    const std::shared_ptr<device_state>& card() const noexcept { return card_; }
    event_loop& work() { return card_ ? card_->issuing() : *progress_; }
    void begun();
    /// It is completed when the device has come to `end`; an empty one: now. From then on it may be another operation.
    void placed(operation_state& which, event end) noexcept;
    /// A failure here, of an operation where there is one.
    void blame(const failure& why, const operation_state* which) noexcept;
    /// The same of what another rank's death may have caused, unless the ranks' communicator, which knows whose, says so in time.
    void suspect(const failure& why, const operation_state* which) noexcept;
    void ended() noexcept;

private:
    using promise = detail::future_source<>;
    /// Somebody waits until nothing is under way.
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

    // On the progress loop, or where nobody runs it any more.
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

    /// With the guard. Who waits for events; null when it is gone.
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
    event_loop* const apart_;  // that of the device's polling thread, where events are waited for there
    const std::shared_ptr<operation_pool> pool_ = std::make_shared<operation_pool>();

    mutable std::mutex guard_;
    event_loop* progress_;  // null when it is gone
    linked_queue<operation_state, &operation_state::under_way> under_way_;
    std::size_t under_way_count_ = 0;
    std::size_t collectives_under_way_ = 0;
    std::uint64_t issued_ = 0;
    std::uint64_t collectives_ = 0;  // issued
    std::array<descriptor, remembered> recent_{};
    std::optional<report> why_;
    std::optional<report> suspected_;
    time_point told_by_ = no_deadline;  // what is suspected
    bool closing_ = false;
    bool is_over_ = false;
    bool told_ = false;  // everybody who waited has been told of the failure
    bool tend_posted_ = false;
    bool given_up_ = false;           // then stuck has what `self_` had
    bool has_ended_ = false;          // the carrier
    bool leaving_ = false;            // the progress loop is ending: whoever does that has the last word
    bool swept_ = false;              // who still hears of an operation's event drops it
    time_point armed_ = no_deadline;  // what the timer is set for
    time_point start_by_ = no_deadline;
    time_point stuck_at_ = no_deadline;  // when what ends the carrier has taken too long
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
