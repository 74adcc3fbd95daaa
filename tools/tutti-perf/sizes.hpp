// A list or a range of sizes as people write it: "4,64KiB,16MiB" or "1KiB..64MiB".
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace perf {

/// A mistake on the command line; the text is one line for the user.
struct bad_input : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline constexpr std::uint64_t most_bytes = std::uint64_t{64} << 30;

/// A range grows by `step` (more than 1) and ends with its upper end. Units are powers of 1024.
std::vector<std::uint64_t> sizes_in(const std::string& text, double step);

}  // namespace perf
