// The results of a training run: as lines for people, as JSON for programs. plot.hpp draws them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace digits {

struct epoch_report {
    int epoch = 0;
    double loss = 0;      // mean over the training images
    double accuracy = 0;  // share of the test images, 0 to 1
    double samples_per_second = 0;
    std::optional<double> hidden;  // share of the communication time that computation covered, 0 to 1; none without communication
};

struct run_report {
    int ranks = 1;
    std::size_t batch = 0;
    double rate = 0;
    std::uint64_t seed = 0;
    std::string data;
    std::vector<epoch_report> epochs;
    double seconds = 0;
    bool identical = false;  // all ranks ended with the same bits in all parameters
};

/// One line, without its end. `epochs` is the number planned.
std::string progress_line(const epoch_report& what, int epochs);
/// The last line, without its end. There is at least one epoch.
std::string summary(const run_report& what);
/// A JSON object (RFC 8259). Numbers that JSON cannot express become null.
std::string to_json(const run_report& what);

}  // namespace digits
