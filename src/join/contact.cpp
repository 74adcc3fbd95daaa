#include "join/contact.hpp"

#include "transport/local_socket.hpp"

#include <tutti/context_options.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <random>

namespace tutti {

std::string contact::to_string() const { return fmt::format("{} {} {} {} {}", call, ticket, host, cores.to_string(), address); }

contact contact_of(const context_options& options, rank me) {
    auto host = host_identity(options.host);
    contact mine;
    mine.ticket = static_cast<std::uint32_t>(fresh_number() | 1);
    mine.host = host ? *host : fmt::format("rank-{}", me);
    mine.cores = core_set::of_this_thread();
    return mine;
}

contact contact_in(std::string_view text) {
    const auto word = [&text] {
        const auto end = std::min(text.find(' '), text.size());
        const auto found = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        return found;
    };
    const auto number = [&word](auto& into) {
        const auto digits = word();
        std::from_chars(digits.data(), digits.data() + digits.size(), into);
    };
    contact found;
    number(found.call);
    number(found.ticket);
    found.host = word();
    found.cores = core_set::in(word());
    found.address = text;
    return found;
}

std::uint64_t fresh_number() {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
}

}  // namespace tutti
