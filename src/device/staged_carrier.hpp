// Carries operations out through the host. Each chunk is copied from the device, goes through a collective of the host, and is copied back. A rank
// without a device uses its host memory directly and leaves out the copies.
//
// Three tasks on the working loop follow each other over a ring of slots in pinned memory. `copy_out` cuts operations into chunks and enqueues the copies
// from the device. `call` waits for each copy and calls the host's collective. `copy_in` waits for the collective and enqueues the copy back. All
// ranks cut operations in the same places, so they call the host's collectives in the same order. Unlike nccl_carrier it occupies no kernel of the
// device, and several operations are under way at once if none writes memory that another uses.
#pragma once

#include "device/rank_access.hpp"
#include "device/staged_chunk.hpp"
#include "device/staging.hpp"
#include "gpu/device_engine.hpp"
#include "runtime/background.hpp"

#include <tutti/event.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tutti::gpu {

class staged_carrier final : public carrier {
public:
    /// The engine must outlive it.
    staged_carrier(device_engine& engine, std::shared_ptr<rank_access> ranks, staging with);

    std::optional<std::string> cannot(const device_request& what) const override;
    std::string words() const override { return "staged through memory of the hosts: " + with_.why; }
    std::string what() const override;

    void begin() noexcept override;
    void carry_out(operation_state& which) noexcept override;
    void finish() noexcept override;
    void give_up() noexcept override;

private:
    struct slot {
        operation_state* of = nullptr;
        bool first = false, last = false;  // chunk of its operation
        staged_chunk chunk;
        event ready;      // the memory may be used by the host
        future<> done;    // the host's collective
        event copied_in;  // behind the copy back of the chunk that was here before
    };

    // The three tasks.
    task<> copy_out();
    task<> call();
    task<> copy_in();
    /// Wakes all tasks after one has gone on; each checks again whether it may.
    void go_on() noexcept { moved_.notify_all(); }

    bool flows(const device_request& what) const noexcept;
    bool is_held_up(const operation_state& which) const noexcept;
    result<> begin_after(const operation_state& which);
    result<> end_after(const operation_state& which);
    result<> copy_back(slot& from);
    result<> fill(operation_state& which, const staged_shape& shape, std::size_t first, slot& into);
    bool enqueue(operation_state& which);
    slot& at(std::uint64_t number) noexcept { return slots_[static_cast<std::size_t>(number % slots_.size())]; }

    // Calls that do not go in chunks (staged_exchange.cpp).
    struct message {
        const request_part& part;
        message_tag tag;
        std::byte* room;  // for two pieces; null: the memory is the host's
        std::size_t bytes;
    };
    task<> carry_alone(operation_state& which);
    task<> carry_messages(operation_state& which);
    task<> send(operation_state& which, message what);
    task<> recv(operation_state& which, message what);
    task<> come_to(event where, operation_state& which);
    future<> room_for(std::size_t bytes);
    tutti::call_options options_for(const operation_state& which) const;

    // Copies, on the device or by this thread.
    result<> copy(const std::optional<stream>& on, const staged_piece& piece, bool to_host);
    bool on_host() const noexcept { return !with_.in; }

    device_engine& engine_;
    const std::shared_ptr<rank_access> ranks_;
    const staging with_;
    std::optional<background> work_;
    linked_queue<operation_state, &operation_state::queued> waiting_;
    std::vector<operation_state*> flowing_;  // begun and not yet placed, where they go in chunks
    std::vector<slot> slots_;
    std::uint64_t filled_ = 0, called_ = 0, emptied_ = 0;  // chunks, each counted by its task
    event last_in_;                                        // behind the last copy to the device
    condition moved_;
    std::shared_ptr<void> room_;  // for messages, where the slots are too small
    std::size_t room_bytes_ = 0;
    std::vector<message_tag> sent_, received_;  // messages to and from each rank so far: what tells them apart
};

}  // namespace tutti::gpu
