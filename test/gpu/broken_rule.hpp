// A rule of the simulated driver or NCCL, how to break it, and the sentence that must be said then.
#pragma once

#include "gpu/sim/machine.hpp"

#include <functional>
#include <thread>

namespace tutti::test {

/// `On` is what the test has made on the machine.
template <class On>
struct broken_rule {
    const char* name;
    std::function<void(gpu::sim::machine&, On&)> act;
    const char* sentence;
};

inline void on_another_thread(gpu::sim::machine& machine, const char* name, const std::function<void()>& work) {
    std::thread([&] {
        machine.name_thread(name);
        work();
    }).join();
}

}  // namespace tutti::test
