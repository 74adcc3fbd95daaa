#include "names.hpp"

#include "algorithm/cost_text.hpp"
#include "base/core_set.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <vector>

namespace plan {
namespace {

using namespace tutti;

struct unit {
    std::string_view name;
    double value;
};
constexpr unit byte_units[] = {{"", 1},      {"B", 1},        {"kB", 1e3},     {"KB", 1e3},     {"MB", 1e6},    {"GB", 1e9},
                               {"TB", 1e12}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
constexpr unit second_units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
constexpr unit rate_units[] = {{"bit", 0.125},  {"kbit", 125},   {"Mbit", 125e3}, {"Gbit", 125e6}, {"Tbit", 125e9},
                               {"B", 1},        {"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},
                               {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};

constexpr double most_bytes = 0x1p50;

double number_with(std::span<const unit> units, const std::string& option, const std::string& text) {
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && std::isfinite(number) && number >= 0)
        for (const unit& each : units)
            if (std::string_view(last, static_cast<std::size_t>(end - last)) == each.name) return number * each.value;
    std::vector<std::string_view> names;
    for (const unit& each : units)
        if (!each.name.empty()) names.push_back(each.name);
    throw bad_input(fmt::format("{} takes a number and one of {}; '{}' is not that", option, fmt::join(names, ", "), text));
}

}  // namespace

std::string names_of(std::optional<collective> kind) {
    std::vector<std::string_view> names;
    for (const algorithm& entry : catalogue()) {
        const std::string_view next = kind ? entry.name : name(entry.kind);
        if ((!kind || entry.kind == *kind) && std::find(names.begin(), names.end(), next) == names.end())
            names.push_back(next);
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

collective collective_named(const std::string& text) {
    for (const algorithm& entry : catalogue())
        if (name(entry.kind) == text) return entry.kind;
    throw bad_input(fmt::format("there is no collective '{}'; there are {}", text, names_of({})));
}

const algorithm& algorithm_named(const std::string& kind, const std::string& text) {
    const collective which = collective_named(kind);
    if (const algorithm* found = find(which, text)) return *found;
    throw bad_input(fmt::format("{} has no algorithm '{}'; there are {}", kind, text, names_of(which)));
}

double bytes_in(const std::string& option, const std::string& text) {
    const double bytes = number_with(byte_units, option, text);
    if (bytes > most_bytes) throw bad_input(fmt::format("{} {}: more than {} is not looked at", option, text, size_text(most_bytes)));
    return bytes;
}
double seconds_in(const std::string& option, const std::string& text) { return number_with(second_units, option, text); }
double rate_in(const std::string& option, const std::string& text) { return number_with(rate_units, option, text); }

cost_model costs_given(const std::string& text) {
    if (text.empty()) {
        cost_model usual = shared_memory_costs;
        usual.cores = core_set::of_this_thread().count();
        return usual;
    }
    if (const std::optional<cost_model> found = costs_in(text)) return *found;
    throw bad_input(fmt::format("--costs takes tcp or shm first, and numbers in seconds and bytes, as in {}; '{}' is not that",
                                to_string(cost_model{}), text));
}

host_map hosts_given(const std::string& text, int size) {
    if (text.empty()) return {};
    std::vector<int> numbers;
    for (std::string_view rest = text; !rest.empty();) {
        const std::string_view item = rest.substr(0, rest.find(','));
        int number = 0;
        const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), number);
        if (error != std::errc() || end != item.data() + item.size() || number < 0)
            throw bad_input(fmt::format("--hosts takes ranks for each host, or the host of each rank as 0,0,1,1; '{}' is neither", text));
        numbers.push_back(number);
        rest.remove_prefix(std::min(item.size() + 1, rest.size()));
    }
    if (numbers.size() == 1 && numbers[0] > 0) {
        const int each = numbers[0];
        numbers.clear();
        for (rank one = 0; one < size; ++one) numbers.push_back(one / each);
    }
    if (static_cast<int>(numbers.size()) != size)
        throw bad_input(fmt::format("--hosts {} says where {} ranks are, of {}", text, numbers.size(), size));
    return host_map(numbers);
}

std::string size_text(double bytes) {
    constexpr std::string_view names[] = {"", "KiB", "MiB", "GiB", "TiB"};
    std::size_t index = 0;
    for (; index + 1 < std::size(names) && bytes >= 1024 && std::fmod(bytes, 1024) == 0; ++index) bytes /= 1024;
    return fmt::format("{:.0f}{}", bytes, names[index]);
}

std::string ranks_text(int size, const host_map& hosts) {
    return hosts.count() > 1 ? fmt::format("{} ranks on {} hosts", size, hosts.count()) : fmt::format("{} ranks", size);
}

}  // namespace plan
