// Writing JSON: objects and arrays out of what is JSON already, numbers and texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpu_bench {

std::string quoted(std::string_view text);

class json_object {
public:
    json_object& put(std::string_view name, double value);  // null where it is no finite number
    json_object& put(std::string_view name, int value);
    json_object& put(std::string_view name, bool value);
    json_object& put(std::string_view name, std::string_view text);
    json_object& put(std::string_view name, const char* text) { return put(name, std::string_view(text)); }
    json_object& put(std::string_view name, const json_object& inner) { return put_json(name, inner.text()); }
    json_object& put(std::string_view name, const std::vector<json_object>& inner);

    std::string text() const { return "{" + members_ + "}"; }

private:
    json_object& put_json(std::string_view name, const std::string& json);

    std::string members_;
};

}  // namespace gpu_bench
