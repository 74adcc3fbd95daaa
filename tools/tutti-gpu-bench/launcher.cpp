#include "launcher.hpp"

#include <chrono>

namespace gpu_bench {

launcher::launcher(const workload& device)
    : device_(device),
      stream_(tutti::gpu::stream::make(device.where()).value()),
      thread_([this] { launch_all(); }) {}

launcher::~launcher() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
}

launch_count launcher::stop() {
    stopping_ = true;
    thread_.join();
    if (why_not_) throw *why_not_;
    return count_;
}

void launcher::launch_all() {
    try {
        do launch_burst();
        while (!stopping_);
    } catch (const tutti::failure& why) {
        why_not_ = why;
    }
}

void launcher::launch_burst() {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < burst; ++i) device_.nothing(stream_);
    count_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    count_.launches += burst;
    if (const auto through = stream_.synchronize(); !through) throw through.failure();
}

}  // namespace gpu_bench
