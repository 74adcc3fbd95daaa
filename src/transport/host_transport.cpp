#include "transport/host_transport.hpp"

#include <fmt/format.h>

#include <optional>

namespace tutti {

/// Returns whether an error ends the call, and not only the attempt through shared memory.
static bool ends_all(std::error_code why) noexcept { return why == error::timed_out || why == error::cancelled || why == error::closed; }

host_transport::host_transport(event_loop& loop, std::unique_ptr<tcp_transport> far, std::unique_ptr<shm_transport> near,
                               std::function<void(const std::string&)> tell)
    : far_(std::move(far)),
      near_(std::move(near)),
      tell_(std::move(tell)),
      entrance_(loop, {&near_->door(), &far_->door()}) {}

task<result<std::unique_ptr<link>>> host_transport::connect(std::string address, time_point deadline) {
    const auto space = address.find(' ');
    const std::string near = space == std::string::npos ? "" : address.substr(space + 1);
    std::optional<failure> why;
    if (near_->door().open() && near_->reaches(near)) {
        auto made = co_await near_->queue_up(near, deadline);
        if (made || ends_all(made.failure().code())) co_return made;
        why = made.failure();
    }
    auto made = co_await far_->connect(address, deadline);
    // A peer that TCP does not reach either is not there, and the shared memory is not to blame.
    if (made && why && !std::exchange(told_, true))
        tell_(fmt::format("no shared memory with {}, but TCP: {}", address, why->details().cause));
    co_return made;
}

void host_transport::close() noexcept {
    far_->close();
    near_->close();
    entrance_.close();
}

}  // namespace tutti
