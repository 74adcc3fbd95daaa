// Names a lane between two ranks of a communicator: its kind, and its index among several of that kind.
#pragma once

#include <compare>
#include <cstdint>

namespace tutti {

/// Separate lanes for bulk data, small operations and messages: a barrier does not queue behind a gigabyte, nor a message behind a
/// collective.
enum class lane_kind : std::uint8_t { control, bulk, small, point };
inline constexpr int lane_kinds = 4;
inline constexpr int most_lanes = 8;  // for bulk data; the other kinds have one

struct lane_id {
    constexpr lane_id() noexcept = default;
    constexpr lane_id(lane_kind of, int which = 0) noexcept : kind(of), index(which) {}

    lane_kind kind = lane_kind::control;
    int index = 0;

    friend constexpr auto operator<=>(const lane_id&, const lane_id&) = default;
};

/// Returns how many lanes a kind has, where `lanes` carry bulk data.
constexpr int lanes_of(lane_kind kind, int lanes) noexcept { return kind == lane_kind::bulk ? lanes : 1; }

}  // namespace tutti
