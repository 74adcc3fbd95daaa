// One call of the messenger under way: a send, a receive, a probe, or an exchange of several sends and receives.
#pragma once

#include <tutti/detail/future_state.hpp>
#include <tutti/event_loop.hpp>
#include <tutti/message.hpp>

#include "base/linked_queue.hpp"
#include "transport/lane.hpp"

#include <memory>
#include <optional>
#include <string>

namespace tutti {

class engine;
class fetch;
class message_port;
class messenger;

/// The arguments of a call.
struct message_call {
    enum class kind : std::uint8_t { send, recv, probe, exchange };

    kind what = kind::exchange;
    data_type type = data_type::f32;
    std::size_t opaque_bytes = 0; // of one element, where the type is opaque
    rank peer = 0;                // or any_source
    message_tag tag = 0;          // or any_tag
    std::size_t count = 0;        // elements; of an exchange its parts
    std::byte* memory = nullptr;  // that of a send is not written to
    received* told = nullptr;
    duration deadline{};          // 0: the communicator's default
    const char* label = nullptr;  // outlives the message

    std::size_t bytes() const noexcept {
        if (type == data_type::opaque) return count * opaque_bytes;
        return static_cast<int>(type) < data_type_count ? count * size_of(type) : 0;
    }
    bool matches(rank source, message_tag other) const noexcept {
        return (peer == any_source || peer == source) && (tag == any_tag || tag == other);
    }
};

message_call call_of(const transfer& part) noexcept;
message_call probe_of(rank from, message_tag tag) noexcept;
message_call exchange_of(std::size_t parts) noexcept;

/// "send f32 count 3 to rank 1 tag 7", "recv f32 count 4 from any rank, any tag", "exchange of 2 messages".
std::string to_string(const message_call& what);

/// Owned by the messenger's pool, and changed with the engine's guard held. One object serves the caller, as the future's state, the
/// messenger, and the lane, as the frame that its call sends. It borrows the user's memory until it ends.
class message final : public detail::value_state<received>, public outgoing {
public:
    /// Makes a fresh or recycled object ready. `keeper` is null for a part of an exchange, which has no future of its own.
    void begin(std::shared_ptr<engine> keeper, messenger& owner, const message_call& call);

    message_call asked;
    received what;             // of a receive or probe: the message it has been matched with
    std::uint64_t call = 0;    // its number among this rank's calls, from 1
    std::uint64_t number = 0;  // the message's number among those from sender to receiver, from 1
    time_point started{};
    std::size_t done_bytes = 0;
    std::size_t slice = 0;  // of a send: the next to leave
    bool queued = false;    // this frame is with the lane
    bool timed = false;     // its deadline has been set
    bool ended = false;     // its end is decided; the caller hears of it on the loop
    std::optional<tutti::failure> failed;
    message_port* over = nullptr;
    fetch* by = nullptr;       // brings the bytes that a receive has asked for
    message* whole = nullptr;  // the exchange that this is a part of
    message* parts = nullptr;  // of an exchange, linked by next_part
    message* next_part = nullptr;
    std::size_t open_parts = 0;
    links<message> life;  // in one of the lists of the messenger
    links<message> turn;  // in a queue of a port, or in the queue of its key (posted)
    links<message> row;   // in a second one: by source (posted), or by number (offered_by_number_)

    bool matched() const noexcept { return what.source >= 0; }
    std::size_t total_bytes() const noexcept;

    void gather(std::vector<std::span<const std::byte>>& runs) const override;
    void sent() noexcept override;
    void cancel() noexcept override;
    void abandon() noexcept override;

    /// Fires on the loop when the call has taken too long.
    void overdue() noexcept;
    detail::alarm<&message::overdue> deadline{*this};

private:
    void recycle() noexcept override;

    std::shared_ptr<engine> keeper_;
    messenger* owner_ = nullptr;
};

using message_queue = linked_queue<message, &message::turn>;
using message_list = linked_queue<message, &message::life>;

}  // namespace tutti
