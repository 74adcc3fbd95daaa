// The multiplexed links of a process, one to each other process, over which children of communicators have their streams.
#pragma once

#include "handshake/link_acceptor.hpp"
#include "runtime/background.hpp"
#include "transport/multiplexed_link.hpp"

#include <tutti/event.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tutti {

/// Opens streams to other processes. It dials the multiplexed link when the first stream wants it, takes those that peers dial, and gives the
/// streams that peers open to the acceptor, which greets them like any link. A context owns it, beside its acceptor, and uses it on its
/// loop. A multiplexed link stays until its process ends or loses it; the next stream then dials again.
///
/// If two processes dial each other at once, the call of the one with the lower digest counts. A later call is welcome, too: the peer has
/// lost the link, or was started again. So a second link may remain, if two calls miss each other.
class multiplexed_links final : private link_destination, private multiplexed_link_owner {
public:
    multiplexed_links(event_loop& loop, transport& network, link_acceptor& acceptor);
    ~multiplexed_links();

    /// Opens a stream to the process at `address`, from the one at `mine`, for the two ranks that `who` names. A failure names both. Waits
    /// for the multiplexed link until `connected`; the call that dials it goes on until `answered`, for other streams, too.
    task<result<std::unique_ptr<link>>> open(hello who, std::string mine, std::string address, time_point connected, time_point answered);
    /// Returns how many links there are.
    std::size_t count() const noexcept { return links_.size(); }

private:
    /// The process at one address.
    struct peer {
        std::shared_ptr<multiplexed_link> over;  // null when there is none
        bool dialling = false;
        std::uint64_t mine = 0;      // while dialling: the digest that this process gives for itself
        time_point until;            // the same: when the call ends
        std::optional<failure> why;  // the last call failed
    };

    std::uint64_t id() const noexcept override;
    reply answer_hello(const hello& from) override;
    void take_link(const hello& from, std::unique_ptr<link> over) override;
    void exhausted(std::error_code) noexcept override {}
    void opened(std::unique_ptr<link> stream) override { acceptor_.greet_stream(std::move(stream)); }
    void ended(multiplexed_link& which) noexcept override;

    void keep(std::uint64_t process, std::unique_ptr<link> over, multiplexed_link::side which);
    task<> dial(peer& at, hello who, std::string address);

    event_loop& loop_;
    transport& network_;
    link_acceptor& acceptor_;
    std::map<std::uint64_t, peer> peers_;              // by the digest of the address
    std::vector<std::shared_ptr<multiplexed_link>> links_;  // all
    condition changed_;                                // a link has come, or a call has ended
    background work_;
};

}  // namespace tutti
