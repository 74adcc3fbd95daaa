// The names of transports, wherever they are text: environment variables, options of tools, tunings and costs.
#pragma once

#include <tutti/context_options.hpp>

#include <initializer_list>
#include <optional>
#include <string_view>

namespace tutti {

constexpr std::string_view name(transport_kind kind) noexcept {
    switch (kind) {
        case transport_kind::automatic: return "auto";
        case transport_kind::tcp: return "tcp";
        case transport_kind::shm: return "shm";
    }
    return "";
}

/// Returns none if no transport has that name.
constexpr std::optional<transport_kind> transport_named(std::string_view text) noexcept {
    for (const transport_kind each : {transport_kind::automatic, transport_kind::tcp, transport_kind::shm})
        if (name(each) == text) return each;
    return std::nullopt;
}

}  // namespace tutti
