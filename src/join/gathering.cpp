#include "join/gathering.hpp"

#include "group/context_state.hpp"
#include "rendezvous/address.hpp"

#include "base/bytes.hpp"
#include "base/descriptors.hpp"

#include <tutti/sleep.hpp>
#include <tutti/when_all.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace tutti {
namespace {

using namespace std::chrono_literals;
using detail::membership;

// Between two reads of a key that still holds the value of an earlier join: get() returns that at once.
constexpr duration first_pause = 5ms, longest_pause = 50ms;
// For the list, before a rank looks whether rank 0 was started again and has called anew.
constexpr duration shortest_wait = 250ms, longest_wait = 2s;
// Beyond the deadline, for the word of rank 0 about the missing ranks.
constexpr duration last_words = 1s;
// A rank that hears nothing from rank 0 looks in the store for the answers of at most `most_looked_for` ranks, for as long as `look`.
constexpr duration look = 250ms;
constexpr rank most_looked_for = 1024;

/// Returns the number at the beginning of a text, and in `rest` the text behind it and a space. 0: there is none.
template <class Rest>
std::uint64_t number_before(std::string_view text, Rest& rest) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(std::min(static_cast<std::size_t>(end - text.data()) + 1, text.size()));
    rest = Rest(text);
    return error == std::errc() ? number : 0;
}

}  // namespace

/// The answers that rank 0 has read, with the ranks that are late and the failure of the store.
struct gathering::answers {
    explicit answers(int size) : from(static_cast<std::size_t>(size)) {}
    contact& of(rank which) { return from[static_cast<std::size_t>(which)]; }
    bool all_came() const { return late.empty() && !broken; }

    std::vector<contact> from;  // by rank
    std::vector<rank> late;
    std::optional<failure> broken;
};

std::string gathering::key(const char* what) const { return fmt::format("{}/{}", job, what); }
std::string gathering::address_key(rank which) const { return fmt::format("{}/address/{}", job, which); }

std::string gathering::awaited() const {
    if (who.me != 0) return "rank 0, which has not said who the members are";
    return fmt::format("rank {}{}", next_, next_ + 1 < who.size ? ", and perhaps ranks of larger numbers" : "");
}

void gathering::listen(contact& mine, const std::string& address) {
    try {
        mine.address = context_.network(address).address();
    } catch (const failure& why) {
        if (!out_of_descriptors(why.code())) throw;
        report told = without_descriptor(who.me, "the links of other ranks", why.code());
        told.operation = "join world";
        told.local = who.me;
        throw failure(std::move(told));
    }
    context_.acceptor().expect(digest_of(job));
}

task<> gathering::run(membership& all) {
    auto work = who.me == 0 ? call(all) : answer(all);
    co_await std::move(work);
}

// ---- rank 0

/// Reads a rank's answer to this call, with an address if `located`. Returns nothing if the rank did not answer in time.
task<result<std::optional<contact>>> gathering::contact_with(rank other, std::uint64_t call, bool located, time_point limit) {
    event_loop& loop = co_await this_loop;
    for (duration pause = first_pause;; pause = std::min(2 * pause, longest_pause)) {
        auto text = co_await meeting.get(address_key(other), limit);
        if (!text && text.failure().code() != error::timed_out) co_return text.failure();
        if (text) {
            contact theirs = contact_in(*text);
            if (theirs.call == call && (theirs.located() || !located)) co_return std::optional(std::move(theirs));
        }
        if (!text || loop.now() >= limit) co_return std::optional<contact>();
        co_await sleep_until(std::min(later(loop.now(), pause), limit));
    }
}

task<> gathering::collect(answers& told, bool located) {
    const std::uint64_t call = told.of(0).call;
    for (rank each = 1; each < who.size && !told.broken; ++each) {
        contact& theirs = told.of(each);
        if (theirs.call == call && (theirs.located() || !located)) continue;
        next_ = each;
        // Once a rank is late, rank 0 only looks whether the answers of the remaining ranks are there.
        const time_point limit = told.late.empty() ? deadline : later(deadline, 100ms);
        auto found = co_await contact_with(each, call, located, limit);
        if (!found) told.broken = found.failure();
        else if (*found) theirs = std::move(**found);
        else told.late.push_back(each);
    }
}

