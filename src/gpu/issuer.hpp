// The one place of a device where calls are made of which one at a time may be made: whose turn it is, and who is asked again later.
#pragma once

#include "gpu/operation_state.hpp"
#include "runtime/fine_timer.hpp"

#include <tutti/event_loop.hpp>

#include <memory>
#include <vector>

namespace tutti::gpu {

/// Somebody who makes such calls. On the issuing loop, with the device current.
class issuing {
public:
    /// Whether the operation is done with here: it is on its stream, or it has failed. Otherwise `proceed` is asked again.
    virtual bool launch(operation_state& which) noexcept = 0;
    virtual bool proceed() noexcept = 0;
    /// Whether there is still something to look after.
    virtual bool look_after() noexcept = 0;

protected:
    ~issuing() = default;
};

/// One for each device, on its issuing loop, and used there only.
///
/// Operations of all communicators are launched in the order in which they come, and the next not before the one before it is on its stream:
/// the order on the device is that of the calls. While one is in progress it is asked for without a pause for a moment, then at dates that
/// grow apart.
class issuer final {
public:
    static constexpr duration without_pause = std::chrono::microseconds(20);
    static constexpr duration shortest = std::chrono::microseconds(50);
    static constexpr duration longest = std::chrono::milliseconds(1);
    static constexpr duration looking = std::chrono::milliseconds(1);  // between two looks after those with work on the device

    static issuer& of(const std::shared_ptr<device_state>& device, event_loop& loop);
    issuer(event_loop& loop, device_state& device) noexcept : loop_(loop), device_(device), timer_(loop, dated_) {}
    issuer(const issuer&) = delete;
    issuer& operator=(const issuer&) = delete;

    void add(issuing& who, operation_state& which);
    /// `proceed` is asked until it says that it is done, whatever else goes on meanwhile: for what waits for other ranks.
    void await(issuing& who);
    /// `look_after` is called now and then until it says that it is done.
    void watch(issuing& who);
    /// Nothing more is called of it, and its operations are forgotten.
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
    issuing* launched_ = nullptr;  // whose operation is in progress
    bool driving_ = false;
    std::vector<issuing*> waiting_, watched_;
    duration interval_ = shortest;
    time_point next_look_ = no_deadline;
    detail::callback<&issuer::dated> dated_{*this};
    fine_timer timer_;
};

}  // namespace tutti::gpu
