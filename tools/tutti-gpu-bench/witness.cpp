#include "witness.hpp"

#include <fmt/format.h>

#include <pthread.h>

#include <ctime>

namespace gpu_bench {
namespace {

double seconds_on(clockid_t clock) noexcept {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

double cpu_seconds_of_this_thread() noexcept { return seconds_on(CLOCK_THREAD_CPUTIME_ID); }

spinning_witness::spinning_witness(const tutti::gpu::device& where, tutti::duration most)
    : flag_(tutti::gpu::pinned_buffer<unsigned>::allocate(where, 1).value()),
      most_(most) {
    flag_[0] = 0;
    thread_ = std::thread([this] { watch(); });
}

spinning_witness::~spinning_witness() {
    stopping_ = true;
    thread_.join();
}

void spinning_witness::watch() {
    const std::atomic_ref<unsigned> flag(flag_[0]);
    unsigned last = 0;
    while (!stopping_.load(std::memory_order_relaxed)) {
        const unsigned now = flag.load(std::memory_order_acquire);
        if (now == last) continue;
        when_.store(std::chrono::steady_clock::now(), std::memory_order_relaxed);
        last_.store(last = now, std::memory_order_release);
    }
}

tutti::time_point spinning_witness::seen(unsigned value) {
    const auto end = std::chrono::steady_clock::now() + most_;
    while (last_.load(std::memory_order_acquire) != value) {
        if (std::chrono::steady_clock::now() > end)
            throw tutti::failure(tutti::error::timed_out,
                                 fmt::format("the device's flag is {} where {} was expected, after {:.3g} s",
                                             last_.load(std::memory_order_acquire), value, std::chrono::duration<double>(most_).count()));
        std::this_thread::yield();
    }
    return when_.load(std::memory_order_relaxed);
}

double spinning_witness::cpu_seconds() const {
    clockid_t clock{};
    return ::pthread_getcpuclockid(thread_.native_handle(), &clock) == 0 ? seconds_on(clock) : 0;
}

}  // namespace gpu_bench
