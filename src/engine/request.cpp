#include "engine/request.hpp"

#include <fmt/format.h>

namespace tutti {

descriptor describe(const request& what) noexcept {
    const bool point = what.kind == collective::send || what.kind == collective::recv;
    descriptor made;
    made.kind = static_cast<std::uint8_t>(point ? collective::send : what.kind);
    made.type = static_cast<std::uint8_t>(what.type);
    made.op = static_cast<std::uint8_t>(what.op.kind());
    made.root = point ? 0 : what.root;
    made.count = what.count;
    made.digest = what.op.digest();
    made.opaque_bytes = static_cast<std::uint32_t>(what.opaque_bytes);
    return made;
}

std::string to_string(const descriptor& what) {
    // The numbers may come from another program: what has no name is shown as a number.
    const auto kind = static_cast<collective>(what.kind);
    if (what.kind > static_cast<std::uint8_t>(collective::recv)) return fmt::format("collective {}", what.kind);
    std::string text{name(kind)};
    if (kind == collective::barrier) return text;
    if (what.type < data_type_count) fmt::format_to(std::back_inserter(text), " {}", name(static_cast<data_type>(what.type)));
    if (what.opaque_bytes != 0) fmt::format_to(std::back_inserter(text), "({} bytes)", what.opaque_bytes);
    if (reduces(kind) && what.op < reduce_op_count) fmt::format_to(std::back_inserter(text), " {}", name(static_cast<reduce_op>(what.op)));
    fmt::format_to(std::back_inserter(text), " count {}", what.count);
    if (kind == collective::broadcast || kind == collective::reduce) fmt::format_to(std::back_inserter(text), " root {}", what.root);
    if (what.digest != 0) fmt::format_to(std::back_inserter(text), " digest {:016x}", what.digest);
    return text;
}

static std::string by_algorithm(const descriptor& what) {
    const auto all = catalogue();
    if (what.algorithm >= all.size()) return fmt::format("{} by algorithm {}", to_string(what), what.algorithm);
    return fmt::format("{} by {}", to_string(what), all[what.algorithm].name);
}

call_names tell_apart(const descriptor& mine, const descriptor& theirs) {
    call_names names{to_string(mine), to_string(theirs)};
    if (names.mine == names.theirs) names = {by_algorithm(mine), by_algorithm(theirs)};
    return names;
}

}  // namespace tutti
