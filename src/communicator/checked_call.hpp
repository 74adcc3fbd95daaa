// A call in the checking mode: it works on a copy of its caller's memory, and reports at its end whether the caller kept to the rules.
#pragma once

#include "group/context_state.hpp"
#include "group/group.hpp"
#include "group/notice.hpp"
#include "validation/borrowed_memory.hpp"

#include <tutti/future.hpp>

#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace tutti::detail {

/// The future state of such a call, around the engine's. It owns the copy, and the entry in the book of borrowed memory until the end. The
/// caller cancels, drops or awaits it on any thread; finished() runs on the thread that ends the engine's operation. `phase_` decides
/// between the two.
template <class T>
class [[gnu::visibility("hidden")]] checked_call final : public state_of<T> {
public:
    checked_call(group& of, std::unique_ptr<borrowed_memory::entry> entry)
        : engine_(of.engine().shared_from_this()),
          book_(of.context().borrowed()),
          notice_(told_by(of.context().options())),
          call_(entry->call()),
          number_(entry->number()),
          entry_(std::move(entry)),
          memory_(entry_->pieces()) {}

    const private_memory& memory() const noexcept { return memory_; }
    /// Waits for the end of `inner`. The caller's reference goes to the future; the other is released by end().
    future<T> follow(future<T> inner) {
        inner_ = inner.take_state();
        if (!inner_->wait(ended_)) finished();
        return future<T>(*this);
    }

    void cancel() noexcept override { inner_->cancel(); }
    void abandon() noexcept override {
        auto before = phase::going_on;
        if (phase_.compare_exchange_strong(before, phase::abandoned, std::memory_order_acq_rel)) {
            entry_.reset();
            inner_->abandon();
            tell("was dropped before its end");
        } else {
            while (phase_.load(std::memory_order_acquire) == phase::at_end) std::this_thread::yield();
        }
    }
    void explain(explanation& out) const override { inner_->explain(out); }

private:
    enum class phase : std::uint8_t { going_on, at_end, done_with_memory, abandoned };

    void finished() noexcept {
        auto before = phase::going_on;
        if (!phase_.compare_exchange_strong(before, phase::at_end, std::memory_order_acq_rel)) {
            end(failure(error::cancelled, "its future was dropped before the end"));
            return;
        }
        const bool untouched = memory_.untouched(), well = !inner_->why();
        if (well && untouched) memory_.give_back();
        entry_.reset();  // before the caller hears of the end, and gives the memory to its next call
        phase_.store(phase::done_with_memory, std::memory_order_release);
        if (!well) return end(*inner_->why());
        if (!untouched) return end(touched());
        if constexpr (std::is_void_v<T>) end();
        else end(static_cast<value_state<T>&>(*inner_.get()).take());
    }
    template <class... End>
    void end(End&&... with) noexcept {
        this->finish(std::forward<End>(with)...);
        this->release();
    }
    failure touched() noexcept {
        report told;
        const rank me = engine_->who().me;
        told.code = error::invalid_argument;
        told.operation = call_;
        told.communicator = engine_->who().communicator;
        told.local = told.root = me;
        told.peers = {me};
        told.cause = fmt::format("memory of {} was written to on rank {} while the call was under way", call_, me);
        engine_->fail_and_tell(told);
        return failure(std::move(told));
    }
    /// Sends a notice, but not after a failure of the communicator: then callers drop futures rightly.
    void tell(const char* what) noexcept {
        this->look();
        if (!engine_->failed()) notice_(fmt::format("rank {}: the future of {} {}", engine_->who().me, call_, what));
    }
    void recycle() noexcept override {
        if (!this->looked() && !book_->is_synced(engine_.get(), number_))
            tell("was never awaited: nobody knows whether the call ended well, or before its memory was used again");
        delete this;
    }

    const std::shared_ptr<class engine> engine_;
    const std::shared_ptr<borrowed_memory> book_;
    void (*const notice_)(const std::string&);
    const std::string call_;
    const std::uint64_t number_;
    std::unique_ptr<borrowed_memory::entry> entry_;  // until it has ended
    const private_memory memory_;
    std::atomic<phase> phase_{phase::going_on};
    state_reference inner_;
    callback<&checked_call::finished> ended_{*this};
};

}  // namespace tutti::detail
