// Which failures the code on a loop has heard of.
#pragma once

#include <tutti/error.hpp>

#include <algorithm>
#include <vector>

namespace tutti {

class [[gnu::visibility("default")]] event_loop;

namespace detail {

/// Those that have the same cause count as one. Of more than `limit` the last ones are known.
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

/// On the loop: whether a future that ended with that, or with something of the same cause, was looked at there.
bool was_told(event_loop& loop, const failure& why) noexcept;

}  // namespace detail
}  // namespace tutti
