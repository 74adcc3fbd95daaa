#include "engine/request.hpp"

#include "base/bytes.hpp"

#include <fmt/format.h>

namespace tutti {

static std::uint64_t digest_of(std::span<const std::size_t> counts) noexcept {
    std::uint64_t digest = digest_of("counts");
    for (const std::uint64_t count : counts) {
        char bytes[8];
        for (int index = 0; index < 8; ++index) bytes[index] = static_cast<char>(count >> 8 * index & 0xff);
        digest = digest_of({bytes, sizeof bytes}, digest);
    }
    return digest;
}

descriptor describe(const request& what) noexcept {
    const bool point = what.kind == collective::send || what.kind == collective::recv;
    descriptor all{static_cast<std::uint8_t>(point ? collective::send : what.kind),
                   static_cast<std::uint8_t>(what.type),
                   static_cast<std::uint8_t>(what.op),
                   0,
                   point ? 0 : what.root,
                   what.count,
                   0};
    // In all_to_all_v no rank knows the counts of all; what two of them disagree about shows in the frames between them.
    if (what.kind == collective::all_to_all_v) all.count = 0;
    else if (has_counts(what.kind)) all.digest = digest_of(what.counts);
    return all;
}

std::string to_string(const descriptor& what) {
    // The numbers may come from another program: what has no name is shown as a number.
    const auto kind = static_cast<collective>(what.kind);
    if (what.kind >= collective_count) return fmt::format("collective {}", what.kind);
    std::string text{name(kind)};
    if (kind == collective::barrier) return text;
    if (what.type < data_type_count) fmt::format_to(std::back_inserter(text), " {}", name(static_cast<data_type>(what.type)));
    if (reduces(kind) && what.op < reduce_op_count) fmt::format_to(std::back_inserter(text), " {}", name(static_cast<reduce_op>(what.op)));
    if (kind != collective::all_to_all_v) fmt::format_to(std::back_inserter(text), " count {}", what.count);
    if (has_root(kind)) fmt::format_to(std::back_inserter(text), " root {}", what.root);
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
