// Takes the links that others open to this process, finds out what they are for, and hands them to their group or turns them away.
#pragma once

#include "handshake/hello.hpp"
#include "runtime/background.hpp"

#include <tutti/event.hpp>
#include <tutti/transport.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <vector>

namespace tutti {

/// Where links of one communicator go. On the loop.
class link_destination {
public:
    virtual std::uint64_t id() const noexcept = 0;
    virtual reply admit(const hello& who) = 0;
    /// After a welcome.
    virtual void enter(const hello& who, std::unique_ptr<link> over) = 0;
    /// There is no descriptor for what somebody opens.
    virtual void exhausted(std::error_code why) noexcept = 0;

protected:
    ~link_destination() = default;
};

/// On the loop only.
class link_acceptor final {
public:
    static constexpr std::size_t half_open_limit = 256;  // links that have not been handed over yet

    /// `handshake` limits the time to say hello; `patience` the time a hello waits for its group to be formed here.
    link_acceptor(event_loop& loop, transport& network, duration handshake, duration patience);

    /// Strangers to all expected jobs are turned away at once.
    void expect(std::uint64_t job) { jobs_.insert(job); }
    void add(link_destination& group);
    void remove(link_destination& group) noexcept;
    std::size_t half_open() const noexcept { return half_open_; }
    std::size_t turned_away() const noexcept { return turned_away_; }

private:
    task<> serve();
    void exhausted(std::error_code why) noexcept;
    task<> greet(std::unique_ptr<link> over);
    task<> listen_and_answer(std::unique_ptr<link>& over);
    link_destination* find(std::uint64_t id) noexcept;
    bool is_over(const hello& who) const noexcept;

    event_loop& loop_;
    transport& network_;
    const duration handshake_;
    const duration patience_;
    std::set<std::uint64_t> jobs_;
    std::vector<link_destination*> groups_;
    std::deque<std::uint64_t> ended_;  // the last of them
    condition changed_;
    condition room_;
    std::size_t half_open_ = 0;
    std::size_t turned_away_ = 0;
    background work_;
};

}  // namespace tutti
