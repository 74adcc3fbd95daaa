#include "gpu/libraries.hpp"

#include "fakes.hpp"

#include <doctest/doctest.h>

#include <dlfcn.h>

#include <algorithm>
#include <string>
#include <vector>

namespace libraries_test {

using namespace tutti;
using namespace tutti::gpu;

namespace {

struct attempt {
    const char* kind;
    const char* reason;  // a piece of it; null: it is usable
};

}  // namespace

TEST_CASE("a driver is taken, or refused with a reason that names its file") {
    constexpr attempt rows[] = {
        {"sound", nullptr},
        {"without_optional", nullptr},
        {"zero_devices", nullptr},
        {"old", "is too old: it serves CUDA 11.8, and 12.0 is needed"},
        {"without_required", "lacks cuEventQuery"},
        {"no_device", "does not start: CUDA_ERROR_NO_DEVICE"},
        {"unknown_error", "does not start: CUDA_ERROR_UNKNOWN"},
        {"stub", "does not tell its version: CUDA error 34"},
    };
    for (const attempt& row : rows) {
        CAPTURE(row.kind);
        const std::string path = fake(row.kind);
        const variable named("TUTTI_CUDA_LIBRARY", path);
        const auto found = load_driver();
        CHECK(found.from.path == path);
        CHECK(found.from.origin == "TUTTI_CUDA_LIBRARY");
        CHECK(static_cast<bool>(found) == (row.reason == nullptr));
        if (!row.reason) {
            CHECK(found.version == "12.4");
            CHECK((found.table.cuEventQuery != nullptr));
            continue;
        }
        REQUIRE(found.why_not);
        CHECK(found.why_not->code() == error::unsupported);
        CHECK(contains(std::string(found.why_not->what()), row.reason));
        CHECK(contains(std::string(found.why_not->what()), path));
    }
}

TEST_CASE("NCCL is taken, or refused with a reason that names its file") {
    constexpr attempt rows[] = {
        {"sound", nullptr},
        {"without_optional", nullptr},
        {"old", "is too old: it is NCCL 2.17.3, and 2.18.0 is needed"},
        {"without_required", "lacks ncclAllReduce"},
        {"stub", "does not tell its version: NCCL error 1"},
    };
    for (const attempt& row : rows) {
        CAPTURE(row.kind);
        const std::string path = fake(row.kind);
        const variable named("TUTTI_NCCL_LIBRARY", path);
        const auto found = load_nccl();
        CHECK(static_cast<bool>(found) == (row.reason == nullptr));
        if (!row.reason) {
            CHECK(found.version == "2.28.9");
            continue;
        }
        REQUIRE(found.why_not);
        CHECK(contains(std::string(found.why_not->what()), row.reason));
        CHECK(contains(std::string(found.why_not->what()), path));
    }
}

TEST_CASE("what is optional may be missing, is null then, and is told") {
    const variable driver_named("TUTTI_CUDA_LIBRARY", fake("without_optional"));
    const variable nccl_named("TUTTI_NCCL_LIBRARY", fake("without_optional"));
    const auto cuda = load_driver();
    CHECK(cuda.missing == std::vector<std::string>{"cuMemAllocAsync"});
    CHECK((cuda.table.cuMemAllocAsync == nullptr));
    CHECK((cuda.table.cuMemFreeAsync != nullptr));
    const auto found = load_nccl();
    CHECK(found.missing == std::vector<std::string>{"ncclCommShrink", "ncclAlltoAll"});
    CHECK((found.table.ncclAlltoAll == nullptr));
    CHECK((found.table.ncclCommSplit != nullptr));
}

TEST_CASE("a library that is not there, or is not named by an absolute path, is refused in the loader's words or ours") {
    {
        const variable named("TUTTI_CUDA_LIBRARY", "/nowhere/libcuda.so.1");
        const auto found = load_driver();
        REQUIRE(found.why_not);
        CHECK(contains(std::string(found.why_not->what()), "TUTTI_CUDA_LIBRARY=/nowhere/libcuda.so.1 cannot be loaded"));
        CHECK(contains(std::string(found.why_not->what()), "No such file"));
    }
    {
        const variable named("TUTTI_CUDA_LIBRARY", "libcuda.so.1");
        const auto found = load_driver();
        REQUIRE(found.why_not);
        CHECK(contains(std::string(found.why_not->what()), "it takes an absolute path"));
    }
}

TEST_CASE("a library that another part of the program has loaded is used, and that is told") {
    const std::string path = fake("sound");
    void* before = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // it calls itself libcuda.so.1
    REQUIRE(before != nullptr);
    const auto found = load_driver();
    CHECK(found);
    CHECK(found.from.path == path);
    CHECK(found.from.origin == "loaded before by another part of the program");
    ::dlclose(before);
}

}  // namespace libraries_test
