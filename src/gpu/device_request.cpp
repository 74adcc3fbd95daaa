#include "gpu/device_request.hpp"

#include <fmt/format.h>

namespace tutti::gpu {

const char* name(device_collective kind) noexcept {
    constexpr const char* names[] = {"all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter",
                                     "all_to_all", "gather", "scatter",   "barrier",    "exchange"};
    return names[static_cast<int>(kind)];
}

std::size_t device_request::total() const noexcept {
    if (parts.empty()) return listed ? 0 : count;
    std::size_t all = 0;
    for (const request_part& each : parts) all += each.count;
    return all;
}

void device_request::clear() noexcept {
    std::vector<request_part> room = std::move(parts);
    room.clear();
    *this = device_request();
    parts = std::move(room);
}

std::string to_string(const device_request& what) {
    if (what.kind == device_collective::barrier) return "barrier";
    if (what.kind == device_collective::exchange) {
        std::string all = "exchange of";
        for (const request_part& each : what.parts)
            all += fmt::format(" {} {} {} {}", each.count, name(each.type), each.from ? "to" : "from", each.peer);
        return all;
    }
    std::string all = fmt::format("{} {}", name(what.kind), name(what.type));
    if (reduces(what.kind)) all += fmt::format(" {}", name(what.op.kind()));
    if (what.listed) all += fmt::format(" of {} buffers", what.parts.size());
    all += fmt::format(" count {}", what.total());
    if (has_root(what.kind)) all += fmt::format(" root {}", what.root);
    return all;
}

}  // namespace tutti::gpu
