// A simulated machine and a device of it, in virtual time on one loop, or in real time with threads; all that was made is given back.
#pragma once

#include "gpu/device_state.hpp"
#include "gpu/sim/checked_machine.hpp"

#include <tutti/event_loop.hpp>
#include <tutti/gpu/device.hpp>
#include <tutti/gpu/stream.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <utility>

namespace tutti::test {

/// Everything happens on the test's loop, whose clock is the machine's.
class stepped_stage {
public:
    explicit stepped_stage(gpu::device_options options = {}, gpu::sim::options how = {})
        : machine(std::move(how)),
          driver(machine.driver()) {
        machine.drive(loop);
        opened.emplace(gpu::open_device(driver, 0, options, places()).value());
    }

    stepped_stage(const stepped_stage&) = delete;
    stepped_stage& operator=(const stepped_stage&) = delete;
    /// Frees and destroys on the loop what is to be freed and destroyed.
    ~stepped_stage() {
        opened.reset();
        loop.run();
    }

    gpu::device_places places() { return {&loop, &loop, &loop}; }
    gpu::device& device() { return *opened; }
    gpu::stream stream() { return gpu::stream::make(*opened).value(); }
    void kernel(const gpu::stream& where, duration length, std::function<void()> body = {}) {
        const gpu::on_device here(driver, opened->inner()->context());
        machine.launch(where.handle(), length, std::move(body));
    }
    std::size_t queries() const { return machine.calls("cuEventQuery"); }

    event_loop loop{event_loop::virtual_time};
    gpu::sim::checked_machine machine;
    const gpu::driver_table driver;
    std::optional<gpu::device> opened;
};

inline gpu::sim::options threaded_machine() {
    gpu::sim::options how;
    how.engine = gpu::sim::engine::threaded;
    return how;
}

/// Real time: a thread for each stream, the device's own threads, and a loop for the test.
class threaded_stage {
public:
    explicit threaded_stage(gpu::device_options options = {}) : machine(threaded_machine()), driver(machine.driver()) {
        opened.emplace(gpu::open_device(driver, 0, options).value());
    }

    gpu::device& device() { return *opened; }
    gpu::stream stream() { return gpu::stream::make(*opened).value(); }
    void kernel(const gpu::stream& where, duration length, std::function<void()> body = {}) {
        const gpu::on_device here(driver, opened->inner()->context());
        machine.launch(where.handle(), length, std::move(body));
    }
    std::size_t queries() const { return machine.calls("cuEventQuery"); }

    gpu::sim::checked_machine machine;
    const gpu::driver_table driver;
    event_loop loop;
    std::optional<gpu::device> opened;
};

}  // namespace tutti::test
