#include "engine/request.hpp"

#include "base/bytes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tutti {

bool point_to_point(collective kind) noexcept { return kind == collective::send || kind == collective::recv; }

descriptor describe(const request& what) noexcept {
    const bool point = point_to_point(what.kind);
    return {static_cast<std::uint8_t>(point ? collective::send : what.kind),
            static_cast<std::uint8_t>(what.type),
            static_cast<std::uint8_t>(what.op),
            0,
            point ? 0 : what.root,
            what.count,
            what.digest};
}

// A list's digest: the number of its buffers, so that it can be told, above a digest of their sizes.
constexpr int sizes_bits = 40;
constexpr std::uint64_t sizes_mask = (std::uint64_t{1} << sizes_bits) - 1;

std::uint64_t digest_of_list(std::span<const buffer> list) noexcept {
    std::uint64_t sizes = digest_of("list");
    for (const buffer& each : list) sizes = digest_of(each.count, sizes);
    const std::uint64_t number = std::min<std::uint64_t>(list.size(), (std::uint64_t{1} << (64 - sizes_bits)) - 1);
    return number << sizes_bits | std::max<std::uint64_t>(1, (sizes ^ sizes >> sizes_bits) & sizes_mask);
}

std::string to_string(const descriptor& what) {
    // The numbers may come from another program: what has no name is shown as a number.
    const auto kind = static_cast<collective>(what.kind);
    if (what.kind > static_cast<std::uint8_t>(collective::recv)) return fmt::format("collective {}", what.kind);
    std::string text{name(kind)};
    if (kind == collective::barrier) return text;
    if (what.type < data_type_count) fmt::format_to(std::back_inserter(text), " {}", name(static_cast<data_type>(what.type)));
    const bool reduces = kind == collective::all_reduce || kind == collective::reduce || kind == collective::reduce_scatter;
    if (reduces && what.op < reduce_op_count) fmt::format_to(std::back_inserter(text), " {}", name(static_cast<reduce_op>(what.op)));
    fmt::format_to(std::back_inserter(text), " count {}", what.count);
    if (kind == collective::broadcast || kind == collective::reduce) fmt::format_to(std::back_inserter(text), " root {}", what.root);
    if (what.digest != 0 && kind == collective::all_reduce)
        fmt::format_to(std::back_inserter(text), " in {} buffers", what.digest >> sizes_bits);
    else if (what.digest != 0) fmt::format_to(std::back_inserter(text), " digest {:016x}", what.digest);
    return text;
}

static std::string with_sizes(const descriptor& what) {
    return fmt::format("{} of sizes #{:010x}", to_string(what), what.digest & sizes_mask);
}

static std::string by_algorithm(const descriptor& what) {
    const auto all = catalogue();
    if (what.algorithm >= all.size()) return fmt::format("{} by algorithm {}", to_string(what), what.algorithm);
    return fmt::format("{} by {}", to_string(what), all[what.algorithm].name);
}

call_names tell_apart(const descriptor& mine, const descriptor& theirs) {
    call_names names{to_string(mine), to_string(theirs)};
    if (names.mine == names.theirs && mine.digest != theirs.digest) names = {with_sizes(mine), with_sizes(theirs)};
    if (names.mine == names.theirs) names = {by_algorithm(mine), by_algorithm(theirs)};
    return names;
}

}  // namespace tutti
