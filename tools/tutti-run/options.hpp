// The options of the command line.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace launch {

using milliseconds = std::chrono::milliseconds;

/// More ranks than this on one host is a typing error.
inline constexpr int max_ranks = 1024;

struct options {
    int ranks = 0;
    std::optional<milliseconds> timeout;  // for the whole run
    milliseconds grace{2000};             // for the others to end by themselves after a failure, and again after SIGTERM
    bool prefix = true;                   // "[2] " before each line
    bool bind = true;                     // ranks that outnumber the cores, as many for each, stay on one core each
    std::vector<std::string> command;     // the program and its arguments
};

/// The options, or the exit code when there is nothing to run (help was asked for, or an error was told).
std::variant<options, int> parse(int argc, const char* const* argv);

}  // namespace launch
