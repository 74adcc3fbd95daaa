// What a rank says of itself in the store, before it knows the others.
#pragma once

#include "base/core_set.hpp"
#include "transport/local_socket.hpp"

#include <tutti/context.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tutti {

/// What a rank leaves in the store: the name of its host, the cores that it may use there, the least number that this join may have for it, and
/// its address, with spaces between.
struct contact {
    std::string host;
    core_set cores;
    std::uint64_t number;
    std::string address;

    std::string to_string() const { return fmt::format("{} {} {} {}", host, cores.to_string(), number, address); }
};

/// Who cannot tell where it is, is alone there.
inline contact contact_of(const context_options& options, rank me, std::uint64_t number, std::string address) {
    auto host = host_identity(options.host);
    return {host ? *host : fmt::format("rank-{}", me), core_set::of_this_thread(), number, std::move(address)};
}

inline contact contact_in(std::string_view text) {
    const auto word = [&text] {
        const auto end = std::min(text.find(' '), text.size());
        const auto found = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        return found;
    };
    const auto host = word(), cores = word(), number = word();
    contact found{std::string(host), core_set::in(cores), 0, std::string(text)};
    std::from_chars(number.data(), number.data() + number.size(), found.number);
    return found;
}

}  // namespace tutti
