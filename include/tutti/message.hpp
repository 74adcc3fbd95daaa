// Messages between two ranks: how they are told apart, and what their receiver hears about them.
#pragma once

#include <tutti/types.hpp>

namespace [[gnu::visibility("default")]] tutti {

/// What a receiver chooses messages by, beside their source: any number but any_tag.
using message_tag = std::uint64_t;

/// Receives from whichever rank, this one included.
inline constexpr rank any_source = -1;
/// Receives whatever the tag.
inline constexpr message_tag any_tag = ~message_tag{0};

/// A message as its receiver sees it.
struct received {
    rank source = -1;
    message_tag tag = 0;
    std::size_t count = 0;  // elements
    data_type type = data_type::f32;
    std::size_t opaque_bytes = 0;  // of one element, where the type is opaque

    std::size_t bytes() const noexcept { return count * (type == data_type::opaque ? opaque_bytes : size_of(type)); }
    friend bool operator==(const received&, const received&) = default;
};

/// A send or a receive that has not begun: a part of communicator::exchange. The memory is borrowed from then on.
struct transfer {
    constexpr transfer() = default;

    bool sends = false;
    rank peer = 0;
    message_tag tag = 0;
    const_buffer from;         // of a send
    buffer to;                 // of a receive
    received* told = nullptr;  // where a receive tells what came, before the exchange ends; null: nowhere
};

inline transfer send_to(const_buffer from, rank peer, message_tag tag = 0) noexcept {
    transfer made;
    made.sends = true;
    made.peer = peer;
    made.tag = tag;
    made.from = from;
    return made;
}
inline transfer recv_from(buffer to, rank peer, message_tag tag = 0, received* told = nullptr) noexcept {
    transfer made;
    made.peer = peer;
    made.tag = tag;
    made.to = to;
    made.told = told;
    return made;
}

}  // namespace tutti
