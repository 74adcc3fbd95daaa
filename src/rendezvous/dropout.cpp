#include "rendezvous/dropout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <span>

namespace tutti {
namespace {

constexpr std::size_t most_peers = 4096;
constexpr std::size_t longest_cause = 32 * 1024;

bool number_in(std::string_view& text, int& into) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const bool more = !text.empty();
    if (more) text.remove_prefix(1);  // what separates numbers
    return error == std::errc() && more;
}

}  // namespace

std::string write_dropout(const report& why) {
    const int code = why.code.category() == error_category() ? why.code.value() : static_cast<int>(error::system);
    const std::span<const rank> peers(why.peers.data(), std::min(why.peers.size(), most_peers));
    const std::string cause = why.cause.empty() ? why.code.message() : why.cause;
    std::string text = fmt::format("{} {} {} ", code, why.root, peers.size());
    for (const rank each : peers) text += fmt::format("{} ", each);
    return text + cause.substr(0, longest_cause);
}

std::optional<report> read_dropout(std::string_view text) {
    report why;
    int code = 0, count = 0;
    if (!number_in(text, code) || !number_in(text, why.root) || !number_in(text, count)) return {};
    if (code < static_cast<int>(error::cancelled) || code > static_cast<int>(error::device_failed)) return {};
    for (int peer = 0; count > 0; --count) {
        if (!number_in(text, peer)) return {};
        why.peers.push_back(peer);
    }
    why.code = make_error_code(static_cast<error>(code));
    why.cause = text;
    return why;
}

}  // namespace tutti
