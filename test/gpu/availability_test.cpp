#include "gpu/availability.hpp"

#include "fakes.hpp"

#include <doctest/doctest.h>

#include <string>

namespace availability_test {

using namespace tutti;
using namespace tutti::gpu;

namespace {

availability_report look(const char* driver_kind, const char* nccl_kind) {
    const variable driver_named("TUTTI_CUDA_LIBRARY", fake(driver_kind));
    const variable nccl_named("TUTTI_NCCL_LIBRARY", fake(nccl_kind));
    return availability_of(load_driver(), load_nccl());
}

}  // namespace

TEST_CASE("availability lists the devices and what the libraries lack") {
    const auto all = look("sound", "without_optional");
    CHECK(all.built);
    CHECK(all.driver.usable);
    CHECK(all.nccl.usable);
    REQUIRE(all.devices.size() == 2);
    CHECK(all.devices[1].ordinal == 1);
    CHECK(all.devices[1].name == "a fake");
    CHECK(all.devices[1].bus == "0000:0f:00.0");
    CHECK(all.devices[1].uuid == "GPU-abababab-abab-abab-abab-abababababab");
    const std::string text = to_string(all);
    CHECK(contains(text, "CUDA driver: 12.4, " + fake("sound") + " (TUTTI_CUDA_LIBRARY), usable\n"));
    CHECK(contains(text, "usable; without ncclCommShrink, ncclAlltoAll\n"));
    CHECK(contains(text, "device 0: a fake, GPU-abababab"));
}

TEST_CASE("availability says why there are no devices") {
    const auto none = look("zero_devices", "sound");
    CHECK_FALSE(none.driver.usable);
    CHECK(none.driver.reason == "there is no device");
    CHECK(none.nccl.usable);
    const auto old = look("old", "old");
    CHECK(old.devices.empty());
    CHECK(old.driver.version == "11.8");
    CHECK(contains(to_string(old), "not usable: "));
    CHECK(contains(to_string(old), "is too old"));
}

TEST_CASE("a build without device memory says that and nothing else") {
    CHECK(to_string(availability_report()) == "built without CUDA and NCCL: memory of devices is not supported\n");
}

}  // namespace availability_test
