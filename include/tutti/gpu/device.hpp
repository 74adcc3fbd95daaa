// A GPU of this process, to which memory, streams and events belong.
#pragma once

#include <tutti/result.hpp>
#include <tutti/types.hpp>

#include <memory>
#include <optional>
#include <string>

namespace [[gnu::visibility("default")]] tutti {
namespace gpu {

class device_state;

/// Selects how the host learns that the device has reached an event.
enum class poll_mode : std::uint8_t {
    adaptive,       // polls often while an event is near, seldom while it is far, and uses a host function if it takes long
    spin,           // polls without a pause while anything is pending
    timer,          // polls at intervals that grow
    host_function,  // is called by the driver, and polls at long intervals in case that fails
    thread,         // like adaptive, on a thread of the device's own: for busy loops, or a program that blocks the driver
};

/// How the device's end of an operation is noticed, and how long the driver may take.
struct device_options {
    poll_mode polling = poll_mode::adaptive;
    duration hot = std::chrono::microseconds(200);      // polls without a pause for so long after an operation or an event
    duration shortest = std::chrono::microseconds(50);  // first interval between two polls
    duration longest = std::chrono::milliseconds(1);
    duration cold = std::chrono::milliseconds(5);       // time without an event after which the driver is asked to call
    duration watchdog = std::chrono::milliseconds(10);  // interval between two polls when the driver is to call
    duration stuck = std::chrono::seconds(30);          // limit of one blocking call to the driver; later work behind it is then leaked
};

/// A handle that copies share. The device's primary context is kept from `open` until the last handle, and everything made with one, is
/// gone. A thread of the device's frees and destroys. Open a device once and copy the handle: each `open` has threads of its own, and
/// operations of communicators on different ones have no order among each other.
class device {
public:
    /// Opens a device by the driver's number. error::unsupported without a driver, error::invalid_argument without such a device.
    static result<device> open(int ordinal, device_options options = {});

    int ordinal() const noexcept;
    const std::string& name() const noexcept;
    /// Returns the identity of the device itself, not of its number: "GPU-" and more, as in nvidia-smi.
    const std::string& uuid() const noexcept;
    const std::string& bus() const noexcept;
    /// Returns the first error that made the device unusable in this process. All pending work has ended with it, and every later call
    /// fails.
    std::optional<failure> fault() const;

    explicit device(std::shared_ptr<device_state> state) noexcept : state_(std::move(state)) {}
    const std::shared_ptr<device_state>& inner() const noexcept { return state_; }

private:
    std::shared_ptr<device_state> state_;
};

}  // namespace gpu
}  // namespace tutti
