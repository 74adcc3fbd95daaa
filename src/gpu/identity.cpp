#include "gpu/identity.hpp"

#include "gpu/libraries.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace tutti::gpu {
namespace {

failure no_answer(const driver_table& driver, int ordinal, std::string_view call, CUresult code) {
    return failure(error::device_failed, fmt::format("device {}: {}: {}", ordinal, call, text_of(driver, code)));
}

std::string text_of_uuid(const CUuuid& id) {
    std::string text = "GPU-";
    for (std::size_t i = 0; i < sizeof id.bytes; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += fmt::format("{:02x}", static_cast<unsigned char>(id.bytes[i]));
    }
    return text;
}

}  // namespace

result<identity> identify(const driver_table& driver, int ordinal) {
    int count = 0;
    if (const CUresult code = driver.cuDeviceGetCount(&count); code != CUDA_SUCCESS)
        return no_answer(driver, ordinal, "cuDeviceGetCount", code);
    if (ordinal < 0 || ordinal >= count)
        return failure(error::invalid_argument, fmt::format("there is no device {}: this host has {}", ordinal, count));
    identity known;
    if (const CUresult code = driver.cuDeviceGet(&known.handle, ordinal); code != CUDA_SUCCESS)
        return no_answer(driver, ordinal, "cuDeviceGet", code);
    std::array<char, 256> text{};
    if (const CUresult code = driver.cuDeviceGetName(text.data(), static_cast<int>(text.size()), known.handle); code != CUDA_SUCCESS)
        return no_answer(driver, ordinal, "cuDeviceGetName", code);
    known.name = text.data();
    if (const CUresult code = driver.cuDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), known.handle); code != CUDA_SUCCESS)
        return no_answer(driver, ordinal, "cuDeviceGetPCIBusId", code);
    known.bus = text.data();
    CUuuid id{};
    if (const CUresult code = driver.cuDeviceGetUuid(&id, known.handle); code != CUDA_SUCCESS)
        return no_answer(driver, ordinal, "cuDeviceGetUuid", code);
    known.uuid = text_of_uuid(id);
    return known;
}

}  // namespace tutti::gpu
