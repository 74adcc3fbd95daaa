#include "engine/request.hpp"

#include <fmt/format.h>

namespace tutti {

std::string to_string(const descriptor& what) {
    // The numbers may come from another program: what has no name is shown as a number.
    const auto kind = static_cast<collective>(what.kind);
    if (what.kind > static_cast<std::uint8_t>(collective::barrier)) return fmt::format("collective {}", what.kind);
    std::string text{name(kind)};
    if (kind == collective::barrier) return text;
    if (what.type < data_type_count) fmt::format_to(std::back_inserter(text), " {}", name(static_cast<data_type>(what.type)));
    const bool reduces = kind == collective::all_reduce || kind == collective::reduce || kind == collective::reduce_scatter;
    if (reduces && what.op < reduce_op_count) fmt::format_to(std::back_inserter(text), " {}", name(static_cast<reduce_op>(what.op)));
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
