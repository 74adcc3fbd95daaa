#include "runtime/background.hpp"

#include "base/check.hpp"

namespace tutti {

background::~background() { clear(); }

void background::start(task<> work, cancel_token token) {
    auto& kept = running_.emplace_back(std::move(work));
    kept.inner()->start(loop_, token, *this);
}

void background::clear() noexcept {
    running_.clear();
    if (posted_) loop_.withdraw(*this);  // otherwise the loop may be gone
    posted_ = false;
}

/// Posts run(), which destroys the ended tasks: a task cannot be destroyed by its own end.
void background::ended(detail::promise_base& work) noexcept {
    TUTTI_CHECK(!work.failed(), "a background task handles its errors");
    if (posted_) return;
    posted_ = true;
    loop_.post(*this);
}

void background::run() noexcept {
    posted_ = false;
    running_.remove_if([](const task<>& each) { return each.inner()->done(); });
}

}  // namespace tutti