/// Rank 0 listens. A rank that reached the store by loopback knows no address for other hosts: it shares the host of rank 0, and is told to
/// listen on the same address.
task<> gathering::locate(answers& told) {
    const bool complete = std::all_of(told.from.begin() + 1, told.from.end(), [](const contact& each) { return each.located(); });
    const std::string reached = meeting.local_address();
    const std::string address = address_for_peers(who, reached).value_or(reached);
    try {
        if (told.all_came()) listen(told.of(0), address);
    } catch (const failure& why) {
        told.broken = why;
    }
    if (complete) co_return;
    const std::string place = told.all_came() ? address : "";
    auto said = co_await meeting.set(key("home"), fmt::format("{} {}", told.of(0).call, place), later(deadline, last_words));
    if (!said && !told.broken) told.broken = said.failure();
    if (told.all_came()) co_await collect(told, true);
}

/// Rank 0: calls, reads the answers, and publishes the list or the names of the late ranks, so that every rank names them.
task<> gathering::call(membership& all) {
    answers told(who.size);
    contact& mine = told.of(0);
    mine = contact_of(context_.options(), 0);
    all.call = mine.call = fresh_number();
    auto called = co_await meeting.set(key("call"), fmt::format("{} {}", mine.call, who.size), deadline);
    called.value();
    co_await collect(told, false);
    co_await locate(told);

    addressees to;
    to.call = mine.call;
    std::map<std::string, int> names;
    core_set cores;
    std::vector<int> hosts;
    for (const contact& each : told.from) {
        hosts.push_back(names.try_emplace(each.host, static_cast<int>(names.size())).first->second);
        if (hosts.back() == 0) cores.add(each.cores);
        to.tickets.push_back(each.ticket);
        all.addresses[to.tickets.size() - 1] = each.address;
    }
    all.hosts = host_map(hosts);
    choose_settings(all, context_, cores);
    std::string cause, text;
    if (told.broken) {
        cause = told.broken->details().cause;
        const bool says_who = told.broken->details().root == 0;
        text = write_failure(to, '?', says_who ? cause : fmt::format("rank 0 could not ask the store for the addresses: {}", cause));
    } else if (!told.late.empty()) {
        cause = fmt::format("of {} ranks these did not come in time: {}", who.size, fmt::join(told.late, ", "));
        text = write_failure(to, '!', cause);
    } else {
        text = write_members(to, all);
    }
    auto published = co_await meeting.set(key("members"), std::move(text), later(deadline, last_words));
    heard_ = published && !told.broken;
    if (told.broken) throw *told.broken;
    if (!told.late.empty()) throw late_ranks(all, told.late, cause);
    published.value();
}

// ---- the other ranks

task<bool> gathering::has_come(rank which, std::uint64_t call, time_point limit) {
    auto text = co_await meeting.get(address_key(which), limit);
    co_return text.has_value() && contact_in(*text).call == call;
}

/// Returns the failure of a rank that rank 0 leaves without a word: it names the answers that are not in the store.
task<failure> gathering::not_called(const membership& all, std::uint64_t call) {
    if (call == 0) co_return late_ranks(all, {0}, "rank 0 did not come in time");
    event_loop& loop = co_await this_loop;
    std::vector<task<bool>> looks;
    for (rank each = 1; each < std::min(who.size, most_looked_for); ++each) looks.push_back(has_come(each, call, later(loop.now(), look)));
    auto looking = when_all(std::move(looks));
    const std::vector<bool> came = co_await std::move(looking);
    std::vector<rank> late;
    for (std::size_t each = 0; each < came.size(); ++each)
        if (!came[each]) late.push_back(static_cast<rank>(each + 1));
    std::string cause = "rank 0 published no list of members in time";
    if (!late.empty()) cause += fmt::format("; of {} ranks these had not come: {}", who.size, fmt::join(late, ", "));
    co_return late_ranks(all, std::move(late), std::move(cause));
}

