#include "gpu/sim/stand_alone.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace tutti::gpu::sim {
namespace {

int number(const char* variable, int otherwise) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? otherwise : std::atoi(text);
}

options from_environment() {
    options how;
    how.engine = engine::threaded;
    how.devices = number("TUTTI_SIM_DEVICES", how.devices);
    how.driver_version = number("TUTTI_SIM_DRIVER_VERSION", how.driver_version);
    how.nccl_version = number("TUTTI_SIM_NCCL_VERSION", how.nccl_version);
    return how;
}

/// A program that loads a machine cannot offer it kernels: a library of its tests does.
void offer_kernels(machine& to) {
    const char* const path = std::getenv("TUTTI_SIM_KERNELS");
    if (path == nullptr) return;
    void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void* const offer = library == nullptr ? nullptr : ::dlsym(library, "tutti_offer_kernels");
    if (offer == nullptr) {
        std::fprintf(stderr, "TUTTI_SIM_KERNELS: %s\n", ::dlerror());
        ::_exit(86);
    }
    reinterpret_cast<void (*)(machine&)>(offer)(to);
}

struct stand_alone {
    machine made{from_environment()};
    stand_alone() { offer_kernels(made); }
    ~stand_alone() {
        await_return();
        const std::string wrong = made.end();
        if (wrong.empty()) return;
        std::fprintf(stderr, "simulated device:\n%s", wrong.c_str());
        std::fflush(nullptr);
        ::_exit(86);
    }
    /// A device's own threads give it back, which may be after main() has ended.
    void await_return() const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (made.calls("cuDevicePrimaryCtxRelease") < made.calls("cuDevicePrimaryCtxRetain") && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
};

}  // namespace

machine& machine_or_stand_alone() {
    if (machine* const living = machine::current()) return *living;
    static stand_alone only;
    return only.made;
}

}  // namespace tutti::gpu::sim
