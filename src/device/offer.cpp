#include "device/offer.hpp"

#include "base/bytes.hpp"
#include "device/staging.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace tutti::gpu {

void device_offer::write(std::span<std::byte> into) const {
    byte_writer out(into);
    out.put(ordinal);
    out.put(nccl_version);
    out.put(static_cast<std::uint8_t>(may_share_device));
    out.put_text(uuid, 64);
    out.put_text(host, 128);
    out.put_text(chosen, 200);
    out.put(static_cast<std::uint8_t>(wanted));
    out.put(chunk_bytes);
    out.put(window);
    out.put_text(no_device, 250);
    out.put_text(no_nccl, 250);
}

device_offer device_offer::read(std::span<const std::byte> from) {
    byte_reader in(from);
    device_offer made;
    made.ordinal = in.take<int>();
    made.nccl_version = in.take<int>();
    made.may_share_device = in.take<std::uint8_t>() != 0;
    made.uuid = in.take_text();
    made.host = in.take_text();
    made.chosen = in.take_text();
    made.wanted = static_cast<engine_kind>(in.take<std::uint8_t>());
    made.chunk_bytes = in.take<std::uint64_t>();
    made.window = in.take<int>();
    made.no_device = in.take_text();
    made.no_nccl = in.take_text();
    return made;
}

std::string nccl_host(int host) {
    const char* const told = std::getenv("NCCL_HOSTID");
    return told && *told ? fmt::format("NCCL_HOSTID={}", told) : fmt::format("host {}", host);
}

std::string device_choice() {
    std::string all;
    for (const char* name : {"LOCAL_RANK", "CUDA_VISIBLE_DEVICES"}) {  // the second may be longer than what can be told of it
        const char* const value = std::getenv(name);
        all += fmt::format("{}{}{}", all.empty() ? "" : ", ", name, value ? fmt::format("={}", value) : std::string(" is not set"));
    }
    return all;
}

namespace {

std::string version(int number) { return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100); }

constexpr std::size_t none = ~std::size_t{0};

/// Returns the first rank that wants this engine.
std::size_t who_wants(const std::vector<device_offer>& all, engine_kind kind) {
    for (std::size_t each = 0; each < all.size(); ++each)
        if (all[each].wanted == kind) return each;
    return none;
}

/// Names the first rank that cannot use NCCL, and the reason.
std::optional<std::string> without_nccl(const std::vector<device_offer>& all) {
    for (std::size_t each = 0; each < all.size(); ++each) {
        if (!all[each].no_device.empty()) return fmt::format("rank {} has no device: {}", each, all[each].no_device);
        if (!all[each].no_nccl.empty()) return fmt::format("rank {} has no NCCL: {}", each, all[each].no_nccl);
    }
    return {};
}

/// Returns the reason why ranks that all have NCCL cannot use it together, or nothing.
std::optional<failure> objection(const std::vector<device_offer>& all) {
    for (std::size_t each = 1; each < all.size(); ++each)
        if (all[each].nccl_version != all[0].nccl_version)
            return failure(error::unsupported,
                           fmt::format("rank 0 has NCCL {}, and rank {} has NCCL {}: one version is needed on all ranks",
                                       version(all[0].nccl_version), each, version(all[each].nccl_version)));
    for (std::size_t each = 0; each < all.size(); ++each)
        for (std::size_t other = 0; other < each; ++other) {
            const device_offer &one = all[other], &two = all[each];
            if (one.uuid != two.uuid || one.host != two.host || (one.may_share_device && two.may_share_device)) continue;
            return failure(
                error::invalid_argument,
                fmt::format("ranks {} and {} have the same device, {}: it is device {} of rank {} ({}) and device {} of rank {} ({}); "
                            "every rank of a host needs one of its own, or engine_kind::staged",
                            other, each, one.uuid, one.ordinal, other, one.chosen, two.ordinal, each, two.chosen));
        }
    return {};
}

}  // namespace

result<engine_choice> choose_engine(const std::vector<device_offer>& all) {
    engine_choice made;
    made.chunk_bytes = all.front().chunk_bytes;
    for (const device_offer& each : all) made.chunk_bytes = std::min<std::size_t>(made.chunk_bytes, each.chunk_bytes);
    for (std::size_t each = 0; each < all.size(); ++each)
        if (const int window = all[each].window; window < staging::narrowest || window > staging::widest)
            return failure(error::invalid_argument, fmt::format("rank {} wants a window of {} chunks: {} to {} are expected", each, window,
                                                                staging::narrowest, staging::widest));
    const std::size_t insists = who_wants(all, engine_kind::nccl), stages = who_wants(all, engine_kind::staged);
    if (insists != none && stages != none)
        return failure(error::invalid_argument,
                       fmt::format("rank {} wants collectives on devices by NCCL, and rank {} wants them staged", insists, stages));
    const auto why_not = without_nccl(all);
    if (stages != none) {
        made.kind = engine_kind::staged;
        made.why = fmt::format("rank {} wants it so", stages);
    } else if (why_not && insists != none) {
        return failure(error::unsupported, fmt::format("rank {} wants collectives on devices by NCCL, and {}", insists, *why_not));
    } else if (why_not) {
        made.kind = engine_kind::staged;
        made.why = *why_not;
        made.told = true;
    } else if (const auto wrong = objection(all)) {
        return *wrong;
    }
    return made;
}

}  // namespace tutti::gpu
