// Calls that do not go in chunks: barriers, calls without elements, and messages. They have the engine to themselves.
#include "device/staged_carrier.hpp"

#include <tutti/gpu/pinned_buffer.hpp>
#include <tutti/when_all.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tutti::gpu {

/// Waits until the device reaches `where`. A failure fails the engine.
task<> staged_carrier::come_to(event where, operation_state& which) {
    if (!where.valid()) co_return;
    future<> coming = where.completed();
    const auto how = co_await as_result(std::move(coming));
    if (!how) engine_.blame(how.failure(), &which);
}

/// Places the operation behind all copies to the device. Returns false after a failure.
bool staged_carrier::enqueue(operation_state& which) {
    if (on_host()) {
        engine_.placed(which, {});
        return true;
    }
    auto end = with_.in->record();
    if (!end) {
        engine_.blame(end.failure(), &which);
        return false;
    }
    last_in_ = std::move(*end);
    for (slot& each : slots_) each.copied_in = last_in_;
    engine_.placed(which, last_in_);
    return true;
}

task<> staged_carrier::carry_alone(operation_state& which) {
    while (emptied_ != filled_) co_await moved_.wait();
    auto after = begin_after(which);
    if (after) after = end_after(which);
    if (!after) co_return engine_.blame(after.failure(), &which);
    if (which.what.kind == device_collective::exchange) {
        auto messages = carry_messages(which);
        co_await std::move(messages);
    } else if (which.what.kind == device_collective::barrier) {
        if (!on_host()) {
            auto here = with_.in->record();
            if (!here) co_return engine_.blame(here.failure(), &which);
            auto coming = come_to(std::move(*here), which);
            co_await std::move(coming);
        }
        auto meeting = ranks_->call([&](tutti::communicator& ranks) { return ranks.barrier(options_for(which)); });
        if (!meeting) co_return;
        const auto met = co_await as_result(std::move(*meeting));
        if (!met) co_return engine_.fail(met.failure().details());
    }
    if (!engine_.has_failed()) enqueue(which);
}

// ---- messages

/// Every message has two pieces of memory of its own. So in whatever order the other ranks receive them, no message waits for the memory of another.
task<> staged_carrier::carry_messages(operation_state& which) {
    const std::size_t each_bytes = 2 * with_.message_bytes(), parts = which.what.parts.size();
    auto free = come_to(last_in_, which);  // what was copied from the memory that is now needed
    co_await std::move(free);
    std::byte* room = on_host() ? nullptr : with_.slot(0);
    if (!on_host() && parts * each_bytes > with_.bytes()) {
        future<> making = room_for(parts * each_bytes);
        const auto made = co_await as_result(std::move(making));
        if (!made) co_return engine_.blame(made.failure(), &which);
        room = static_cast<std::byte*>(room_.get());
    }
    std::vector<task<>> all;
    for (const request_part& part : which.what.parts) {
        const bool sends = part.from != nullptr;
        const std::size_t bytes = part.count * (part.type == device_type::opaque ? part.opaque_bytes : size_of(part.type));
        const message one{part, (sends ? sent_ : received_)[static_cast<std::size_t>(part.peer)]++, room, bytes};
        if (bytes != 0) all.push_back(sends ? send(which, one) : recv(which, one));
        if (room) room += each_bytes;
    }
    auto together = when_all(std::move(all));
    co_await std::move(together);
}

/// Makes pinned memory for messages, if there is too little, on the lifecycle's thread, because the call may take long.
future<> staged_carrier::room_for(std::size_t bytes) {
    return engine_.card()->lifecycle().run("pinned memory for messages", [this, self = engine_.shared_from_this(), bytes]() -> result<> {
        if (room_bytes_ >= bytes) return {};
        auto made = allocate_pinned_memory(device(engine_.card()), bytes);
        if (!made) return made.failure();
        room_ = std::move(*made);
        room_bytes_ = bytes;
        return {};
    });
}

