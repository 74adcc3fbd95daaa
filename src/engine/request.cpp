#include "engine/request.hpp"

#include "base/bytes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tutti {

static std::uint64_t digest_of(std::span<const std::size_t> counts) noexcept {
    std::uint64_t digest = digest_of("counts");
    for (const std::size_t count : counts) digest = digest_of(count, digest);
    return digest;
}

std::size_t vector_bytes(const request& what, int size) noexcept {
    if (what.own_counts()) return 0;
    const bool blocks = (spreads(what.kind) || collects(what.kind)) && !has_counts(what.kind);
    return what.count * what.element_bytes() * (blocks ? static_cast<std::size_t>(size) : 1);
}

bool repeats(const request& before, const request& now) noexcept {
    if (before.kind != now.kind || before.type != now.type || before.opaque_bytes != now.opaque_bytes || before.op != now.op) return false;
    if (before.allocated != now.allocated || before.root != now.root || before.count != now.count || before.input != now.input ||
        before.output != now.output || before.root_counts != now.root_counts)
        return false;
    for (const request* each : {&before, &now})
        if (!each->list.empty() || !each->input_list.empty() || !each->counts.empty() || !each->recv_counts.empty()) return false;
    return true;
}

/// Takes the place of the digest of counts that only the root has.
static constexpr std::uint64_t digest_of_root_counts = digest_of("counts of the root");

call_signature describe(const request& what) noexcept {
    call_signature made;
    made.kind = static_cast<std::uint8_t>(what.kind);
    made.type = static_cast<std::uint8_t>(what.type);
    made.op = static_cast<std::uint8_t>(what.op.kind());
    made.root = what.root;
    made.count = what.count;
    made.digest = what.digest ^ what.op.digest();
    made.opaque_bytes = static_cast<std::uint32_t>(what.opaque_bytes);
    made.allocated = what.allocated;
    made.label = digest_of_label(what.label) & 0xff'ffff;
    if (what.own_counts()) made.count = 0;
    if (what.root_counts) made.digest ^= digest_of_root_counts;
    else if (has_counts(what.kind) && !what.own_counts()) made.digest ^= digest_of(what.counts);
    return made;
}

// A list's digest has the number of its buffers in the upper bits, so that a mismatch can name it, and a digest of their sizes below.
constexpr int sizes_bits = 40;
constexpr std::uint64_t sizes_mask = (std::uint64_t{1} << sizes_bits) - 1;

std::uint64_t digest_of_list(std::span<const buffer> list) noexcept {
    std::uint64_t sizes = digest_of("list");
    for (const buffer& each : list) sizes = digest_of(each.count, sizes);
    const std::uint64_t number = std::min<std::uint64_t>(list.size(), (std::uint64_t{1} << (64 - sizes_bits)) - 1);
    return number << sizes_bits | std::max<std::uint64_t>(1, (sizes ^ sizes >> sizes_bits) & sizes_mask);
}

static bool by_root(const call_signature& what) noexcept { return what.digest == digest_of_root_counts; }

static bool by_custom(const call_signature& what) noexcept { return what.op == static_cast<std::uint8_t>(reduce_op::custom); }

static bool in_list(const call_signature& what) noexcept {
    return what.digest != 0 && what.kind == static_cast<std::uint8_t>(collective::all_reduce) && !by_custom(what);
}

/// Names the arguments whose digest this is, as far as the rest tells.
static std::string_view of_digest(const call_signature& what) {
    if (has_counts(static_cast<collective>(what.kind))) return by_custom(what) ? "operator and counts" : "counts";
    if (!by_custom(what)) return "digest";
    return what.kind == static_cast<std::uint8_t>(collective::all_reduce) ? "operator and list" : "operator";
}

std::string to_string(const call_signature& what) {
    // The signature may come from another program: a value without a name is shown as a number.
    const auto kind = static_cast<collective>(what.kind);
    if (what.kind >= collective_count) return fmt::format("collective {}", what.kind);
    std::string text{name(kind)};
    if (kind == collective::barrier) return text;
    if (what.type < data_type_count) fmt::format_to(std::back_inserter(text), " {}", name(static_cast<data_type>(what.type)));
    if (what.opaque_bytes != 0) fmt::format_to(std::back_inserter(text), "({} bytes)", what.opaque_bytes);
    if (reduces(kind) && what.op < reduce_op_count) fmt::format_to(std::back_inserter(text), " {}", name(static_cast<reduce_op>(what.op)));
    if (kind != collective::all_to_all_v && !by_root(what)) fmt::format_to(std::back_inserter(text), " count {}", what.count);
    if (has_root(kind)) fmt::format_to(std::back_inserter(text), " root {}", what.root);
    if (in_list(what)) fmt::format_to(std::back_inserter(text), " in {} buffers", what.digest >> sizes_bits);
    else if (by_root(what)) text += " with counts_at_root";
    else if (what.digest != 0) fmt::format_to(std::back_inserter(text), " {} #{:016x}", of_digest(what), what.digest);
    return text;
}

static std::string with_sizes(const call_signature& what) {
    if (!in_list(what)) return fmt::format("{} digest #{:016x}", to_string(what), what.digest);
    return fmt::format("{} of sizes #{:010x}", to_string(what), what.digest & sizes_mask);
}

static std::string by_algorithm(const call_signature& what) {
    const auto all = catalogue();
    if (what.algorithm >= all.size()) return fmt::format("{} by algorithm {}", to_string(what), what.algorithm);
    return fmt::format("{} by {}", to_string(what), all[what.algorithm].name);
}

static std::string with_memory(const call_signature& what) {
    return fmt::format("{} {} call_options::allocated", to_string(what), what.allocated ? "with" : "without");
}

call_names tell_apart(const call_signature& mine, const call_signature& theirs) {
    call_names names{to_string(mine), to_string(theirs)};
    if (names.mine == names.theirs && mine.digest != theirs.digest) names = {with_sizes(mine), with_sizes(theirs)};
    if (names.mine == names.theirs && mine.allocated != theirs.allocated) names = {with_memory(mine), with_memory(theirs)};
    if (names.mine == names.theirs) names = {by_algorithm(mine), by_algorithm(theirs)};
    return names;
}

bool differ_in_label(const call_signature& mine, const call_signature& theirs) noexcept {
    call_signature named = mine;
    named.label = theirs.label;
    return named == theirs && mine != theirs;
}

std::string with_label(const call_signature& what, std::string_view label) {
    if (what.label == 0) return to_string(what) + " without a label";
    if (label.empty()) return fmt::format("{} labelled #{:06x}", to_string(what), std::uint32_t{what.label});
    return fmt::format("{} labelled \"{}\"", to_string(what), label);
}

std::string name_ranks(const std::vector<rank>& some) {
    return fmt::format("{} {}", some.size() == 1 ? "rank" : "ranks", fmt::join(some, ", "));
}

}  // namespace tutti
