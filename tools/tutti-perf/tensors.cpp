#include "tensors.hpp"

#include "sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <system_error>

namespace perf {
namespace {

constexpr std::size_t most_tensors = 100'000;

/// A convolution without bias, and the scale and shift of the batch normalization behind it.
void add_convolution(std::vector<std::uint64_t>& all, std::uint64_t from, std::uint64_t to, std::uint64_t width) {
    all.insert(all.end(), {to * from * width * width, to, to});
}

std::uint64_t count_in(const std::string& line, const std::string& name, int number) {
    std::uint64_t count = 0;
    const char* const last = line.data() + line.size();
    const auto [end, error] = std::from_chars(line.data(), last, count);
    if (error != std::errc() || end != last || count == 0 || count > most_bytes)
        throw bad_input(fmt::format("{}, line {}: '{}' is no element count", name, number, line));
    return count;
}

}  // namespace

// He, Zhang, Ren, Sun: Deep residual learning for image recognition (2015), table 1, column "50-layer": a 7x7 convolution, four stages
// of bottleneck blocks (1x1, 3x3, 1x1 to four times the width; the first block of a stage has a projection beside), 1000 classes.
std::vector<std::uint64_t> resnet50() {
    struct stage {
        std::uint64_t width;
        int blocks;
    };
    std::vector<std::uint64_t> all;
    add_convolution(all, 3, 64, 7);
    std::uint64_t from = 64;
    for (const stage each : {stage{64, 3}, stage{128, 4}, stage{256, 6}, stage{512, 3}}) {
        for (int block = 0; block < each.blocks; ++block) {
            add_convolution(all, from, each.width, 1);
            add_convolution(all, each.width, each.width, 3);
            add_convolution(all, each.width, 4 * each.width, 1);
            if (block == 0) add_convolution(all, from, 4 * each.width, 1);
            from = 4 * each.width;
        }
    }
    all.insert(all.end(), {1000 * from, 1000});
    std::reverse(all.begin(), all.end());
    return all;
}

std::vector<std::uint64_t> tensors_in(std::istream& text, const std::string& name) {
    std::vector<std::uint64_t> all;
    std::string line;
    for (int number = 1; std::getline(text, line); ++number) {
        line.erase(std::min(line.find('#'), line.size()));
        line.erase(line.find_last_not_of(" \t\r") + 1);
        line.erase(0, std::min(line.find_first_not_of(" \t"), line.size()));
        if (!line.empty()) all.push_back(count_in(line, name, number));
        if (all.size() > most_tensors) throw bad_input(fmt::format("{}: more than {} tensors", name, most_tensors));
    }
    if (all.empty()) throw bad_input(fmt::format("{}: no element counts in it", name));
    return all;
}

std::vector<std::uint64_t> tensors_of(const std::string& name) {
    if (name == "resnet50") return resnet50();
    std::ifstream text(name);
    if (!text)
        throw bad_input(fmt::format("--list takes resnet50 or a file; cannot read '{}': {}", name, std::generic_category().message(errno)));
    return tensors_in(text, name);
}

std::vector<std::size_t> buckets_of(const std::vector<std::uint64_t>& tensors, std::uint64_t cap) {
    std::vector<std::size_t> all;
    std::uint64_t filled = 0;
    for (const std::uint64_t each : tensors) {
        if (all.empty() || filled + each > cap) {
            all.push_back(0);
            filled = 0;
        }
        ++all.back();
        filled += each;
    }
    return all;
}

}  // namespace perf
