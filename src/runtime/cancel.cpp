#include <tutti/cancel.hpp>
#include <tutti/detail/promise.hpp>

#include "base/check.hpp"
#include "base/process.hpp"

#include <utility>

namespace tutti {
namespace detail {

bool cancel_callback::watch(cancel_token token) noexcept {
    unwatch();
    cancel_source* const source = token.source_;
    if (source == nullptr) return true;
    if (source->requested_) return false;
    source_ = source;
    previous_ = source->last_;
    next_ = nullptr;
    (previous_ == nullptr ? source->first_ : previous_->next_) = this;
    source->last_ = this;
    return true;
}

void cancel_callback::unwatch() noexcept {
    cancel_source* const source = std::exchange(source_, nullptr);
    if (source == nullptr) return;
    (previous_ == nullptr ? source->first_ : previous_->next_) = next_;
    (next_ == nullptr ? source->last_ : next_->previous_) = previous_;
}

}  // namespace detail

cancel_source::cancel_source() noexcept : loop_(event_loop::current()), process_(this_process()) {}
cancel_source::cancel_source(event_loop& loop) noexcept : loop_(&loop), process_(this_process()) {}

bool cancel_source::foreign() const noexcept { return process_ != this_process(); }

cancel_source::~cancel_source() {
    if (foreign()) return;
    TUTTI_CHECK(first_ == nullptr || detail::forsaking::going_on(), "a cancel_source dies before the tasks that watch it");
    while (first_ != nullptr) first_->unwatch();
    if (posted_.load(std::memory_order_acquire)) loop_->withdraw(*this);
}

void cancel_source::request() noexcept {
    if (loop_ == nullptr || loop_->here()) return announce();
    if (!posted_.exchange(true, std::memory_order_acq_rel)) loop_->post(*this);
}

void cancel_source::announce() noexcept {
    if (std::exchange(requested_, true)) return;
    unwatch();
    while (first_ != nullptr) {
        cancel_callback& next = *first_;
        next.unwatch();
        next.cancelled();
    }
}

void cancel_source::follow(cancel_token parent) noexcept {
    if (!watch(parent)) announce();
}

}  // namespace tutti
