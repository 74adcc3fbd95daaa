#include "device/staged_carrier.hpp"

#include "gpu/arrival.hpp"
#include "gpu/event_state.hpp"

#include <tutti/gpu/copy.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tutti::gpu {
namespace {

constexpr std::uint32_t sort_of_copies = 32;  // for kind_of; the numbers of collectives are smaller

}  // namespace

staged_carrier::staged_carrier(device_engine& engine, std::shared_ptr<rank_access> ranks, staging with)
    : engine_(engine),
      ranks_(std::move(ranks)),
      with_(std::move(with)),
      slots_(with_.slots),
      sent_(static_cast<std::size_t>(engine.how().size)),
      received_(sent_.size()) {}

std::string staged_carrier::what() const {
    return on_host() ? std::string("what the host does") : fmt::format("the copies of device {}", engine_.card()->ordinal());
}

std::optional<std::string> staged_carrier::cannot(const device_request& what) const {
    if (!reduces(what.kind)) return {};
    const std::string pair = fmt::format("{} of {}", name(what.op.kind()), name(what.type));
    if (what.type > device_type::opaque) return pair + ": the host moves such elements and does not compute with them";
    if (what.op.user() == nullptr && !defined(what.op.kind(), of_host(what.type)))
        return pair + ": the operator is not defined for the type";
    if (blocks_of(what.kind, engine_.how().size) * what.element_bytes() > with_.chunk_bytes)
        return fmt::format("{}: elements of {} bytes do not fit into chunks of {}", pair, what.element_bytes(), with_.chunk_bytes);
    return {};
}

// ---- beginning and end

void staged_carrier::begin() noexcept {
    if (engine_.has_failed()) return;
    work_.emplace(engine_.work());
    work_->start(copy_out());
    work_->start(call());
    work_->start(copy_in());
    engine_.begun();
}

void staged_carrier::carry_out(operation_state& which) noexcept {
    waiting_.push(which);
    go_on();
}

void staged_carrier::finish() noexcept {
    if (engine_.has_failed()) return;
    work_.reset();
    engine_.ended();
}

/// The host releases the memory when the futures are dropped. The device may still be copying, so the lifecycle waits for both streams.
void staged_carrier::give_up() noexcept {
    work_.reset();
    for (slot& each : slots_) each.done = {};
    if (on_host()) return engine_.ended();
    engine_.card()->lifecycle().later("cuEventSynchronize", [this, self = engine_.shared_from_this()] {
        for (const stream* each : {&*with_.out, &*with_.in})
            if (auto last = each->record())
                static_cast<void>(engine_.card()->call("cuEventSynchronize", [&last](const driver_table& driver) {
                    return driver.cuEventSynchronize(last->inner()->handle);
                }));
        engine_.ended();
    });
}

// ---- the first task: from the device

bool staged_carrier::flows(const device_request& what) const noexcept {
    return what.kind != device_collective::barrier && what.kind != device_collective::exchange && what.total() != 0;
}

/// Returns whether an earlier operation must first copy back memory that this one needs.
bool staged_carrier::is_held_up(const operation_state& which) const noexcept {
    return std::any_of(flowing_.begin(), flowing_.end(), [&](const operation_state* each) {
        return in_each_others_way(each->what, which.what, engine_.how().me, engine_.how().size);
    });
}

/// Reads wait for the caller's event, and for the copies back of earlier operations.
result<> staged_carrier::begin_after(const operation_state& which) {
    if (on_host()) return {};
    if (last_in_.valid())
        if (auto done = with_.out->wait(last_in_); !done) return done;
    return which.what.after.valid() ? with_.out->wait(which.what.after) : result<>();
}

/// Writes wait for the caller's event, too; after a read they have already done so. Not earlier, because the copies back of other operations must not wait
/// for it.
result<> staged_carrier::end_after(const operation_state& which) {
    return which.what.after.valid() && !on_host() ? with_.in->wait(which.what.after) : result<>();
}

