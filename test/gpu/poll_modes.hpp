// All ways to learn that an event has come.
#pragma once

#include <tutti/gpu/device.hpp>

namespace tutti::test {

inline constexpr gpu::poll_mode poll_modes[] = {gpu::poll_mode::adaptive, gpu::poll_mode::spin, gpu::poll_mode::timer,
                                                gpu::poll_mode::host_function, gpu::poll_mode::thread};

inline gpu::device_options polled(gpu::poll_mode mode) {
    gpu::device_options options;
    options.polling = mode;
    return options;
}

}  // namespace tutti::test
