// How far an operation has come with the frames that it sends to one peer, or receives from it.
#pragma once

#include "engine/cursor.hpp"
#include "base/linked_queue.hpp"
#include "transport/lane.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tutti {

class port_receiver;
class port_sender;

/// Says how far the frames of one operation to or from one peer have come: all before `at`, which is frame number `index`, have been
/// transferred.
class transfer_progress {
public:
    void begin(const cursor& first) noexcept {
        at = first;
        index = 0;
        early.clear();
    }
    void advance() noexcept { at.next(), ++index; }
    /// Counts frame number `frame`, at `done`, as transferred. Where lanes share the frames they end in any order, but count in their own:
    /// early ones wait.
    void count(const cursor& done, std::uint32_t frame, std::size_t bytes) noexcept;

    cursor at;
    std::uint32_t index = 0;
    std::vector<std::uint32_t> early;  // frames beyond it that are done too: a heap, the smallest first

protected:
    ~transfer_progress() = default;
};

/// The frames that an operation sends to one peer. With one lane the channel is its own frame: the lane has one of it at a time.
class send_channel final : public transfer_progress, public outgoing {
public:
    void begin(const cursor& first) noexcept;
    /// Takes out where the peer wants this frame; without parts it has not said so.
    remote_reference take_reference(std::uint32_t frame) noexcept;
    void gather(std::vector<std::span<const std::byte>>& runs) const override;
    void sent() noexcept override;

    cursor next_at;                            // where lanes share the frames: the first frame that no lane has been given
    std::uint32_t next_index = 0;              // its index
    bool queued = false;                       // with one lane: a frame of it is with the lane
    std::vector<remote_reference> references;  // where the peer wants frames that are still to be sent
    port_sender* over = nullptr;
    links<send_channel> turn;  // in the queue of that
};

/// The frames that an operation receives from one peer.
class recv_channel final : public transfer_progress {
public:
    port_receiver* over = nullptr;
    links<recv_channel> turn;  // in the queue of that
};

}  // namespace tutti
