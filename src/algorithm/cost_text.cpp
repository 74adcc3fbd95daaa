#include "algorithm/cost_text.hpp"

#include <charconv>
#include <cmath>
#include <iterator>

namespace tutti {
namespace {

struct field {
    std::string_view name;
    double cost_model::*value;
};
constexpr field fields[] = {{"round", &cost_model::round},
                            {"message", &cost_model::message},
                            {"link", &cost_model::link},
                            {"moved_byte", &cost_model::moved_byte},
                            {"reduced_byte", &cost_model::reduced_byte},
                            {"spread_byte", &cost_model::spread_byte},
                            {"spread_from", &cost_model::spread_from},
                            {"answered", &cost_model::answered},
                            {"allocated", &cost_model::allocated},
                            {"far_round", &cost_model::far_round},
                            {"far_byte", &cost_model::far_byte},
                            {"cores", &cost_model::cores},
                            {"crowded", &cost_model::crowded},
                            {"uneven", &cost_model::uneven}};
static_assert(sizeof(cost_model) == std::size(fields) * sizeof(double));

bool assign(cost_model& costs, std::string_view name, std::string_view value) {
    for (const field& each : fields) {
        if (each.name != name) continue;
        double number = 0;
        const char* const end = value.data() + value.size();
        const auto [last, error] = std::from_chars(value.data(), end, number);
        if (error != std::errc() || last != end || !std::isfinite(number) || number < 0) return false;
        const bool part = each.value == &cost_model::answered || each.value == &cost_model::allocated || each.value == &cost_model::uneven;
        if (part && number > 1) return false;
        if (each.value == &cost_model::crowded && number < 1) return false;
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
    while (!text.empty()) {
        const std::string_view item = text.substr(0, text.find(','));
        const std::size_t equals = item.find('=');
        if (item == "tcp") base = cost_model{};
        else if (item == "shm") base = shared_memory_costs;
        else if (equals == item.npos || !assign(base, item.substr(0, equals), item.substr(equals + 1))) return std::nullopt;
        text.remove_prefix(std::min(item.size() + 1, text.size()));
    }
    return base;
}

}  // namespace tutti
