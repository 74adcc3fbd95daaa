#include "communicator/device_seat.hpp"

#include "base/bytes.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace tutti::gpu {

void seat::write(std::span<std::byte> into) const {
    byte_writer out(into);
    out.put(ordinal);
    out.put(nccl_version);
    out.put(static_cast<std::uint8_t>(shared));
    out.put_text(uuid, 64);
    out.put_text(host, 128);
    out.put_text(chosen, 200);
    out.put_text(why_not, 500);
}

seat seat::read(std::span<const std::byte> from) {
    byte_reader in(from);
    seat made;
    made.ordinal = in.take<int>();
    made.nccl_version = in.take<int>();
    made.shared = in.take<std::uint8_t>() != 0;
    made.uuid = in.take_text();
    made.host = in.take_text();
    made.chosen = in.take_text();
    made.why_not = in.take_text();
    return made;
}

std::string nccl_host(int host) {
    const char* const told = std::getenv("NCCL_HOSTID");
    return told && *told ? fmt::format("NCCL_HOSTID={}", told) : fmt::format("host {}", host);
}

std::string device_choice() {
    std::string all;
    for (const char* name : {"CUDA_VISIBLE_DEVICES", "LOCAL_RANK"}) {
        const char* const value = std::getenv(name);
        all += fmt::format("{}{}{}", all.empty() ? "" : ", ", name, value ? fmt::format("={}", value) : std::string(" is not set"));
    }
    return all;
}

namespace {

std::string version(int number) { return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100); }

}  // namespace

std::optional<failure> objection(const std::vector<seat>& all) {
    for (std::size_t each = 0; each < all.size(); ++each)
        if (!all[each].why_not.empty())
            return failure(error::unsupported,
                           fmt::format("rank {} cannot take part in collectives on devices: {}", each, all[each].why_not));
    for (std::size_t each = 1; each < all.size(); ++each)
        if (all[each].nccl_version != all[0].nccl_version)
            return failure(error::unsupported,
                           fmt::format("rank 0 has NCCL {}, and rank {} has NCCL {}: one version is needed on all ranks",
                                       version(all[0].nccl_version), each, version(all[each].nccl_version)));
    for (std::size_t each = 0; each < all.size(); ++each)
        for (std::size_t other = 0; other < each; ++other) {
            const seat &one = all[other], &two = all[each];
            if (one.uuid != two.uuid || one.host != two.host || (one.shared && two.shared)) continue;
            return failure(
                error::invalid_argument,
                fmt::format("ranks {} and {} have the same device, {}: it is device {} of rank {} ({}) and device {} of rank {} ({}); "
                            "every rank of a host needs one of its own",
                            other, each, one.uuid, one.ordinal, other, one.chosen, two.ordinal, each, two.chosen));
        }
    return {};
}

}  // namespace tutti::gpu
