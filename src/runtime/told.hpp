// The failures that the code on a loop has heard of. tutti::run ends a main that has not heard of a failure.
#pragma once

#include <tutti/error.hpp>

#include <algorithm>
#include <vector>

namespace [[gnu::visibility("default")]] tutti {
class event_loop;
}  // namespace tutti

namespace tutti {

namespace detail {

/// Failures of the same cause count as one. The last `limit` of them are kept.
class told_failures {
public:
    static constexpr std::size_t limit = 16;

    void add(const failure& why) {
        if (has(why)) return;
        if (all_.size() == limit) all_.erase(all_.begin());
        all_.push_back(why);
    }
    bool has(const failure& why) const noexcept {
        return std::any_of(all_.begin(), all_.end(), [&why](const failure& one) {
            return one.code() == why.code() && one.details().root == why.details().root && one.details().cause == why.details().cause;
        });
    }

private:
    std::vector<failure> all_;
};

/// On the loop: returns whether a future was awaited there that ended with this failure, or one of the same cause.
bool was_told(event_loop& loop, const failure& why) noexcept;

}  // namespace detail
}  // namespace tutti
