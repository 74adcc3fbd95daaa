#include "digits/dataset.hpp"

#include "digits/generator.hpp"
#include "digits/input_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>

namespace digits {
namespace {

constexpr std::size_t max_file_bytes = 64 << 20;  // /dev/zero is a file too
constexpr int max_pixel = 16;
constexpr std::size_t min_rows = 10;
constexpr std::size_t test_share = 5;  // one in five
constexpr std::uint64_t split_seed = 1998;

[[noreturn]] void fail(std::string_view name, std::size_t line, std::string_view found, std::string_view expected) {
    throw input_error(fmt::format("{}:{}: found {}, expected {}", name, line, found, expected));
}

std::string quoted(std::string_view text) {
    constexpr std::size_t shown = 24;
    return text.size() <= shown ? fmt::format("'{}'", text) : fmt::format("'{}...'", text.substr(0, shown));
}

// One field of a row: an integer from 0 to `limit`, nothing around it.
int number(std::string_view field, int limit, int column, std::string_view name, std::size_t line) {
    int value = -1;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size() || value < 0 || value > limit)
        fail(name, line, fmt::format("{} in column {}", quoted(field), column + 1),
             fmt::format("{} from 0 to {}", column < pixel_count ? "a pixel" : "a label", limit));
    return value;
}

void parse_row(std::string_view row, std::string_view name, std::size_t line, dataset& into) {
    constexpr std::string_view shape = "64 pixels and a label, separated by commas";
    if (row.empty()) fail(name, line, "an empty line", shape);
    const auto columns = static_cast<int>(std::count(row.begin(), row.end(), ',')) + 1;
    if (columns != pixel_count + 1) fail(name, line, fmt::format("{} column{}", columns, columns == 1 ? "" : "s"), shape);
    for (int column = 0; column < pixel_count; ++column) {
        const std::size_t comma = row.find(',');
        const int pixel = number(row.substr(0, comma), max_pixel, column, name, line);
        into.pixels.push_back(static_cast<float>(pixel) / max_pixel);
        row.remove_prefix(comma + 1);
    }
    into.labels.push_back(static_cast<std::uint8_t>(number(row, class_count - 1, pixel_count, name, line)));
}

std::string read(const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
    if (!file) throw input_error(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    std::string text;
    char chunk[1 << 16];
    while (const std::size_t got = std::fread(chunk, 1, sizeof chunk, file.get())) {
        text.append(chunk, got);
        if (text.size() > max_file_bytes) throw input_error(fmt::format("{} is larger than {} bytes", path, max_file_bytes));
    }
    if (std::ferror(file.get())) throw input_error(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    return text;
}

}  // namespace

void dataset::append(const dataset& from, std::size_t index) {
    const auto first = from.pixels.begin() + static_cast<std::ptrdiff_t>(index * pixel_count);
    pixels.insert(pixels.end(), first, first + pixel_count);
    labels.push_back(from.labels[index]);
}

void dataset::clear() noexcept {
    pixels.clear();
    labels.clear();
}

dataset load(const std::string& path) { return parse(read(path), path); }

dataset parse(std::string_view text, std::string_view name) {
    dataset all;
    for (std::size_t line = 1; !text.empty(); ++line) {
        const std::size_t end = text.find('\n');
        parse_row(text.substr(0, end), name, line, all);
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    if (all.count() < min_rows) throw input_error(fmt::format("{}: found {} rows, expected at least {}", name, all.count(), min_rows));
    return all;
}

split divide(const dataset& all) {
    std::vector<std::size_t> order(all.count());
    std::iota(order.begin(), order.end(), std::size_t{0});
    generator(split_seed).shuffle(std::span(order));
    split parts;
    for (std::size_t place = 0; place < order.size(); ++place)
        (place < order.size() / test_share ? parts.test : parts.training).append(all, order[place]);
    return parts;
}

}  // namespace digits
