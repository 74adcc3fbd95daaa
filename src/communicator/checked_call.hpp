// A call in the checking mode: it works on a copy of its caller's memory, and says at its end whether the caller kept to the rules.
#pragma once

#include "communicator/borrowed_memory.hpp"
#include "communicator/group.hpp"
#include "communicator/home.hpp"
#include "communicator/notice.hpp"

#include <tutti/future.hpp>

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace tutti::detail {

/// The future of such a call: it ends when that of the engine has.
template <class T>
class [[gnu::visibility("hidden")]] checked_call final : public state_of<T> {
public:
    checked_call(group& of, std::unique_ptr<borrowed_memory::entry> entry)
        : engine_(of.engine().shared_from_this()), notice_(told_by(of.home().options())), entry_(std::move(entry)), memory_(entry_->pieces()) {}

    const private_memory& memory() const noexcept { return memory_; }
    /// The caller's reference goes to the future; the other one is given back at the end.
    future<T> follow(future<T> inner) {
        inner_ = inner.take_state();
        if (!inner_->wait(ended_)) finished();
        return future<T>(*this);
    }

    void cancel() noexcept override { inner_->cancel(); }
    void abandon() noexcept override {
        if (inner_->stop_waiting(ended_)) {
            inner_->abandon();
            tell("was dropped before its end");
            this->look();
            end_entry();
            this->release();
        } else {
            inner_->settle();
        }
    }
    void explain(explanation& out) const override { inner_->explain(out); }

private:
    void finished() noexcept {
        const failure* const why = inner_->why();
        if (why) {
            end(*why);
        } else if (memory_.untouched()) {
            memory_.give_back();
            if constexpr (std::is_void_v<T>) end();
            else end(static_cast<value_state<T>&>(*inner_.get()).take());
        } else {
            report told;
            const rank me = engine_->who().me;
            told.code = error::invalid_argument;
            told.operation = entry_->call();
            told.communicator = engine_->who().communicator;
            told.local = told.root = me;
            told.peers = {me};
            told.cause = fmt::format("memory of {} was written to on rank {} while the call was under way", entry_->call(), me);
            engine_->fail_and_tell(told);
            end(failure(std::move(told)));
        }
    }
    template <class... End>
    void end(End&&... with) noexcept {
        end_entry();  // before the caller hears, who may give the memory to the next call
        this->finish(std::forward<End>(with)...);
        this->release();
    }
    void end_entry() noexcept {
        call_ = entry_->call();
        entry_.reset();
    }
    /// Where the communicator has failed all futures end, and are dropped where they are.
    void tell(const char* what) const noexcept {
        if (!engine_->failed()) notice_(fmt::format("rank {}: the future of {} {}", engine_->who().me, entry_ ? entry_->call() : call_, what));
    }
    void recycle() noexcept override {
        if (!this->looked()) tell("was never awaited: nobody knows whether the call ended well, or before its memory was used again");
        delete this;
    }

    const std::shared_ptr<class engine> engine_;
    void (*const notice_)(const std::string&);
    std::unique_ptr<borrowed_memory::entry> entry_;  // until it has ended
    const private_memory memory_;
    std::string call_;  // of what has ended
    state_reference inner_;
    callback<&checked_call::finished> ended_{*this};
};

}  // namespace tutti::detail
