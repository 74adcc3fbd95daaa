#include "runtime/mailbox.hpp"

namespace tutti {

bool mailbox::send(std::function<void()> letter) {
    const std::lock_guard lock(guard_);
    if (closed_) return false;
    letters_.push_back(std::move(letter));
    if (letters_.size() == 1) loop_.post(*this);
    return true;
}

void mailbox::close() noexcept {
    std::vector<std::function<void()>> dropped;
    {
        const std::lock_guard lock(guard_);
        if (!closed_) loop_.withdraw(*this);
        closed_ = true;
        dropped.swap(letters_);
    }
}

void mailbox::run() noexcept {
    std::vector<std::function<void()>> letters;
    {
        const std::lock_guard lock(guard_);
        letters.swap(letters_);
    }
    for (auto& each : letters) each();
}

}  // namespace tutti
