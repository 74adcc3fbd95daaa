#include "device/parameters.hpp"

#include "gpu/device_pointer.hpp"
#include "validation/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace tutti::gpu {

std::vector<tutti::parameter> on_the_host(std::span<const parameter> parameters) {
    std::vector<tutti::parameter> same;
    for (const parameter& each : parameters) {
        if (each.gradient.type > device_type::opaque)
            throw failure(error::unsupported,
                          fmt::format("parameter '{}' is of type {}, which has no average", each.name, name(each.gradient.type)));
        same.emplace_back(each.name, buffer(each.gradient.data, each.gradient.count, of_host(each.gradient.type)));
    }
    return same;
}

void check_parameters(device_group& of, std::span<const tutti::parameter> parameters, reduce_op op) {
    const auto refuse = [](error code, const tutti::parameter& which, std::string_view why) {
        throw failure(code, fmt::format("parameter '{}': {}", which.name, why));
    };
    device_request sample;
    sample.kind = device_collective::all_reduce;
    sample.op = op;
    std::vector<const tutti::parameter*> placed;
    for (const tutti::parameter& each : parameters) {
        sample.type = of_device(each.gradient.type);
        if (const auto cannot = of.engine->cannot(sample)) refuse(error::unsupported, each, *cannot);
        if (!each.gradient.data || each.gradient.count == 0) continue;
        if (const auto wrong = tutti::detail::check_memory("gradient", each.gradient)) refuse(error::invalid_argument, each, *wrong);
        if (of.card)
            if (const auto wrong = check_device_memory(*of.card->inner(), "gradient", each.gradient.data))
                refuse(error::invalid_argument, each, *wrong);
        placed.push_back(&each);
    }
    const auto begin = [](const tutti::parameter* which) { return static_cast<const std::byte*>(which->gradient.data); };
    std::sort(placed.begin(), placed.end(), [&](auto* one, auto* other) { return std::less<>()(begin(one), begin(other)); });
    for (std::size_t next = 1; next < placed.size(); ++next)
        if (begin(placed[next]) < begin(placed[next - 1]) + placed[next - 1]->gradient.bytes())
            refuse(error::invalid_argument, *placed[next], fmt::format("its gradient overlaps that of '{}'", placed[next - 1]->name));
}

}  // namespace tutti::gpu
