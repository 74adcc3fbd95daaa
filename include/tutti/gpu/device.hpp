// A GPU of this process: what memory, streams and events belong to.
#pragma once

#include <tutti/result.hpp>
#include <tutti/types.hpp>

#include <memory>
#include <optional>
#include <string>

namespace [[gnu::visibility("default")]] tutti {
namespace gpu {

class device_state;

/// How the host learns that an event has come.
enum class poll_mode : std::uint8_t {
    adaptive,       // asks often while it is soon, seldom while it is not, and has itself called when it takes long
    spin,           // asks without a pause, as long as anything is pending
    timer,          // asks at dates that grow apart
    host_function,  // has itself called by the driver, and looks at long intervals in case it is not
    thread,         // as adaptive, on a thread of the device's own: for loops that are busy, or a program that blocks the driver
};

struct device_options {
    poll_mode polling = poll_mode::adaptive;
    duration hot = std::chrono::microseconds(200);      // of asking without a pause after something has been issued, or has come
    duration shortest = std::chrono::microseconds(50);  // between two questions
    duration longest = std::chrono::milliseconds(1);
    duration cold = std::chrono::milliseconds(5);       // without news; from then on the driver is asked to call
    duration watchdog = std::chrono::milliseconds(10);  // between two questions when the driver is to call
    duration stuck = std::chrono::seconds(30);          // of one blocking call to the driver; what would follow it is then leaked
};

/// A handle that copies share. The device's primary context is kept from `open` until the last handle, and whatever was made with one, is
/// gone; freeing and destroying is done by a thread of the device's. Opened once, and copied where more handles are needed: each `open` has
/// threads of its own, and operations of communicators on different ones are in no order among each other.
class device {
public:
    /// By its number among those the driver shows. error::unsupported without a driver, error::invalid_argument without such a device.
    static result<device> open(int ordinal, device_options options = {});

    int ordinal() const noexcept;
    const std::string& name() const noexcept;
    /// Of the device, not of its number: "GPU-" and what nvidia-smi says.
    const std::string& uuid() const noexcept;
    const std::string& bus() const noexcept;
    /// The first error that leaves the device of no use to this process. All that was pending has ended with it, and all that is called fails.
    std::optional<failure> fault() const;

    explicit device(std::shared_ptr<device_state> state) noexcept : state_(std::move(state)) {}
    const std::shared_ptr<device_state>& inner() const noexcept { return state_; }

private:
    std::shared_ptr<device_state> state_;
};

}  // namespace gpu
}  // namespace tutti
