#include "sizes.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>

namespace perf {
namespace {

std::uint64_t size_in(std::string text) {
    static const CLI::AsSizeValue with_unit(true);
    const std::string typed = text;
    const auto wrong = [&] {
        return bad_input(fmt::format("--bytes takes 4,64KiB,1MiB or 4..64MiB, up to 64GiB; '{}' is no size", typed));
    };
    if (text.empty() || text.front() < '0' || text.front() > '9') throw wrong();
    try {
        if (!with_unit(text).empty()) throw wrong();
        const std::uint64_t bytes = std::stoull(text);
        if (bytes > most_bytes) throw wrong();
        return bytes;
    } catch (const std::logic_error&) {
        throw wrong();
    } catch (const CLI::Error&) {
        throw wrong();
    }
}

}  // namespace

std::vector<std::uint64_t> sizes_in(const std::string& text, double step) {
    if (const std::size_t dots = text.find(".."); dots != text.npos) {
        const std::uint64_t first = size_in(text.substr(0, dots)), last = size_in(text.substr(dots + 2));
        if (first > last) throw bad_input(fmt::format("--bytes {}: the range is empty", text));
        std::vector<std::uint64_t> all;
        for (double next = static_cast<double>(first); next < static_cast<double>(last); next = std::max(next * step, next + 1))
            all.push_back(static_cast<std::uint64_t>(next));
        all.push_back(last);
        return all;
    }
    std::vector<std::uint64_t> all;
    std::size_t begin = 0;
    for (std::size_t comma; (comma = text.find(',', begin)) != text.npos; begin = comma + 1)
        all.push_back(size_in(text.substr(begin, comma - begin)));
    all.push_back(size_in(text.substr(begin)));
    return all;
}

}  // namespace perf
