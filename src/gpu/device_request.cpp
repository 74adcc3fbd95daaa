#include "gpu/device_request.hpp"

#include "base/bytes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tutti::gpu {

const char* name(device_collective kind) noexcept {
    constexpr const char* names[] = {"all_reduce", "reduce",  "broadcast", "all_gather", "reduce_scatter", "all_to_all",
                                     "gather",     "scatter", "barrier",   "split",      "exchange",       "shrink"};
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

// The number of a list's buffers, so that it can be told, above a digest of their sizes.
constexpr int sizes_bits = 40;
constexpr std::uint64_t sizes_mask = (std::uint64_t{1} << sizes_bits) - 1;

call_signature describe(const device_request& what) noexcept {
    call_signature made;
    made.kind = static_cast<std::uint8_t>(what.kind);
    made.type = static_cast<std::uint8_t>(what.type);
    if (reduces(what.kind)) made.op = static_cast<std::uint8_t>(what.op.kind());
    if (has_root(what.kind)) made.root = what.root;
    if (what.type == device_type::opaque) made.opaque_bytes = static_cast<std::uint32_t>(what.opaque_bytes);
    made.count = what.total();
    if (!what.listed) return made;
    std::uint64_t sizes = digest_of("list");
    for (const request_part& each : what.parts) sizes = digest_of(each.count, sizes);
    made.digest = std::uint64_t{what.parts.size()} << sizes_bits | std::max<std::uint64_t>(1, sizes & sizes_mask);
    return made;
}

/// The numbers may come from another program, so one without a name is shown as a number.
std::string words_of(const call_signature& what, bool with_sizes) {
    const auto kind = static_cast<device_collective>(what.kind);
    if (kind >= device_collective::exchange) return fmt::format("operation {}", what.kind);
    std::string all = name(kind);
    if (kind == device_collective::barrier || kind == device_collective::split) return all;
    if (what.type < device_type_count) all += fmt::format(" {}", name(static_cast<device_type>(what.type)));
    if (what.opaque_bytes != 0) all += fmt::format("({} bytes)", what.opaque_bytes);
    if (reduces(kind) && what.op < reduce_op_count) all += fmt::format(" {}", name(static_cast<reduce_op>(what.op)));
    if (what.digest != 0) all += fmt::format(" of {} buffers", what.digest >> sizes_bits);
    all += fmt::format(" count {}", what.count);
    if (has_root(kind)) all += fmt::format(" root {}", what.root);
    if (with_sizes) all += fmt::format(" (sizes {:010x})", what.digest & sizes_mask);
    return all;
}

std::string to_string(const device_request& what) {
    if (what.kind == device_collective::shrink) return name(what.kind);
    if (what.kind != device_collective::exchange) return words_of(describe(what));
    std::string all = "exchange of";
    for (const request_part& each : what.parts)
        all += fmt::format(" {} {} {} {}", each.count, name(each.type), each.from ? "to" : "from", each.peer);
    return all;
}

}  // namespace tutti::gpu
