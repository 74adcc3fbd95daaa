// How a whole job becomes a communicator: everybody leaves an address in the store, rank 0 reads them all and publishes the list with
// the settings that all must share, and each rank opens its control link to another, its parent.
#include "communicator/calibrate.hpp"
#include "communicator/contact.hpp"
#include "communicator/group.hpp"
#include "communicator/home.hpp"
#include "communicator/spawn.hpp"

#include "algorithm/cost_text.hpp"
#include "base/bytes.hpp"
#include "base/core_set.hpp"
#include "base/descriptors.hpp"
#include "runtime/event.hpp"
#include "transport/local_socket.hpp"
#include "transport/tcp_link.hpp"

#include <tutti/when_all.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace tutti {
namespace {

/// For so long rank 0 keeps its store for others to read who is missing.
constexpr duration last_words = std::chrono::milliseconds(500);

using detail::membership;

std::string address_key(const std::string& job, rank which) { return fmt::format("{}/address/{}", job, which); }
std::string members_key(const std::string& job) { return fmt::format("{}/members", job); }
/// Where a rank of that join says why it cannot come.
std::string failed_key(const std::string& job, std::uint64_t number) { return fmt::format("{}/failed/{}", job, number); }

bool share_memory(const membership& all) {
    return std::all_of(all.addresses.begin(), all.addresses.end(),
                       [](const auto& address) { return address.find("shm3:") != std::string::npos; });
}

/// As tuning has it: what joins the ranks of a host.
std::string_view transport_name(const membership& all) { return share_memory(all) ? "shm" : "tcp"; }

/// One line of settings, the first of them the number of the join and the last a tuning, then for each rank the number of its host and its
/// address; or '!' and who is late, or '?' and what went wrong.
std::string write_members(const membership& all) {
    std::string text =
        fmt::format("{} {} {} {} {} {} {}{} {} {}\n", all.number, all.settings.slice_bytes, all.settings.reduced_slice_bytes,
                    all.settings.packet_bytes, all.settings.small_bytes, all.settings.lanes, int{all.calibrate},
                    int{all.settings.deterministic}, to_string(all.settings.costs), to_string(all.settings.tuning, transport_name(all)));
    for (std::size_t each = 0; each < all.addresses.size(); ++each)
        text += fmt::format("{} {}\n", all.hosts.host(static_cast<rank>(each)), all.addresses[each]);
    return text;
}

bool read_members(std::string_view text, membership& into) {
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
    if (!number(into.number) || !number(told.slice_bytes) || !number(told.reduced_slice_bytes) || !number(told.packet_bytes) ||
        !number(told.small_bytes))
        return false;
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
    auto tuned = tuning_in(rest.substr(numbers.size() + 4), transport_name(into));
    if (!tuned) return false;  // another build may know other algorithms
    told.tuning = std::move(tuned).value();
    return !into.addresses.back().empty() && text.empty();
}

/// The communicators of one job in a context have numbers, so that nobody who calls one is let into another. `next` is that of the next: this one's
/// at least, and again if it does not form.
class join_number {
public:
    explicit join_number(std::uint64_t& next) noexcept : next_(next), least_(next++) {}
    join_number(const join_number&) = delete;
    join_number& operator=(const join_number&) = delete;
    ~join_number() {
        if (next_ == least_ + 1 && !formed_) next_ = least_;
    }
    std::uint64_t least() const noexcept { return least_; }
    /// With that number: the largest of all ranks' least.
    void formed(std::uint64_t number) noexcept {
        next_ = std::max(next_, number + 1);
        formed_ = true;
    }

private:
    std::uint64_t& next_;
    const std::uint64_t least_;
    bool formed_ = false;
};

failure not_joined(const membership& who, error code, std::string cause) {
    report why;
    why.code = code;
    why.operation = fmt::format("join {}", who.name);
    why.local = who.me;
    why.cause = std::move(cause);
    return failure(std::move(why));
}

/// What rank 0 takes when nobody says otherwise: by what joins the ranks of a host, which share its cores. Of a transport that was given
/// nothing is known. `cores`: of rank 0's host, each of which some of its ranks may use.
cost_model usual_costs(const membership& all, const context::state& home, const core_set& cores) {
    if (home.options().costs) return *home.options().costs;
    if (!home.own_network()) return {};
    cost_model costs = share_memory(all) ? shared_memory_costs : cost_model{};
    costs.cores = cores.count();
    return costs;
}

/// Whether any ranks are joined by sockets of their host.
bool loops_back(const membership& all, const context::state& home) {
    return static_cast<std::size_t>(all.hosts.count()) < all.addresses.size() && home.own_network() && !share_memory(all);
}

/// What rank 0 takes when nobody says otherwise. The system's copy of what two ranks send each other over sockets of their host is made in
/// memory that the other one has just read; the longer they send before they receive, the less of that is still in the other's cache. More
/// ranks than two need their caches for more blocks.
std::size_t usual_slice_bytes(const membership& all, const context::state& home) {
    const bool sockets_of_two = all.addresses.size() == 2 && loops_back(all, home);
    return sockets_of_two && all.settings.lanes == 1 ? 2 * default_slice_bytes : default_slice_bytes;
}

/// In memory that all ranks share what is reduced is copied to where its peer can read it, unless it lies there. Half as long slices of all
/// ranks stay in the caches, from there until the sum is copied back.
std::size_t usual_reduced_slice_bytes(const membership& all, const context::state& home) {
    return all.hosts.count() == 1 && home.own_network() && share_memory(all) ? default_slice_bytes / 2 : 0;
}

/// From what rank 0 says of ranks that are late, which ends with their numbers.
failure late_ranks(const membership& all, std::string_view said) {
    report why = not_joined(all, error::rendezvous_timeout, std::string(said)).details();
    for (std::size_t at = said.find(": "); at != said.npos; at = said.find(", ", at + 1)) {
        rank late = 0;
        if (std::from_chars(said.data() + at + 2, said.data() + said.size(), late).ec == std::errc()) why.peers.push_back(late);
    }
    return failure(std::move(why));
}

/// Rank 0: the addresses of all, who shares a host, slices, and costs. Who is late is named on every rank.
task<> collect(store& meeting, const std::string& job, membership& all, const contact& mine, const context::state& home,
               time_point deadline) {
    std::string missing;
    std::optional<failure> broken;
    std::map<std::string, int> names{{mine.host, 0}};
    core_set cores = mine.cores;
    std::vector<int> hosts(all.addresses.size());
    for (rank each = 1; each < static_cast<rank>(all.addresses.size()); ++each) {
        // When one is late the others are only looked for, not waited for.
        const time_point limit = missing.empty() ? deadline : later(deadline, std::chrono::milliseconds(100));
        auto told = co_await meeting.get(address_key(job, each), limit);
        if (!told && told.failure().code() != error::timed_out) {
            broken = told.failure();
            break;
        }
        if (told) {
            contact theirs = contact_in(*told);
            const int host = names.try_emplace(theirs.host, static_cast<int>(names.size())).first->second;
            if (host == 0) cores.add(theirs.cores);
            all.number = std::max(all.number, theirs.number);
            hosts[static_cast<std::size_t>(each)] = host;
            all.addresses[static_cast<std::size_t>(each)] = std::move(theirs.address);
        } else {
            missing += fmt::format("{}{}", missing.empty() ? "" : ", ", each);
        }
    }
    all.hosts = host_map(hosts);
    all.settings.costs = usual_costs(all, home, cores);
    all.settings.tuning = tuning_in(home.options().tuning, transport_name(all)).value();
    if (home.options().slice_bytes == 0) {
        all.settings.slice_bytes = usual_slice_bytes(all, home);
        all.settings.reduced_slice_bytes = usual_reduced_slice_bytes(all, home);
    }
    if (loops_back(all, home)) all.settings.packet_bytes = loopback_packet_bytes;
    std::string text = write_members(all);
    if (!missing.empty()) text = fmt::format("!of {} ranks these did not come in time: {}", all.addresses.size(), missing);
    if (broken) text = fmt::format("?rank 0 could not ask the store for the addresses: {}", broken->details().cause);
    auto published = co_await meeting.set(members_key(job), text, later(deadline, std::chrono::seconds(1)));
    if (broken) throw *broken;
    if (!missing.empty()) throw late_ranks(all, text.substr(1));
    published.value();
}

void take_list(const std::string& text, membership& all) {
    if (text.starts_with('!')) throw late_ranks(all, text.substr(1));
    if (text.starts_with('?')) throw not_joined(all, error::system, text.substr(1));
    if (const auto lines = std::count(text.begin(), text.end(), '\n'); lines > 1 && lines - 1 != std::ssize(all.addresses))
        throw not_joined(all, error::bad_launch,
                         fmt::format("rank 0 was told of {} ranks, rank {} of {}", lines - 1, all.me, all.addresses.size()));
    if (!read_members(text, all))
        throw not_joined(all, error::protocol_error, "the list of members in the store is not one of this version");
}

task<> look_up(store& meeting, const std::string& job, membership& all, time_point deadline) {
    constexpr duration poll = std::chrono::milliseconds(5);
    // A little longer than rank 0 waits, to hear from it who is missing.
    deadline = later(deadline, std::chrono::seconds(1));
    event_loop& loop = co_await this_loop;
    for (const std::uint64_t mine = all.number;; co_await sleep_for(poll)) {
        auto text = co_await meeting.get(members_key(job), deadline);
        if (!text && text.failure().code() != error::timed_out) throw text.failure();
        if (!text || loop.now() >= deadline)
            throw not_joined(all, error::rendezvous_timeout, "rank 0 published no list of members in time");
        take_list(*text, all);
        if (all.number >= mine) co_return;  // else it is of an earlier join
    }
}

void check_options(const context_options& asked, bool embedded, const world& who, const membership& mine) {
    if (who.size < 1 || who.me < 0 || who.me >= who.size)
        throw not_joined(mine, error::invalid_argument, fmt::format("there is no rank {} of {}", who.me, who.size));
    if (const auto& costs = asked.costs; costs && !costs_in(to_string(*costs)))
        throw not_joined(
            mine, error::invalid_argument,
            fmt::format("costs are not negative, of seconds at most a million, parts of others at most 1, cores 0 or at least 1, "
                        "crowded 1 to a million; these are {}",
                        to_string(*costs)));
    if (const auto tuning = tuning_in(asked.tuning, ""); !tuning)
        throw not_joined(mine, error::invalid_argument, tuning.failure().details().cause);
    if (asked.operation <= duration{} || std::min({asked.rendezvous, asked.connect, asked.handshake, asked.lost_link}) < duration{} ||
        asked.host < 0)
        throw not_joined(mine, error::invalid_argument,
                         "limits in time are not negative, that of operations is more than 0, and hosts are numbered from 0");
    if (asked.lanes < 1 || asked.lanes > most_lanes)
        throw not_joined(mine, error::invalid_argument, fmt::format("lanes are 1 to {}, these are {}", most_lanes, asked.lanes));
    if (const int threads = asked.threads; threads < 1 || threads > most_lanes)
        throw not_joined(mine, error::invalid_argument, fmt::format("threads are 1 to {}, these are {}", most_lanes, threads));
    else if (threads > 1 && embedded)
        throw not_joined(mine, error::invalid_argument, fmt::format("a context on a loop of its user has no threads of its own, and no {} of them", threads));
}

using forming_group = std::unique_ptr<detail::group, detail::group_deleter>;

/// Every rank leaves its address and learns those of all; then their links form a tree.
task<forming_group> meet(std::shared_ptr<context::state> home, world who, store& meeting, std::string job, membership mine,
                         time_point deadline) {
    if (who.size > 1) {
        transport& network = home->network(listen_address(who));
        home->door().expect(mine.job);
        const std::string address = network.address();
        const contact reached = contact_of(home->options(), mine.me, mine.number, address);
        mine.addresses[static_cast<std::size_t>(who.me)] = address;
        auto told = co_await meeting.set(address_key(job, who.me), reached.to_string(), deadline);
        told.value();
        if (who.me == 0) co_await collect(meeting, job, mine, reached, *home, deadline);
        else co_await look_up(meeting, job, mine, deadline);
    }
    mine.id = digest_of(fmt::format("{} {}", mine.name, mine.number), mine.job);
    forming_group formed(new detail::group(home, std::move(mine)));
    co_await formed->form(deadline);
    co_return formed;
}

/// Ends only by throwing: with what another rank says that cannot come.
task<> hear_of_failure(store& meeting, std::string key, const membership& mine, time_point deadline) {
    const auto told = co_await meeting.get(std::move(key), later(deadline, last_words));
    if (told) throw not_joined(mine, error::system, *told);
    event never;
    co_await never.wait();
}

/// What is the fault of this rank, in words; empty for other failures.
std::string own_fault(const failure& why, rank me) {
    if (out_of_descriptors(why.code())) return fmt::format("rank {} has {}", me, no_descriptor_left("the links of other ranks", why.code()));
    if (why.code() != error::system) return "";
    if (why.details().operation.empty() && why.details().root < 0) return fmt::format("rank {}: {}", me, why.details().cause);
    return why.details().root == me ? why.details().cause : "";
}

task<forming_group> meet_or_say_why(std::shared_ptr<context::state> home, world who, store& meeting, std::string job, membership mine,
                                    time_point deadline) {
    const std::string key = failed_key(job, mine.number);
    std::optional<failure> why;
    try {
        auto either = when_any(meet(home, who, meeting, job, mine, deadline), hear_of_failure(meeting, key, mine, deadline));
        auto ended = co_await std::move(either);
        co_return std::get<0>(std::move(ended));
    } catch (const failure& caught) {
        why = caught;
    }
    std::string fault = own_fault(*why, who.me);
    if (fault.empty()) throw *why;
    auto telling = meeting.set(key, fault, later(home->loop().now(), last_words));
    (void)co_await std::move(telling);
    report told = not_joined(mine, error::system, std::move(fault)).details();
    told.root = who.me;
    told.peers = {who.me};
    throw failure(std::move(told));
}

task<std::unique_ptr<communicator>> join_over(std::shared_ptr<context::state> home, world who, store& meeting, std::string job) {
    const time_point deadline = later(home->loop().now(), home->options().rendezvous);
    membership mine;
    mine.me = who.me;
    check_options(home->options(), home->embedded(), who, mine);
    mine.job = digest_of(job);
    mine.epoch = who.epoch;
    join_number count(home->next_join(digest_of(std::to_string(mine.epoch), mine.job)));
    mine.number = count.least();
    mine.addresses.resize(static_cast<std::size_t>(who.size));
    if (const std::size_t asked = home->options().slice_bytes; asked > 0) mine.settings.slice_bytes = asked;
    mine.settings.small_bytes = home->options().small_bytes;
    mine.settings.cache_bytes = home->options().cache_bytes;
    mine.settings.deterministic = home->options().deterministic;
    mine.settings.lanes = home->options().lanes;
    mine.settings.forced = home->forced();
    mine.calibrate = home->options().calibrate;
    forming_group formed;
    try {
        auto coming = who.size > 1 ? meet_or_say_why(home, who, meeting, std::move(job), std::move(mine), deadline)
                                   : meet(home, who, meeting, std::move(job), std::move(mine), deadline);
        formed = co_await std::move(coming);
    } catch (const failure& why) {
        if (why.code() == error::system) count.formed(count.least());  // what was said of this join stays in the store
        throw;
    }
    detail::group& inside = *formed;
    count.formed(inside.who().number);
    auto joined = std::make_unique<communicator>(std::move(formed));
    if (inside.who().calibrate && who.size > 1) inside.reprice(co_await detail::calibrate(*joined, inside));
    co_return joined;
}

task<std::unique_ptr<communicator>> join_at(std::shared_ptr<context::state> home, world who, std::shared_ptr<store> meeting, std::string job) {
    auto joining = join_over(std::move(home), std::move(who), *meeting, std::move(job));
    co_return co_await std::move(joining);
}

task<std::unique_ptr<communicator>> join_launched(std::shared_ptr<context::state> home, world who) {
    const time_point deadline = later(home->loop().now(), home->options().rendezvous);
    auto opening = open_store(who, deadline);
    auto opened = co_await std::move(opening);
    const std::unique_ptr<store> meeting = std::move(opened).value();
    auto joining = join_over(home, who, *meeting, store_prefix(who));
    std::unique_ptr<communicator> joined;
    std::optional<failure> why;
    try {
        joined = co_await std::move(joining);
    } catch (const failure& caught) {
        why = caught;
    }
    // Everybody has read what there is to read once the control tree stands, or who is missing; rank 0 waits for the others to go.
    const bool missed = why && (why->code() == error::rendezvous_timeout || why->code() == error::system);
    if (why && !missed) throw *why;
    const time_point last = later(home->loop().now(), last_words);
    auto closed = co_await meeting->close(missed ? last : std::max(deadline, last));
    if (why) throw *why;
    closed.value();
    co_return joined;
}

}  // namespace

task<std::unique_ptr<communicator>> context::join(world who, std::shared_ptr<store> meeting, std::string job) {
    state_->check_process();
    auto work = join_at(state_, std::move(who), std::move(meeting), std::move(job));
    auto joining = detail::spawn_cancellable(*state_, std::move(work));
    co_return co_await std::move(joining);
}

task<std::unique_ptr<communicator>> context::join(world who) {
    state_->check_process();
    auto work = join_launched(state_, std::move(who));
    auto joining = detail::spawn_cancellable(*state_, std::move(work));
    co_return co_await std::move(joining);
}

}  // namespace tutti
