// Messages between two ranks: their tags, and what a receiver learns about them.
#pragma once

#include <tutti/types.hpp>

namespace [[gnu::visibility("default")]] tutti {

/// The number by which, together with the source, a receiver chooses messages. Any number except any_tag.
using message_tag = std::uint64_t;

/// Receives from any rank, this one included.
inline constexpr rank any_source = -1;
/// Receives any tag.
inline constexpr message_tag any_tag = ~message_tag{0};

/// A message as its receiver sees it.
struct received {
    rank source = -1;
    message_tag tag = 0;
    std::size_t count = 0;  // elements
    data_type type = data_type::f32;
    std::size_t opaque_bytes = 0;  // of one element, if the type is opaque

    std::size_t bytes() const noexcept { return count * (type == data_type::opaque ? opaque_bytes : size_of(type)); }
    friend bool operator==(const received&, const received&) = default;
};

/// A send or receive that has not begun: a part of communicator::exchange, which borrows the memory.
struct transfer {
    constexpr transfer() = default;

    bool sends = false;
    rank peer = 0;
    message_tag tag = 0;
    const_buffer from;         // of a send
    buffer to;                 // of a receive
    received* told = nullptr;  // where a receive writes what came, before the exchange ends; null: nowhere
};

/// Makes a part of communicator::exchange that sends.
inline transfer send_to(const_buffer from, rank peer, message_tag tag = 0) noexcept {
    transfer made;
    made.sends = true;
    made.peer = peer;
    made.tag = tag;
    made.from = from;
    return made;
}
/// Makes a part that receives. `told`, unless null, gets what came.
inline transfer recv_from(buffer to, rank peer, message_tag tag = 0, received* told = nullptr) noexcept {
    transfer made;
    made.peer = peer;
    made.tag = tag;
    made.to = to;
    made.told = told;
    return made;
}

}  // namespace tutti
