#include <tutti/event.hpp>

namespace tutti::detail {

void line::let_first_go() noexcept {
    if (first_ == nullptr) return;
    line_awaiter& oldest = *first_;
    oldest.give_up();
    oldest.end();
}

void line::let_all_go() noexcept {
    while (first_ != nullptr) let_first_go();
}

bool line_awaiter::stand() noexcept {
    previous_ = line_.last_;
    (previous_ == nullptr ? line_.first_ : previous_->next_) = this;
    line_.last_ = this;
    stands_ = true;
    return true;
}

void line_awaiter::give_up() noexcept {
    if (!stands_) return;
    (previous_ == nullptr ? line_.first_ : previous_->next_) = next_;
    (next_ == nullptr ? line_.last_ : next_->previous_) = previous_;
    stands_ = false;
}

}  // namespace tutti::detail
