#include "algorithm/tuning.hpp"

#include "base/transport_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>

namespace tutti {
namespace {

/// Returns `text` up to the first of `ends`, and removes both from `text`.
std::string_view taken_off(std::string_view& text, std::string_view ends) {
    const std::string_view found = text.substr(0, text.find_first_of(ends));
    text.remove_prefix(std::min(found.size() + 1, text.size()));
    return found;
}

std::string_view word(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r"), text.size()));
    return taken_off(text, " \t\r");
}

template <class Number>
std::optional<Number> whole(std::string_view digits) {
    Number found = 0;
    const char* const end = digits.data() + digits.size();
    const auto [last, error] = std::from_chars(digits.data(), end, found);
    return error == std::errc() && last == end ? std::optional(found) : std::nullopt;
}

std::optional<collective> collective_of(std::string_view text) {
    for (int number = 0; number < collective_count; ++number)
        if (name(static_cast<collective>(number)) == text) return static_cast<collective>(number);
    return std::nullopt;
}

constexpr auto all_by_cost = [] {
    std::array<algorithm, collective_count> all{};
    for (std::size_t number = 0; number < all.size(); ++number)
        all[number] = {.kind = static_cast<collective>(number), .name = "auto", .build = nullptr};
    return all;
}();

/// Reads the part of a line behind the colon. Returns what is wrong with it; empty if nothing is.
std::string read_steps(std::string_view steps, collective kind, int size, std::vector<tuned>& into) {
    std::optional<std::size_t> before;
    do {
        std::string_view step = taken_off(steps, ",");
        const auto bytes = whole<std::size_t>(word(step));
        const std::string_view called = word(step);
        if (!bytes || called.empty() || !word(step).empty()) return "behind the colon stand bytes and algorithms, as in 0 star, 65536 direct";
        const algorithm* const choice = called == "auto" ? by_cost(kind) : find(kind, called);
        if (choice == nullptr) return fmt::format("{} has no algorithm '{}'", name(kind), called);
        if (choice->fits) return fmt::format("{} is for ranks on several hosts, and a tuning is for those of one", called);
        if (choice->serves && !choice->serves(size)) return fmt::format("{} does not serve {} ranks", called, size);
        if (before && *bytes <= *before) return "bytes do not ascend";
        before = bytes;
        into.push_back({size, *bytes, choice});
    } while (!steps.empty());
    return {};
}

/// Reads a line. Returns what is wrong with it; empty if nothing is.
std::string read_line(std::string_view line, transport_kind transport, std::vector<tuned>& into) {
    std::string_view steps = line;
    std::string_view head = taken_off(steps, ":");
    const std::string_view first = word(head);
    if (first.empty() && steps.empty()) return {};
    const auto over = transport_named(first);
    const auto kind = collective_of(word(head));
    const auto size = whole<int>(word(head));
    if (!over || over == transport_kind::automatic || !kind || !size || *size < 1 || !word(head).empty())
        return "a line begins with tcp or shm, a collective, a number of ranks and a colon";
    std::vector<tuned> found;
    std::string wrong = read_steps(steps, *kind, *size, found);
    if (over == transport) into.insert(into.end(), found.begin(), found.end());
    return wrong;
}

}  // namespace

const algorithm* by_cost(collective kind) noexcept { return &all_by_cost[static_cast<std::size_t>(kind)]; }

result<std::vector<tuned>> tuning_in(std::string_view text, transport_kind transport) {
    std::vector<tuned> all;
    while (!text.empty()) {
        const std::string_view whole = taken_off(text, "\n");
        std::string_view lines = whole.substr(0, whole.find('#'));
        while (!lines.empty()) {
            const std::string_view line = taken_off(lines, ";");
            const std::string wrong = read_line(line, transport, all);
            if (!wrong.empty()) return failure(error::invalid_argument, fmt::format("tuning '{}': {}", line, wrong));
        }
    }
    return all;
}

std::vector<chooser::range> wanted_in(std::span<const tuned> all, int size, const host_map& hosts) {
    std::vector<chooser::range> found;
    for (const tuned& each : all)
        if (each.size == size && hosts.count() == 1) found.push_back({each.from_bytes, each.choice});
    return found;
}

result<std::string> tuning_text(const std::string& path) {
    errno = 0;
    std::ifstream file(path);
    std::string text;
    for (std::string line; std::getline(file, line);) text += line + '\n';
    if (!file.eof()) return failure(error::invalid_argument, fmt::format("{}: {}", path, std::strerror(errno)));
    return text;
}

std::string to_string(std::span<const tuned> all, transport_kind transport) {
    std::string text;
    const tuned* before = nullptr;
    for (const tuned& each : all) {
        const bool goes_on = before && before->size == each.size && before->choice->kind == each.choice->kind && before->from_bytes < each.from_bytes;
        if (goes_on) text += ", ";
        else text += fmt::format("{}{} {} {}: ", text.empty() ? "" : "; ", name(transport), name(each.choice->kind), each.size);
        text += fmt::format("{} {}", each.from_bytes, each.choice->name);
        before = &each;
    }
    return text;
}

}  // namespace tutti
