// The digits: images with their labels, read strictly from a CSV file, and cut into a training and a test part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace digits {

inline constexpr int pixel_count = 64;  // 8 x 8
inline constexpr int class_count = 10;

/// Images one after the other, each `pixel_count` values from 0 to 1, and the digit each one shows.
struct dataset {
    std::vector<float> pixels;
    std::vector<std::uint8_t> labels;

    std::size_t count() const noexcept { return labels.size(); }
    /// Adds image `index` of `from`.
    void append(const dataset& from, std::size_t index);
    void clear() noexcept;

    friend bool operator==(const dataset&, const dataset&) = default;
};

/// Reads rows of 64 pixels (0 to 16) and a label (0 to 9). Throws input_error naming file, line, what was found and what was expected.
dataset load(const std::string& path);
/// The same for text that is already in memory; `name` stands for the file in messages.
dataset parse(std::string_view text, std::string_view name);

struct split {
    dataset training;
    dataset test;
};

/// A fifth of the images, drawn by a fixed seed, is kept for the test: whatever the options, every run is judged by the same images.
split divide(const dataset& all);

}  // namespace digits
