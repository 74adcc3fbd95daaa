// Which lane between two ranks of a communicator: what it carries, and which it is where several carry the same.
#pragma once

#include <compare>
#include <cstdint>

namespace tutti {

/// Bulk data, small operations, messages: a barrier does not queue behind a gigabyte, and a message not behind a collective.
enum class lane_kind : std::uint8_t { control, bulk, small, point };
inline constexpr int lane_kinds = 4;
inline constexpr int most_lanes = 8;  // for bulk data; of the other kinds there is one

struct lane_id {
    constexpr lane_id() noexcept = default;
    constexpr lane_id(lane_kind of, int which = 0) noexcept : kind(of), index(which) {}

    lane_kind kind = lane_kind::control;
    int index = 0;

    friend constexpr auto operator<=>(const lane_id&, const lane_id&) = default;
};

/// How many lanes of a kind there are, where `lanes` carry bulk data.
constexpr int lanes_of(lane_kind kind, int lanes) noexcept { return kind == lane_kind::bulk ? lanes : 1; }

}  // namespace tutti
