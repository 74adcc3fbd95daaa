// The options of the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace digits {

struct options {
    int epochs = 25;
    std::size_t batch = 64;  // over all ranks
    double rate = 0.05;
    std::uint64_t seed = 1;
    bool device = false;
    std::string data;
    std::optional<std::string> json;  // a file; "-" is standard output
    std::optional<std::string> plot;
    std::string help;  // when asked for: to be shown instead of training
};

/// Throws input_error when an option is unknown, incomplete or out of range. `data` is where the images are unless --data says otherwise.
options parse_options(int argc, const char* const* argv, const std::string& data);

}  // namespace digits
