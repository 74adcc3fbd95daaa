// The order in which the communicators of one device call NCCL: whose turn it is, and which one is asked again later.
#pragma once

#include "gpu/operation_state.hpp"
#include "runtime/fine_timer.hpp"

#include <tutti/event_loop.hpp>

#include <memory>
#include <vector>

namespace tutti::gpu {

/// A caller of NCCL, which is an nccl_carrier. All functions are called on the issuing loop, with the device current.
class issuing {
public:
    /// Launches an operation. Returns whether it is on its stream or has failed; otherwise `proceed` is called until it returns true.
    virtual bool launch(operation_state& which) noexcept = 0;
    virtual bool proceed() noexcept = 0;
    /// Looks for errors while work is on the device. Returns whether there is still work to look after.
    virtual bool look_after() noexcept = 0;

protected:
    ~issuing() = default;
};

/// One for each device, a loop-local value of its issuing loop, and used on that loop only. nccl_carrier calls it.
///
/// It launches the operations of all communicators in the order in which they come, each when the one before it is on its stream. So the order on the
/// device is the order of the calls, and NCCL's own threads do not decide it. While a launch is in progress the issuer asks without a pause at first,
/// then at growing intervals. It never combines operations that happen to be ready together, because ranks could differ in that.
class issuer final {
public:
    static constexpr duration without_pause = std::chrono::microseconds(20);  // most launches are ready within it
    static constexpr duration shortest = std::chrono::microseconds(50);       // the first interval behind that
    static constexpr duration longest = std::chrono::milliseconds(1);         // intervals double up to this
    static constexpr duration looking = std::chrono::milliseconds(1);         // between two calls of look_after

    static issuer& of(const std::shared_ptr<device_state>& device, event_loop& loop);
    issuer(event_loop& loop, device_state& device) noexcept : loop_(loop), device_(device), timer_(loop, dated_) {}
    issuer(const issuer&) = delete;
    issuer& operator=(const issuer&) = delete;

    void add(issuing& who, operation_state& which);
    /// Calls `proceed` until it returns true, while other communicators go on: for calls that wait for other ranks, such as the initialization.
    void await(issuing& who);
    /// Calls `look_after` every `looking` until it returns false.
    void watch(issuing& who);
    /// Calls nothing of `who` any more, and forgets its operations.
    void remove(issuing& who);

private:
    void drive();
    void ask_waiting();
    void look();
    void go_on();
    void rest();
    void dated() noexcept;

    event_loop& loop_;
    device_state& device_;
    linked_queue<operation_state, &operation_state::queued> queue_;
    issuing* launched_ = nullptr;  // the caller whose operation is in progress
    bool driving_ = false;
    std::vector<issuing*> waiting_, watched_;
    duration interval_ = shortest;
    time_point next_look_ = no_deadline;
    detail::callback<&issuer::dated> dated_{*this};
    fine_timer timer_;
};

}  // namespace tutti::gpu
