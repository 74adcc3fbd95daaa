// The engine of one communicator's messages. It takes calls from any thread, matches them with messages of other ranks, and ends each once.
#pragma once

#include <tutti/result.hpp>

#include "engine/engine_settings.hpp"
#include "engine/message_port.hpp"

#include <mutex>
#include <span>

namespace tutti {

/// A part of the engine, under the engine's guard and on its loop. Owns the messages, the matcher, and a message_port for each peer.
/// Communicators call it from any thread; message ports report arrivals and ends. Calls only queue frames; the loop, or a caller that may
/// drive it, flushes them (`work`). It uses point lanes only and knows no collective.
///
/// The life of a call: free_ --begin--> fresh_ --work: its timer starts--> live_ --end--> ended_ --finish_ended--> caller --take_back-->
/// free_. One that ends well inside of its own call is finished there.
class messenger final {
public:
    explicit messenger(engine& owner);

    // Any thread. The results have two references, the caller's and the engine's.

    message& issue(const message_call& what, duration default_deadline);
    /// Receives a message that is there already; null when there is none.
    message* try_recv(const message_call& what, duration default_deadline);
    result<std::optional<received>> try_probe(rank source, message_tag tag) noexcept;
    /// Starts all parts at once, under one future.
    message& exchange(std::span<const transfer> parts, const message_call& whole, duration default_deadline);

    // For the engine, with its guard held.

    void attach(rank peer, std::unique_ptr<link> over);
    /// The peer has said goodbye, but not over a lane: there is none, or it broke before.
    void peer_left(rank peer) noexcept;
    /// Returns the first send, receive or exchange that has not ended; null without one. Probes do not count: no peer waits for them.
    const message* first_under_way() const noexcept;
    /// Returns the number of calls so far, parts of exchanges included.
    std::uint64_t calls() const noexcept { return calls_; }
    /// Returns whether one of the first `calls`, but for probes, has not ended, or its caller has not been told.
    bool under_way(std::uint64_t calls) const noexcept;
    /// Returns whether callers have been told of all calls that have ended.
    bool told() const noexcept { return ended_.empty(); }
    /// Returns whether no lane has bytes to send.
    bool flushed() const noexcept;
    void say_goodbye() noexcept;
    /// Ends all pending calls, and touches no payload any more: the engine has failed, or is being shut down.
    void end_all() noexcept;
    void close() noexcept;
    /// Closes, and destroys the lanes, which know the loop.
    void shut_down() noexcept;
    /// Takes back what it has posted to the loop.
    void withdraw() noexcept;
    void finish_ended() noexcept;  // on the loop or when no thread runs it, without the guard

    // For messages and ports, with the guard held unless they say otherwise.

    event_loop& loop() const noexcept;
    std::mutex& guard() const noexcept;
    cork& together() const noexcept;
    const message_settings& limits() const noexcept;
    /// Returns how many messages a rank may have under way, and therefore offer.
    std::size_t most_offers() const noexcept;
    std::size_t slice_bytes() const noexcept;
    rank me() const noexcept;
    std::uint32_t epoch() const noexcept;
    matcher& match() noexcept { return matcher_; }
    /// Matches `receiver` with a message if it can take it. Returns false if not: then `receiver` has failed alone, and the caller throws
    /// the message away.
    bool fits(message& receiver, const received& what, std::uint64_t number) noexcept;
    /// Keeps a message for which no receive waits, and ends probes that wait for it.
    unexpected& keep(const received& what, std::uint64_t number, std::size_t bytes, std::uint64_t arrival);
    /// Gives a message that its receive has let go to the next receive that fits, or tells probes.
    void find_taker(unexpected& kept) noexcept;
    void end(message& which) noexcept;
    void fail(report why) noexcept;
    void peer_left(message_port& at) noexcept;
    void lost(rank peer, std::error_code why) noexcept;
    void cancel(message& which, const char* reason) noexcept;  // without the guard
    void overdue(message& which) noexcept;                     // the same
    void take_back(message& which) noexcept;                   // the same

private:
    template <class Call>
    message* enter(Call call);
    message& begin_one(const message_call& what, duration default_deadline);
    message& begin_all(std::span<const transfer> parts, const message_call& whole, duration default_deadline);
    void stock(std::size_t messages);
    message& take(const message_call& what, bool part);
    message& begin(const message_call& what, duration default_deadline);
    message& settle(message& made);
    bool refused(message& made);
    void start(message& made) noexcept;
    void send(message& made) noexcept;
    void send_here(message& made) noexcept;
    void recv(message& made) noexcept;
    void post(message& receiver) noexcept;
    void accept(message& receiver, unexpected& kept) noexcept;
    void deliver_here(message& receiver, message& sender) noexcept;
    void probe(message& made) noexcept;
    void too_many(const message_call& next);
    message_port& port_to(rank peer);
    /// Lets the loop flush a port if frames were given to its lane.
    void touch(message_port& at) noexcept;
    /// Lets the loop flush a port, and tell its lane what is awaited.
    void mark(message_port& at) noexcept;
    bool gone(rank source) const noexcept;
    void complain_of_leaving(message& waiting, rank peer) noexcept;
    void tell_probes(const unexpected& kept) noexcept;
    static bool ends_alone(const message& which) noexcept;
    void let_go(message& which) noexcept;
    void end_alone(message& which, report why) noexcept;
    void fail_alone(message& which, report why) noexcept;
    void end_early(message& which, report why) noexcept;
    report report_of(const message& which) const;
    report told_by(const message& which, report why) const;
    std::string waited_for(const message& which, std::vector<rank>& peers) const;
    void post_work() noexcept;
    void work() noexcept;

    engine& engine_;
    matcher matcher_;
    posted probes_;
    std::vector<std::unique_ptr<message_port>> ports_;  // by peer; null until used
    bool said_goodbye_ = false;
    int left_ = 0;  // ranks that have said goodbye
    std::uint64_t calls_ = 0;
    std::uint64_t numbered_here_ = 0;  // messages to this rank itself
    std::size_t pending_ = 0;
    message* issuing_ = nullptr;                // the call that is being made: it may end before its caller sees it
    message_list fresh_, live_, ended_, free_;  // fresh_: their timers have not been started
    std::vector<message_port*> dirty_;          // to be flushed
    std::vector<std::unique_ptr<message>> owned_;
    bool calling_ = false;  // a call is being made,
    bool due_ = false;      // and has work for the loop
    bool working_ = false;  // on_work_ is posted
    detail::callback<&messenger::work> on_work_{*this};
    detail::callback<&messenger::finish_ended> on_ended_{*this};
};

}  // namespace tutti
