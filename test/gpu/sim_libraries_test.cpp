// The simulator as libraries that a program loads while it runs: it knows the files' names and nothing else.
#include "gpu/tables.hpp"

#include <doctest/doctest.h>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace sim_libraries_test {

namespace {

template <class Function>
Function function_in(void* library, const char* name) {
    void* const found = ::dlsym(library, name);
    if (found == nullptr) ::_exit(9);
    return reinterpret_cast<Function>(found);
}

#define IN(library, symbol) function_in<decltype(&::symbol)>(library, TUTTI_TEXT(symbol))
#define TUTTI_TEXT(symbol) #symbol

/// Runs in a child, whose machine ends with it; its exit status.
template <class Body>
int in_a_child(Body body) {
    const pid_t child = ::fork();
    if (child == 0) {
        body();
        std::exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("both libraries speak of one machine, which ends with the program and tells what was wrong") {
    for (const bool leaks : {false, true}) {
        CAPTURE(leaks);
        const int status = in_a_child([leaks] {
            ::setenv("TUTTI_SIM_DEVICES", "2", 1);
            ::setenv("TUTTI_SIM_NCCL_VERSION", "22005", 1);
            void* const cuda = ::dlopen(std::getenv("SIMULATED_CUDA"), RTLD_NOW | RTLD_LOCAL);
            void* const nccl = ::dlopen(std::getenv("SIMULATED_NCCL"), RTLD_NOW | RTLD_LOCAL);
            if (cuda == nullptr || nccl == nullptr) ::_exit(1);
            int devices = 0, version = 0;
            if (IN(cuda, cuInit)(0) != CUDA_SUCCESS || IN(cuda, cuDeviceGetCount)(&devices) != CUDA_SUCCESS || devices != 2) ::_exit(2);
            if (IN(nccl, ncclGetVersion)(&version) != ncclSuccess || version != 22005) ::_exit(3);
            CUcontext context = nullptr;
            CUdeviceptr memory = 0;
            IN(cuda, cuDevicePrimaryCtxRetain)(&context, 1);
            IN(cuda, cuCtxSetCurrent)(context);
            if (IN(cuda, cuMemAlloc)(&memory, 4096) != CUDA_SUCCESS) ::_exit(4);
            if (!leaks) IN(cuda, cuMemFree)(memory);
            IN(cuda, cuDevicePrimaryCtxRelease)(1);
        });
        CHECK(status == (leaks ? 86 : 0));
    }
}

}  // namespace sim_libraries_test
