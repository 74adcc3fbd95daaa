// Accepts the links that peers open to this process, reads their hellos, and hands each link to its group or turns it away.
#pragma once

#include "handshake/hello.hpp"
#include "runtime/background.hpp"

#include <tutti/event.hpp>
#include <tutti/transport.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace tutti {

/// Receives the links of one communicator: a group. Called by the link acceptor, on the loop.
class link_destination {
public:
    virtual std::uint64_t id() const noexcept = 0;
    /// Decides about a hello that names this communicator.
    virtual reply answer_hello(const hello& who) = 0;
    /// Returns whether that lane is to be a stream of a multiplexed link, not a link that costs a descriptor.
    virtual bool takes_stream(const hello& who) const noexcept { return static_cast<void>(who), false; }
    /// Takes the link, after answer_hello() has welcomed its hello and the welcome has been sent.
    virtual void take_link(const hello& who, std::unique_ptr<link> over) = 0;
    /// This process has no descriptor left for a link that a peer opens; the peer may belong to any communicator.
    virtual void exhausted(std::error_code why) noexcept = 0;

protected:
    ~link_destination() = default;
};

/// The one acceptor of a context. context_state makes it together with the transport, and groups add and remove themselves. Used on the
/// context's loop only. It owns each accepted link until its group takes it, and it never opens a link itself. A hello can come before its
/// group: a peer may form a communicator first. The acceptor then waits up to `patience` for the group.
class link_acceptor final {
public:
    static constexpr std::size_t half_open_limit = 256;  // links in their handshake: bounds the descriptors that strangers can take
    static constexpr std::size_t stream_limit = 16'384;  // streams in their handshake: bounds the memory; further ones are closed

    /// `handshake` limits the time to send a hello and a reply; `patience` the time that a hello waits for its group to be formed here.
    link_acceptor(event_loop& loop, transport& network, duration handshake, duration patience);

    /// Lets hellos of this job in. Hellos of other jobs are refused at once.
    void expect(std::uint64_t job) { jobs_.insert(job); }
    void add(link_destination& group);
    void remove(link_destination& group) noexcept;
    /// Takes a stream that a peer has opened over a multiplexed link: it begins with a hello, too, and costs no descriptor.
    void greet_stream(std::unique_ptr<link> over);
    std::size_t half_open() const noexcept { return half_open_; }
    std::size_t turned_away() const noexcept { return turned_away_; }

private:
    task<> serve();
    void exhausted(std::error_code why) noexcept;
    enum class arrival { link, stream };
    void begin(std::unique_ptr<tutti::link> over, arrival as);
    task<> greet(std::unique_ptr<tutti::link> over, arrival as);
    task<> listen_and_answer(std::unique_ptr<tutti::link>& over, arrival as);
    link_destination* find(std::uint64_t id) noexcept;
    bool is_over(const hello& who) const noexcept;

    event_loop& loop_;
    transport& network_;
    const duration handshake_;
    const duration patience_;
    std::set<std::uint64_t> jobs_;
    std::unordered_map<std::uint64_t, link_destination*> groups_;
    std::deque<std::uint64_t> ended_;  // ids of the groups that ended last, in that order
    std::unordered_set<std::uint64_t> ended_ids_;
    condition changed_;  // a group was added
    condition room_;     // half_open_ fell
    std::size_t half_open_ = 0;  // links in their handshake
    std::size_t streams_ = 0;    // streams in theirs
    std::size_t turned_away_ = 0;
    background work_;
};

}  // namespace tutti
