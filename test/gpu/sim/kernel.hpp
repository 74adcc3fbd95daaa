// Kernels that a simulated machine has: their code is the host's, their parameters are those of a launch.
#pragma once

#include "gpu/sim/work.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace tutti::gpu::sim {

/// One launch. Parameters are copied when it is made, as a driver does.
struct kernel_launch {
    std::array<unsigned, 3> blocks{}, threads{};
    std::vector<std::vector<std::byte>> parameters;

    template <class T>
    T parameter(std::size_t index) const {
        T value;
        std::memcpy(&value, parameters.at(index).data(), sizeof value);
        return value;
    }
};

/// A launch, as its stream knows it.
struct kernel_work {
    duration length{};
    std::function<void()> body;  // when its time is over
    std::vector<touch> touches;
};

struct kernel {
    std::string name;
    std::vector<std::size_t> parameter_bytes;
    std::function<kernel_work(const kernel_launch&)> begin;
};

/// Code that was loaded: it has all kernels of the machine, whatever the image.
struct loaded_code {
    const void* image = nullptr;
    context* home = nullptr;
    bool unloaded = false;
};

struct function {
    loaded_code* from = nullptr;
    const sim::kernel* what = nullptr;
};

}  // namespace tutti::gpu::sim