task<> staged_carrier::send(operation_state& which, message what) {
    std::array<future<>, 2> sent;
    auto* const from = static_cast<std::byte*>(const_cast<void*>(what.part.from));
    std::size_t piece = 0;
    for (std::size_t at = 0; at < what.bytes; at += with_.message_bytes(), ++piece) {
        const std::size_t bytes = std::min(with_.message_bytes(), what.bytes - at);
        future<>& mine = sent[piece % 2];
        if (mine.valid()) {
            const auto how = co_await as_result(std::move(mine));
            if (!how) co_return engine_.fail(how.failure().details());
        }
        std::byte* data = from + at;
        if (what.room) {
            data = what.room + piece % 2 * with_.message_bytes();
            auto done = copy(with_.out, {from + at, data, bytes}, true);
            auto end = done ? with_.out->record() : result<event>(done.failure());
            if (!end) co_return engine_.blame(end.failure(), &which);
            auto coming = come_to(std::move(*end), which);
            co_await std::move(coming);
            if (engine_.has_failed()) co_return;
        }
        auto started = ranks_->call([&](tutti::communicator& ranks) {
            return ranks.send(const_buffer(data, bytes, data_type::u8), what.part.peer, what.tag, options_for(which));
        });
        if (!started) co_return;
        mine = std::move(*started);
    }
    for (future<>& each : sent) {
        if (!each.valid()) continue;
        const auto how = co_await as_result(std::move(each));
        if (!how) co_return engine_.fail(how.failure().details());
    }
}

namespace {

/// A piece that is too long ends its receive alone; here all ranks fail with it, as with one that is too short.
report as_disagreement(report why) {
    if (why.code == error::truncated) why.code = error::mismatch;
    return why;
}

/// A piece of a message that is being received.
struct coming_piece {
    future<received> came;
    std::byte* to = nullptr;    // where it belongs
    std::byte* data = nullptr;  // where it comes to
    std::size_t bytes = 0;
};

}  // namespace

task<> staged_carrier::recv(operation_state& which, message what) {
    std::array<coming_piece, 2> coming;
    auto* const to = static_cast<std::byte*>(what.part.to);
    const std::size_t pieces = (what.bytes + with_.message_bytes() - 1) / with_.message_bytes();
    // Two rounds behind the last piece only finish what has begun.
    for (std::size_t piece = 0; piece < pieces + 2; ++piece) {
        coming_piece& mine = coming[piece % 2];
        if (mine.came.valid()) {
            auto how = co_await as_result(std::move(mine.came));
            if (!how) co_return engine_.fail(as_disagreement(how.failure().details()));
            if (how->bytes() != mine.bytes) {
                const failure other(error::mismatch,
                                    fmt::format("rank {} sent {} bytes where {} were expected", what.part.peer, how->bytes(), mine.bytes));
                co_return engine_.blame(other, &which);
            }
            if (what.room) {
                auto done = copy(with_.in, {mine.to, mine.data, mine.bytes}, false);
                auto end = done ? with_.in->record() : result<event>(done.failure());
                if (!end) co_return engine_.blame(end.failure(), &which);
                if (piece < pieces) {
                    auto copied = come_to(std::move(*end), which);
                    co_await std::move(copied);
                    if (engine_.has_failed()) co_return;
                }
            }
        }
        if (piece >= pieces) continue;
        const std::size_t at = piece * with_.message_bytes();
        mine.to = to + at;
        mine.data = what.room ? what.room + piece % 2 * with_.message_bytes() : mine.to;
        mine.bytes = std::min(with_.message_bytes(), what.bytes - at);
        auto started = ranks_->call([&](tutti::communicator& ranks) {
            return ranks.recv(buffer(mine.data, mine.bytes, data_type::u8), what.part.peer, what.tag, options_for(which));
        });
        if (!started) co_return;
        mine.came = std::move(*started);
    }
}

}  // namespace tutti::gpu
