#include "algorithm/cost_text.hpp"

#include "base/transport_names.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>

namespace tutti {
namespace {

constexpr double most_seconds = 1e6;  // small enough that no sum of estimates becomes infinite
constexpr double most_finite = std::numeric_limits<double>::max();

struct field {
    std::string_view name;
    double cost_model::*value;
    double greatest = most_seconds;
};
constexpr field fields[] = {{"round", &cost_model::round},
                            {"message", &cost_model::message},
                            {"moved_byte", &cost_model::moved_byte},
                            {"reduced_byte", &cost_model::reduced_byte},
                            {"far_round", &cost_model::far_round},
                            {"far_byte", &cost_model::far_byte},
                            {"cores", &cost_model::cores, most_finite}};
static_assert(sizeof(cost_model) == std::size(fields) * sizeof(double));

bool assign(cost_model& costs, std::string_view name, std::string_view value) {
    for (const field& each : fields) {
        if (each.name != name) continue;
        double number = 0;
        const char* const end = value.data() + value.size();
        const auto [last, error] = std::from_chars(value.data(), end, number);
        if (error != std::errc() || last != end || !(number >= 0 && number <= each.greatest)) return false;
        if (each.value == &cost_model::cores && number > 0 && number < 1) return false;
        costs.*each.value = number;
        return true;
    }
    return false;
}

}  // namespace

std::string to_string(const cost_model& costs) {
    std::string text;
    for (const field& each : fields) {
        char number[32];
        const auto written = std::to_chars(number, number + sizeof number, costs.*each.value);
        text += text.empty() ? "" : ",";
        text.append(each.name).append("=").append(number, written.ptr);
    }
    return text;
}

std::optional<cost_model> costs_in(std::string_view text, cost_model base) {
    const std::string_view first = text.substr(0, text.find(','));
    if (const auto named = transport_named(first); named && named != transport_kind::automatic) {
        base = named == transport_kind::shm ? shared_memory_costs : cost_model{};
        text.remove_prefix(std::min(first.size() + 1, text.size()));
    }
    while (!text.empty()) {
        const std::string_view item = text.substr(0, text.find(','));
        const std::size_t equals = item.find('=');
        if (equals == item.npos || !assign(base, item.substr(0, equals), item.substr(equals + 1))) return std::nullopt;
        text.remove_prefix(std::min(item.size() + 1, text.size()));
    }
    return base;
}

}  // namespace tutti
