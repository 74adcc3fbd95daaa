#include "join/members.hpp"

#include "group/context_state.hpp"

#include "algorithm/cost_text.hpp"
#include "transport/shm_transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tutti {
namespace {

using detail::membership;

bool share_memory(const membership& all) {
    return std::all_of(all.addresses.begin(), all.addresses.end(),
                       [](const auto& address) { return address.find(shm_scheme) != std::string::npos; });
}

/// Returns the transport within a host, for which a tuning has lines.
transport_kind transport_within(const membership& all) { return share_memory(all) ? transport_kind::shm : transport_kind::tcp; }

/// Returns the costs where the user gives none: those of the transport within a host, whose ranks share `cores`. Nothing is known of a
/// transport that the user made.
cost_model usual_costs(const membership& all, const detail::context_state& context, const core_set& cores) {
    if (context.options().costs) return *context.options().costs;
    if (!context.own_network()) return {};
    cost_model costs = share_memory(all) ? shared_memory_costs : cost_model{};
    costs.cores = cores.count();
    return costs;
}

/// Returns the slice of reductions. In shared memory, an operand is copied to where its peer can read it, unless it lies there. With half
/// as long slices, those of all ranks stay in the caches until the sum is copied back.
std::size_t usual_reduced_slice_bytes(const membership& all, const detail::context_state& context) {
    return all.hosts.count() == 1 && context.own_network() && share_memory(all) ? default_slice_bytes / 2 : 0;
}

bool read_list(std::string_view text, membership& into) {
    const auto line = [&text] {
        const auto end = text.find('\n');
        const auto found = text.substr(0, end);
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
        return found;
    };
    std::string_view rest = line();
    const auto number = [&rest](auto& found) {
        const char* const last = rest.data() + rest.size();
        const auto read = std::from_chars(rest.data(), last, found);
        if (read.ec != std::errc{} || read.ptr == last) return false;
        rest.remove_prefix(static_cast<std::size_t>(read.ptr - rest.data()) + 1);
        return true;
    };
    engine_settings& told = into.settings;
    if (!number(told.slice_bytes) || !number(told.reduced_slice_bytes) || !number(told.small_bytes)) return false;
    if (!number(told.lanes) || told.slice_bytes == 0 || told.lanes < 1 || told.lanes > most_lanes) return false;
    const auto yes_or_no = [](char digit) { return digit == '0' || digit == '1'; };
    if (rest.size() < 3 || !yes_or_no(rest[0]) || !yes_or_no(rest[1]) || rest[2] != ' ') return false;
    const std::string_view numbers = rest.substr(3, rest.find(' ', 3) - 3);
    const auto costs = costs_in(numbers);
    if (!costs || to_string(*costs) != numbers || numbers.size() + 3 == rest.size())
        return false;  // another build may know other numbers, and would choose otherwise
    into.calibrate = rest[0] == '1';
    told.deterministic = rest[1] == '1';
    told.costs = *costs;
    std::vector<int> hosts;
    for (auto& each : into.addresses) {
        const std::string_view both = line();
        const auto host = std::from_chars(both.data(), both.data() + both.size(), hosts.emplace_back());
        if (host.ec != std::errc{} || host.ptr == both.data() + both.size() || *host.ptr != ' ') return false;
        each = both.substr(static_cast<std::size_t>(host.ptr + 1 - both.data()));
    }
    into.hosts = host_map(hosts);
    auto tuned = tuning_in(rest.substr(numbers.size() + 4), transport_within(into));
    if (!tuned) return false;  // another build may know other algorithms
    told.tuning = std::move(tuned).value();
    return !into.addresses.back().empty() && text.empty();
}

/// Returns the ranks in a failure's text: behind the first colon, with commas between.
std::vector<rank> ranks_in(std::string_view said) {
    std::vector<rank> all;
    for (std::size_t at = said.find(": "); at != said.npos; at = said.find(", ", at + 1)) {
        rank one = 0;
        if (std::from_chars(said.data() + at + 2, said.data() + said.size(), one).ec == std::errc()) all.push_back(one);
    }
    return all;
}

std::string first_line(const addressees& to) {
    std::string text = std::to_string(to.call);
    for (const std::uint32_t each : to.tickets) text += fmt::format(" {}", each);
    return text + "\n";
}

}  // namespace

void choose_settings(membership& all, const detail::context_state& context, const core_set& cores) {
    all.settings.costs = usual_costs(all, context, cores);
    all.settings.tuning = tuning_in(context.options().tuning, transport_within(all)).value();
    if (context.options().slice_bytes == 0) {
        all.settings.slice_bytes = default_slice_bytes;
        all.settings.reduced_slice_bytes = usual_reduced_slice_bytes(all, context);
    }
}

std::string write_members(const addressees& to, const membership& all) {
    std::string text = first_line(to);
    text += fmt::format("{} {} {} {} {}{} {} {}\n", all.settings.slice_bytes, all.settings.reduced_slice_bytes, all.settings.small_bytes,
                        all.settings.lanes, int{all.calibrate}, int{all.settings.deterministic}, to_string(all.settings.costs),
                        to_string(all.settings.tuning, transport_within(all)));
    for (std::size_t each = 0; each < all.addresses.size(); ++each)
        text += fmt::format("{} {}\n", all.hosts.host(static_cast<rank>(each)), all.addresses[each]);
    return text;
}

std::string write_failure(const addressees& to, char kind, std::string_view text) {
    return fmt::format("{}{}{}", first_line(to), kind, text);
}

addressees read_addressees(std::string_view& text) {
    addressees found;
    const char* at = text.data();
    const char* const end = at + std::min(text.find('\n'), text.size());
    const auto number = [&at, end](auto& into) {
        while (at != end && *at == ' ') ++at;
        const auto [next, error] = std::from_chars(at, end, into);
        at = next;
        return error == std::errc();
    };
    if (number(found.call))
        for (std::uint32_t ticket = 0; number(ticket);) found.tickets.push_back(ticket);
    if (at != end) found.tickets.clear();
    text.remove_prefix(std::min(static_cast<std::size_t>(end - text.data()) + 1, text.size()));
    return found;
}

void read_members(std::string_view text, membership& into) {
    if (text.starts_with('!')) throw late_ranks(into, ranks_in(text), std::string(text.substr(1)));
    if (text.starts_with('?')) throw not_joined(into, error::system, std::string(text.substr(1)));
    if (!read_list(text, into))
        throw not_joined(into, error::protocol_error, "the list of members in the store is not one of this version");
}

failure not_joined(const membership& who, error code, std::string cause) {
    report why;
    why.code = code;
    why.operation = fmt::format("join {}", who.name);
    why.local = who.me;
    why.cause = std::move(cause);
    return failure(std::move(why));
}

failure late_ranks(const membership& all, std::vector<rank> late, std::string cause) {
    report why = not_joined(all, error::rendezvous_timeout, std::move(cause)).details();
    why.peers = std::move(late);
    return failure(std::move(why));
}

}  // namespace tutti