task<> staged_carrier::copy_out() {
    for (;;) {
        while (waiting_.empty()) co_await moved_.wait();
        operation_state& next = waiting_.pop();
        if (!flows(next.what)) {
            auto alone = carry_alone(next);
            co_await std::move(alone);
            continue;
        }
        while (is_held_up(next)) co_await moved_.wait();
        flowing_.push_back(&next);
        auto going = begin_after(next);
        const staged_shape shape = shape_of(next.what, engine_.how().size, with_.chunk_bytes);
        for (std::size_t first = 0; going && first < shape.count; first += shape.chunk) {
            while (filled_ - emptied_ == slots_.size()) co_await moved_.wait();
            going = fill(next, shape, first, at(filled_));
            ++filled_;
            go_on();
        }
        if (!going) co_return engine_.blame(going.failure(), &next);
    }
}

/// The slot's memory may still be on its way to the device, so the copy from the device waits for that.
result<> staged_carrier::fill(operation_state& which, const staged_shape& shape, std::size_t first, slot& into) {
    const std::size_t count = std::min(shape.chunk, shape.count - first);
    const staged_place place{engine_.how().me, engine_.how().size, on_host(), with_.slot(static_cast<std::size_t>(filled_))};
    lay_out(which.what, shape, place, first, count, into.chunk);
    into.of = &which;
    into.first = first == 0;
    into.last = first + count == shape.count;
    into.ready = into.copied_in;
    if (into.chunk.out.empty()) return {};
    if (into.copied_in.valid())
        if (auto done = with_.out->wait(into.copied_in); !done) return done;
    for (const staged_piece& each : into.chunk.out)
        if (auto done = copy(with_.out, each, true); !done) return done;
    if (on_host()) return {};
    auto end = with_.out->record();
    if (!end) return end.failure();
    into.ready = std::move(*end);
    return {};
}

result<> staged_carrier::copy(const std::optional<stream>& on, const staged_piece& piece, bool to_host) {
    if (on) {
        const device_part there(piece.where, piece.bytes, {});
        const host_part here(piece.slot, piece.bytes, {});
        return to_host ? enqueue_copy(*on, here, there) : enqueue_copy(*on, there, here);
    }
    std::memcpy(to_host ? piece.slot : piece.where, to_host ? piece.where : piece.slot, piece.bytes);
    return {};
}

// ---- the second: through the host

tutti::call_options staged_carrier::options_for(const operation_state& which) const {
    tutti::call_options options;
    options.deadline = std::max<duration>(which.deadline - event_loop::current()->now(), std::chrono::nanoseconds(1));
    options.label = which.what.label;
    return options;
}

task<> staged_carrier::call() {
    for (;; ++called_, go_on()) {
        while (called_ == filled_) co_await moved_.wait();
        slot& next = at(called_);
        if (next.ready.valid()) {
            const std::size_t bytes = next.chunk.out.empty() ? 0 : next.chunk.out.front().bytes;
            future<> copied = arrival::of(std::exchange(next.ready, {}), {}, kind_of(sort_of_copies, bytes));
            const auto how = co_await as_result(std::move(copied));
            if (!how) co_return engine_.blame(how.failure(), next.of);
        }
        auto started =
            ranks_->call([&](tutti::communicator& ranks) { return start(ranks, next.of->what, next.chunk, options_for(*next.of)); });
        if (!started) co_return;  // the communicator is being destroyed
        next.done = std::move(*started);
    }
}

// ---- the third: back to the device

result<> staged_carrier::copy_back(slot& from) {
    if (from.first && from.chunk.out.empty())
        if (auto done = end_after(*from.of); !done) return done;
    for (const staged_piece& each : from.chunk.in)
        if (auto done = copy(with_.in, each, false); !done) return done;
    if (on_host()) return {};
    auto end = with_.in->record();
    if (!end) return end.failure();
    last_in_ = from.copied_in = std::move(*end);
    return {};
}

task<> staged_carrier::copy_in() {
    for (;; ++emptied_, go_on()) {
        while (emptied_ == called_) co_await moved_.wait();
        slot& next = at(emptied_);
        const auto how = co_await as_result(std::move(next.done));
        if (!how) co_return engine_.fail(how.failure().details());
        if (const auto done = copy_back(next); !done) co_return engine_.blame(done.failure(), next.of);
        if (!next.last) continue;
        std::erase(flowing_, next.of);
        engine_.placed(*next.of, last_in_);
    }
}

}  // namespace tutti::gpu
