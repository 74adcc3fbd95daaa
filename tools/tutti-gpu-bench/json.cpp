#include "json.hpp"

#include <fmt/format.h>

#include <cmath>

namespace gpu_bench {

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char letter : text) {
        if (static_cast<unsigned char>(letter) < 0x20) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(letter));
            continue;
        }
        if (letter == '"' || letter == '\\') out += '\\';
        out += letter;
    }
    return out + "\"";
}

json_object& json_object::put_json(std::string_view name, const std::string& json) {
    members_ += fmt::format("{}{}: {}", members_.empty() ? "" : ", ", quoted(name), json);
    return *this;
}

json_object& json_object::put(std::string_view name, double value) {
    return put_json(name, std::isfinite(value) ? fmt::format("{:.6g}", value) : "null");
}
json_object& json_object::put(std::string_view name, int value) { return put_json(name, fmt::format("{}", value)); }
json_object& json_object::put(std::string_view name, bool value) { return put_json(name, value ? "true" : "false"); }
json_object& json_object::put(std::string_view name, std::string_view text) { return put_json(name, quoted(text)); }

json_object& json_object::put(std::string_view name, const std::vector<json_object>& inner) {
    std::string all;
    for (const json_object& each : inner) all += (all.empty() ? "" : ",\n  ") + each.text();
    return put_json(name, "[" + all + "]");
}

}  // namespace gpu_bench
