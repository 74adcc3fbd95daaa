// The fake libraries of this folder, by the names that meson.build gives them, and environments that point to them.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace tutti::gpu {

inline bool contains(std::string_view text, std::string_view piece) { return text.find(piece) != text.npos; }

/// "sound", "old", "without_required", "without_optional", "no_device", "unknown_error", "zero_devices", "stub"
inline std::string fake(std::string kind) {
    for (char& letter : kind) letter = static_cast<char>(letter >= 'a' && letter <= 'z' ? letter - 'a' + 'A' : letter);
    const char* path = std::getenv(("FAKE_" + kind).c_str());
    REQUIRE_MESSAGE(path != nullptr, "meson test sets FAKE_" << kind);
    return path;
}

/// A variable of the environment, until the end of the scope.
class variable {
public:
    variable(const char* name, const std::string& value) : name_(name) {
        if (const char* was = std::getenv(name)) before_ = was;
        ::setenv(name, value.c_str(), 1);
    }
    variable(const variable&) = delete;
    variable& operator=(const variable&) = delete;
    ~variable() {
        if (before_.empty()) ::unsetenv(name_);
        else ::setenv(name_, before_.c_str(), 1);
    }

private:
    const char* name_;
    std::string before_;
};

}  // namespace tutti::gpu
