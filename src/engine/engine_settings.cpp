#include "engine/engine_settings.hpp"

#include "base/past_caches.hpp"

#include <limits>

namespace tutti {

report engine_identity::own_failure(error code, std::string cause) const {
    report why;
    why.code = code;
    why.root = me;
    why.peers = {me};
    why.cause = std::move(cause);
    return why;
}

/// Several lanes bring slices in any order, so all slices are one segment: none shall wait for the last round of another. Within a host one slice is a
/// segment, so a sum is sent on while it is in the caches. Between hosts enough bytes are under way to hide the delay of a round.
std::size_t segment_of(const engine_settings& settings, const engine_identity& who) noexcept {
    if (settings.lanes > 1) return std::numeric_limits<std::size_t>::max();
    if (settings.segment > 0) return settings.segment;
    return who.hosts.count() == 1 ? 1 : 16;
}

/// Within a host all bytes under way pass through caches that the ranks share; with more than 1 MiB they are fetched from memory again and
/// again. Between hosts bytes under way hide the delay, so there is no limit.
std::size_t most_under_way_of(const engine_settings& settings, const engine_identity& who) noexcept {
    if (settings.most_under_way > 0) return settings.most_under_way;
    return who.hosts.count() == 1 ? 1 * MiB : std::numeric_limits<std::size_t>::max();
}

/// Before a result is read, an input and a result of that length of each rank on the host have passed through the cache that they share.
/// Half of the cache is taken by other data: staging buffers, rings, and other programs.
std::size_t past_caches_from(const engine_settings& settings, const engine_identity& who) noexcept {
    std::size_t near = 0;
    for (rank each = 0; each < who.size; ++each) near += who.hosts.host(each) == who.hosts.host(who.me);
    return (settings.cache_bytes > 0 ? settings.cache_bytes : last_cache_bytes()) / (4 * near);
}

}  // namespace tutti
