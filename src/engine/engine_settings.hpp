// The settings of an engine, and which rank of which communicator it serves.
#pragma once

#include <tutti/error.hpp>

#include "algorithm/tuning.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tutti {

/// All ranks must have the same, since they count each other's credits.
struct message_settings {
    std::size_t eager_bytes = 16 * KiB;     // a longer message stays with its sender until a receive asks for it
    std::size_t kept_bytes = 1 * MiB;       // that a receiver keeps of one rank's messages which no receive has asked for
    std::size_t kept_messages = 16 * 1024;  // the same by count
};

/// Settings that decide what goes over the wire, so all ranks of a group must have the same. Rank 0 publishes those that it chooses when
/// the group forms. Those marked "each rank's own" may differ.
struct engine_settings {
    std::size_t slice_bytes = default_slice_bytes;  // a transfer travels in pieces of about this size
    std::size_t reduced_slice_bytes = 0;            // the same where it is reduced and not request::allocated; 0: slice_bytes
    std::size_t segment = 0;                        // slices that go through all rounds before the next ones do; 0: as segment_of says
    std::size_t most_under_way = 0;                 // bytes for `admission`, each rank's own; 0: as most_under_way_of says
    std::size_t cache_bytes = 0;         // of the last cache that the ranks of a host share, each rank's own; 0: as the system says
    std::size_t small_bytes = 64 * KiB;  // a vector up to this length uses the small lane
    int lanes = 1;                       // for bulk data between two ranks, at most most_lanes
    cost_model costs;
    std::vector<tuned> tuning;             // taken whatever they cost, in groups of that size on one host
    bool deterministic = false;            // only algorithms that combine in one order and grouping, the forced ones too
    std::vector<const algorithm*> forced;  // taken whatever they cost, where they serve the group
    duration stall_warning{};              // a collective that has waited so long is reported, each rank's own; 0: never
    std::size_t pending_limit = 1 << 20;   // operations under way on one communicator, and as many messages
    message_settings messages;
};

/// Which rank of which communicator an engine serves.
struct engine_identity {
    std::string communicator = "world";
    std::uint32_t epoch = 0;
    rank me = 0;
    int size = 1;
    host_map hosts;

    /// Returns the report of a failure that this rank causes.
    report own_failure(error code, std::string cause) const;
};

/// Returns how many slices go through all rounds before the next ones do.
std::size_t segment_of(const engine_settings& settings, const engine_identity& who) noexcept;

/// Returns how many bytes may be under way together, for `admission`.
std::size_t most_under_way_of(const engine_settings& settings, const engine_identity& who) noexcept;

/// Returns the length from which on a result has left the caches before it is read.
std::size_t past_caches_from(const engine_settings& settings, const engine_identity& who) noexcept;

}  // namespace tutti
