#include <tutti/detail/build.hpp>
#include <tutti/gpu/availability.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#if TUTTI_GPU
#include "gpu/availability.hpp"
#include "gpu/identity.hpp"
#endif

namespace tutti::gpu {
#if TUTTI_GPU
namespace {

template <class Table>
library_report told_of(const loaded<Table>& found) {
    library_report told;
    told.usable = static_cast<bool>(found);
    told.path = found.from.path;
    told.version = found.version;
    told.origin = found.from.origin;
    told.missing = found.missing;
    if (found.why_not) told.reason = found.why_not->what();
    return told;
}

}  // namespace

availability_report availability_of(const loaded<driver_table>& driver, const loaded<nccl_table>& nccl) {
    availability_report all;
    all.built = true;
    all.driver = told_of(driver);
    all.nccl = told_of(nccl);
    if (!driver) return all;
    int count = 0;
    if (const CUresult code = driver.table.cuDeviceGetCount(&count); code != CUDA_SUCCESS || count == 0) {
        all.driver.usable = false;
        all.driver.reason = code == CUDA_SUCCESS ? "there is no device" : "it does not count its devices: " + text_of(driver.table, code);
        return all;
    }
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        auto known = identify(driver.table, ordinal);
        if (known) all.devices.push_back({ordinal, known->name, known->uuid, known->bus});
        else all.devices.push_back({ordinal, known.failure().what(), "", ""});
    }
    return all;
}

availability_report availability() { return availability_of(driver(), nccl()); }
#else
availability_report availability() { return {}; }
#endif

namespace {

std::string line_of(const char* title, const library_report& what) {
    std::string text = fmt::format("{}: ", title);
    if (!what.version.empty()) text += fmt::format("{}, ", what.version);
    if (!what.path.empty()) text += fmt::format("{} ({}), ", what.path, what.origin);
    text += what.usable ? "usable" : fmt::format("not usable: {}", what.reason);
    if (!what.missing.empty()) text += fmt::format("; without {}", fmt::join(what.missing, ", "));
    return text + "\n";
}

}  // namespace

std::string to_string(const availability_report& what) {
    if (!what.built) return "built without CUDA and NCCL: memory of devices is not supported\n";
    std::string text = line_of("CUDA driver", what.driver) + line_of("NCCL", what.nccl);
    for (const device_report& each : what.devices)
        text += fmt::format("device {}: {}, {}, {}\n", each.ordinal, each.name, each.uuid, each.bus);
    return text;
}

}  // namespace tutti::gpu
