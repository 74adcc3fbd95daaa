// Reads a context's options from the environment, and finds variables that look like Tutti's but are not.
#include "communicator/environment.hpp"

#include "algorithm/cost_text.hpp"
#include "algorithm/tuning.hpp"
#include "base/transport_names.hpp"
#include "group/notice.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

namespace tutti {
namespace {

constexpr std::string_view ours = "TUTTI_";
/// Read here, by rendezvous/world.cpp and gpu/libraries.cpp. docs/environment.md says what they mean.
constexpr std::array<std::string_view, 19> known = {
    "TUTTI_RANK",  "TUTTI_WORLD_SIZE", "TUTTI_LOCAL_RANK", "TUTTI_LOCAL_WORLD_SIZE", "TUTTI_JOB",          "TUTTI_EPOCH",
    "TUTTI_STORE", "TUTTI_STORE_PORT", "TUTTI_STORE_FD",   "TUTTI_TRANSPORT",        "TUTTI_HOST",         "TUTTI_DETERMINISTIC",
    "TUTTI_COSTS", "TUTTI_TUNING",     "TUTTI_CACHE",      "TUTTI_CUDA_LIBRARY",     "TUTTI_NCCL_LIBRARY", "TUTTI_STALL_WARNING",
    "TUTTI_CHECK",
};
/// Prefixes of the variables that the tests and their simulator of devices read.
constexpr std::array<std::string_view, 2> of_tests = {"TUTTI_TEST_", "TUTTI_SIM_"};
/// The most letters that are changed, added, left out or swapped in a name that counts as misspelled.
constexpr std::size_t misspelled = 3;

/// Returns the distance of Damerau (1964), with swaps of neighbouring letters only.
std::size_t distance(std::string_view one, std::string_view other) {
    std::vector<std::size_t> before(other.size() + 1), last(other.size() + 1), now(other.size() + 1);
    std::iota(last.begin(), last.end(), std::size_t{0});
    for (std::size_t i = 1; i <= one.size(); ++i) {
        now[0] = i;
        for (std::size_t j = 1; j <= other.size(); ++j) {
            now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (one[i - 1] != other[j - 1])});
            if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
        }
        before = std::exchange(last, now);
    }
    return last.back();
}

/// Returns the variable that was probably meant, or an empty text.
std::string_view meant_by(std::string_view name) {
    const auto closer = [name](std::string_view one, std::string_view other) { return distance(one, name) < distance(other, name); };
    const std::string_view closest = *std::min_element(known.begin(), known.end(), closer);
    return distance(closest, name) <= misspelled ? closest : std::string_view();
}

// The read_ functions return false for a text that they do not understand, and change nothing if the variable is not set.

bool read_costs(context_options& into) {
    const char* const text = std::getenv("TUTTI_COSTS");
    if (!text) return true;
    into.calibrate = std::string_view(text) == "measure";
    if (into.calibrate) return true;
    const auto costs = costs_in(text, into.costs.value_or(cost_model{}));
    if (costs) into.costs = costs;
    return costs.has_value();
}

bool read_switch(const char* variable, bool& into) {
    const char* const text = std::getenv(variable);
    const std::string_view said = text ? text : "";
    if (said == "0" || said == "1") into = said == "1";
    return text == nullptr || said == "0" || said == "1";
}

bool read_transport(context_options& into) {
    const char* const text = std::getenv("TUTTI_TRANSPORT");
    if (text == nullptr) return true;
    const auto named = transport_named(text);
    if (named) into.transport = *named;
    return named.has_value();
}

template <class Number>
bool read_number(const char* variable, Number& into) {
    const char* const text = std::getenv(variable);
    if (!text) return true;
    const char* const end = text + std::strlen(text);
    const auto [last, error] = std::from_chars(text, end, into);
    return error == std::errc() && last == end && into >= 0;
}

/// More than a century is refused, because `duration` counts nanoseconds in 64 bits.
bool read_seconds(const char* variable, duration& into) {
    constexpr double century = 3.2e9;
    double seconds = std::chrono::duration<double>(into).count();
    if (!read_number(variable, seconds) || !(seconds <= century)) return false;
    into = std::chrono::duration_cast<duration>(std::chrono::duration<double>(seconds));
    return true;
}

}  // namespace

std::vector<std::string> about_unknown_variables(const char* const* entries) {
    std::vector<std::string> sentences;
    for (; entries && *entries; ++entries) {
        const std::string_view entry = *entries;
        const std::string_view name = entry.substr(0, entry.find('='));
        if (!name.starts_with(ours) || std::find(known.begin(), known.end(), name) != known.end()) continue;
        if (std::any_of(of_tests.begin(), of_tests.end(), [name](std::string_view prefix) { return name.starts_with(prefix); })) continue;
        const std::string_view meant = meant_by(name);
        sentences.push_back(fmt::format("{} is set, which means nothing to Tutti{}", name,
                                        meant.empty() ? "" : fmt::format("; perhaps {} is meant", meant)));
    }
    return sentences;
}

result<context_options> with_environment(context_options options) {
    if (!read_transport(options))
        return failure(error::invalid_argument, fmt::format("TUTTI_TRANSPORT={} is not auto, tcp or shm", std::getenv("TUTTI_TRANSPORT")));
    const auto no_number = [](const char* variable) {
        return failure(error::invalid_argument, fmt::format("{}={} is not a whole number from 0 on", variable, std::getenv(variable)));
    };
    if (!read_number("TUTTI_HOST", options.host)) return no_number("TUTTI_HOST");
    if (!read_seconds("TUTTI_STALL_WARNING", options.stall_warning))
        return failure(error::invalid_argument,
                       fmt::format("TUTTI_STALL_WARNING={} is not a number of seconds from 0 on", std::getenv("TUTTI_STALL_WARNING")));
    if (!read_number("TUTTI_CACHE", options.cache_bytes)) return no_number("TUTTI_CACHE");
    if (!read_costs(options))
        return failure(error::invalid_argument, fmt::format("TUTTI_COSTS={} is not understood; measure is, and {}",
                                                            std::getenv("TUTTI_COSTS"), to_string(cost_model{})));
    if (const char* const path = std::getenv("TUTTI_TUNING")) {
        auto text = tuning_text(path);
        if (!text) return failure(error::invalid_argument, "TUTTI_TUNING=" + text.failure().details().cause);
        options.tuning = std::move(text).value();
    }
    const auto no_switch = [](const char* variable) {
        return failure(error::invalid_argument, fmt::format("{}={} is not 0 or 1", variable, std::getenv(variable)));
    };
    if (!read_switch("TUTTI_DETERMINISTIC", options.deterministic)) return no_switch("TUTTI_DETERMINISTIC");
    if (!read_switch("TUTTI_CHECK", options.check)) return no_switch("TUTTI_CHECK");
    for (const std::string& sentence : about_unknown_variables(environ)) told_by(options)(sentence);
    return options;
}

}  // namespace tutti