/// Answers the call of rank 0, unless this rank has answered it already. A rank 0 that was started again calls with another number.
task<> gathering::obey(const membership& all, contact& mine, time_point limit) {
    auto called = co_await meeting.get(key("call"), limit);
    if (!called && called.failure().code() == error::timed_out) throw late_ranks(all, {0}, "rank 0 did not come in time");
    std::string_view size_told;
    const std::uint64_t call = number_before(called.value(), size_told);
    if (call == mine.call) co_return;
    if (size_told != std::to_string(who.size))
        throw not_joined(all, error::bad_launch, fmt::format("rank 0 was told of {} ranks, rank {} of {}", size_told, who.me, who.size));
    mine.call = context_.last_call(digest_of(job)) = call;
    auto said = co_await meeting.set(address_key(who.me), mine.to_string(), limit);
    said.value();
}

/// Returns whether a list belongs to this join: it repeats this rank's ticket. `earlier` is the call that this context answered in its last
/// join.
bool gathering::is_for(const addressees& to, const contact& mine, std::string_view rest, std::uint64_t earlier) const {
    const auto me = static_cast<std::size_t>(who.me);
    if (to.call != mine.call || me >= to.tickets.size()) return false;
    const bool unread = to.tickets[me] == 0 && rest.starts_with('?') && to.call != earlier;  // rank 0 read no ticket
    return to.tickets[me] == mine.ticket || unread;
}

/// Listens on the address that rank 0 says, and answers again with the port.
task<> gathering::settle(contact& mine, std::string address, time_point limit) {
    listen(mine, address);
    std::string text = mine.to_string();
    auto said = co_await meeting.set(address_key(who.me), std::move(text), limit);
    said.value();
}

/// Waits for the list of this join, and answers calls and settles on an address meanwhile. Returns the list without its first line.
task<std::string> gathering::hear(const membership& all, contact& mine, time_point limit) {
    event_loop& loop = co_await this_loop;
    duration pause = first_pause, wait = shortest_wait;
    const std::uint64_t earlier = context_.last_call(digest_of(job));
    for (bool placed = mine.located();;) {
        co_await obey(all, mine, limit);
        const std::string where = key(placed ? "members" : "home");
        const time_point until = std::min(limit, later(loop.now(), wait));
        auto text = co_await meeting.get(where, until);
        if (!text && text.failure().code() != error::timed_out) throw text.failure();
        std::string_view rest = text ? std::string_view(*text) : std::string_view();
        if (placed) {
            const addressees to = read_addressees(rest);
            if (is_for(to, mine, rest, earlier)) co_return std::string(rest);
        } else if (std::string address; number_before(rest, address) == mine.call) {
            placed = true;
            if (!address.empty()) co_await settle(mine, address, limit);  // without an address the list says why
            continue;
        }
        if (loop.now() >= limit) {
            auto looking = not_called(all, mine.call);
            const failure why = co_await std::move(looking);
            throw why;
        }
        if (text) co_await sleep_until(std::min(later(loop.now(), pause), limit));  // of an earlier join
        pause = std::min(2 * pause, longest_pause);
        wait = std::min(2 * wait, longest_wait);
    }
}

task<> gathering::answer(membership& all) {
    contact mine = contact_of(context_.options(), who.me);
    const auto address = address_for_peers(who, meeting.local_address());
    if (address || context_.has_network()) listen(mine, address.value_or(""));
    else mine.address = contact::unknown;
    auto hearing = hear(all, mine, later(deadline, last_words));
    const std::string list = co_await std::move(hearing);
    heard_ = true;
    read_members(list, all);
    all.call = mine.call;
}

}  // namespace tutti
