#include "written_flag.hpp"

#include "gpu/device_state.hpp"

#include <tutti/event_loop.hpp>
#include <tutti/sleep.hpp>

#include <fmt/format.h>

#include <atomic>
#include <chrono>

namespace gpu_bench {

using namespace tutti;

/// The time between two questions whether the device has failed, while a value is late.
constexpr duration between_questions = std::chrono::seconds(1);

written_flag::written_flag(const gpu::device& where, duration most)
    : word_(gpu::pinned_buffer<unsigned>::allocate(where, 1).value()),
      most_(most) {
    if (where.inner()->driver().cuStreamWriteValue32 == nullptr)
        throw failure(error::unsupported, "this driver has no cuStreamWriteValue32");
    word_[0] = 0;
    CUdeviceptr address = 0;
    const auto found = where.inner()->call("cuMemHostGetDevicePointer", [&](const gpu::driver_table& driver) {
        return driver.cuMemHostGetDevicePointer(&address, word_.data(), 0);
    });
    if (!found) throw found.failure();
    address_ = address;
}

void written_flag::enqueue(const gpu::stream& on, unsigned value) const {
    const auto done = on.on().inner()->call("cuStreamWriteValue32", [&](const gpu::driver_table& driver) {
        return driver.cuStreamWriteValue32(on.handle(), address_, value, 0);
    });
    if (!done) throw done.failure();
}

bool written_flag::is(unsigned value) const noexcept {
    return std::atomic_ref<unsigned>(word_[0]).load(std::memory_order_acquire) == value;
}

task<> written_flag::written(const gpu::stream& by, unsigned value, duration length) const {
    event_loop& loop = co_await this_loop;
    const time_point end = loop.now() + length + most_;
    time_point ask = loop.now() + length + between_questions;
    while (!is(value)) {
        const time_point now = loop.now();
        if (now > ask) {
            if (const auto asked = by.record(); !asked) throw asked.failure();
            ask = now + between_questions;
        }
        if (now > end)
            throw failure(error::timed_out, fmt::format("the stream has not written {} within {:.3g} s", value,
                                                        std::chrono::duration<double>(length + most_).count()));
        co_await yield();
    }
}

}  // namespace gpu_bench
