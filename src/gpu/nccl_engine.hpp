// Collectives on devices by NCCL: operations in their order on one communication stream, each told of by an event behind it.
//
// Three threads take part, and whose loop a function runs on stands at its group below. The caller's gives an operation its place. The
// device's issuing loop calls NCCL. The progress loop waits for events and deadlines, and ends operations. What may block, ending a
// communicator of NCCL's, is done by the device's lifecycle.
#pragma once

#include "gpu/device_engine.hpp"
#include "gpu/device_state.hpp"
#include "gpu/issuer.hpp"
#include "gpu/nccl_comm.hpp"
#include "gpu/poller.hpp"
#include "gpu/stream_state.hpp"

#include <tutti/detail/future_source.hpp>
#include <tutti/event_loop.hpp>
#include <tutti/gpu/stream.hpp>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tutti::gpu {

struct nccl_settings {
    std::string name;  // of the communicator, for sentences
    int me = 0, size = 1;
    duration operation{};  // a deadline, where the call names none
    nccl_abilities has;
    std::function<void(const report&)> tell;                    // the other ranks, of what has failed here; from any thread
    std::function<void(std::uint64_t, const descriptor&)> ask;  // whether they call the same; on the progress loop
};

class nccl_engine final : public device_engine, operation_owner, issuing, public std::enable_shared_from_this<nccl_engine> {
public:
    static constexpr std::size_t at_most = std::size_t{1} << 20;  // operations under way
    static constexpr std::size_t remembered = 64;                 // collectives, to compare with

    /// Made shared. The table outlives it. `progress` may end before.
    nccl_engine(const nccl_table& nccl, stream over, event_loop& progress, nccl_settings how);
    ~nccl_engine();

    /// On the progress loop, before `start`: from now on its end is noticed.
    void attach();
    /// Ends when all ranks have come. From then on, until close has ended or the failure has been dealt with, the engine keeps itself.
    future<> start(const ncclUniqueId& id, duration within);

    operation_state& take() override { return pool_->take(*this); }
    operation issue(operation_state& which) override;
    std::optional<std::string> cannot(const device_request& what) const override;
    void fail(report why) noexcept override;
    std::optional<report> failed() const override;
    future<> idle() override;
    future<> close() override;
    /// On the progress loop: that rank waits in this collective. Fails when this rank has called another one, or never will.
    void compare(rank who, std::uint64_t number, const descriptor& theirs) noexcept;
    std::string words() const override;
    const stream& over() const noexcept { return stream_; }
    ncclComm_t native() const noexcept override { return native_.load(std::memory_order_acquire); }

private:
    enum class step { none, initializing, open, finalizing, ending, ended };
    using promise = detail::future_source<>;

    // On the issuing loop.
    void arrived_for_issue(operation_state& which) noexcept override;
    bool launch(operation_state& which) noexcept override;
    bool proceed() noexcept override;
    bool look_after() noexcept override;
    bool place(operation_state& which) noexcept;
    void initialize() noexcept;
    bool initialized(nccl_comm::state is) noexcept;
    void finalize() noexcept;
    bool finalized(nccl_comm::state is) noexcept;
    void hand_over() noexcept;
    issuer& turns() { return issuer::of(home_, home_->issuing()); }
    /// NCCL's failure, of an operation where there is one.
    void blame(const failure& why, const operation_state* which) noexcept;

    // On the lifecycle's.
    void destroy() noexcept;
    void abort() noexcept;
    void ended() noexcept;

    // On the progress loop, or where nobody runs it any more.
    void arrived_for_polling(operation_state& which) noexcept override;
    void came(operation_state& which, const failure* why) noexcept override;
    void forsaken(operation_state& which) noexcept override;
    void tend() noexcept;
    void dated() noexcept;
    void ask(time_point at) noexcept;
    operation_state* first_collective() const noexcept;
    void give_up() noexcept;
    void over_now() noexcept;
    void end_all(const std::optional<report>& why) noexcept;
    void drop(operation_state& which) noexcept;
    void progress_ended() noexcept;
    void rest_if_done() noexcept;

    /// With the guard.
    void post(detail::runnable& work) noexcept {
        if (progress_) progress_->post(work);
    }
    failure told(const report& why, const operation_state* which) const;
    time_point now() const;

    const nccl_table& nccl_;
    const nccl_settings how_;
    const stream stream_;
    const std::shared_ptr<device_state> home_;
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
    bool closing_ = false;
    bool is_over_ = false;
    bool told_ = false;  // everybody who waited has been told of the failure
    bool tend_posted_ = false, over_posted_ = false;
    time_point armed_ = no_deadline;  // what the timer is set for
    time_point start_by_ = no_deadline;
    time_point stuck_at_ = no_deadline;  // when what ends the communicator has taken too long
    std::vector<promise> idle_;
    std::optional<promise> starting_, closed_;
    std::shared_ptr<nccl_engine> self_, handing_over_;

    std::atomic<bool> failed_{false};
    std::atomic<std::size_t> on_device_{0};
    std::atomic<ncclComm_t> native_{nullptr};

    // Of the issuing loop.
    nccl_comm comm_;
    ncclUniqueId id_{};
    step step_ = step::none;
    operation_state* launched_ = nullptr;

    detail::callback<&nccl_engine::initialize> initialize_{*this};
    detail::callback<&nccl_engine::finalize> finalize_{*this};
    detail::callback<&nccl_engine::hand_over> hand_over_{*this};
    detail::callback<&nccl_engine::tend> tend_{*this};
    detail::callback<&nccl_engine::over_now> over_{*this};
    detail::alarm<&nccl_engine::dated> timer_{*this};
};

}  // namespace tutti::gpu
