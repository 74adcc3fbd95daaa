// How an engine reaches the other ranks, until their sibling communicator is gone.
#pragma once

#include "communicator/inside_of.hpp"
#include "device/join.hpp"
#include "group/group.hpp"

#include <tutti/communicator.hpp>

#include <mutex>
#include <optional>

namespace tutti::gpu {

/// Shared by a device_group, its engine and its staged_carrier. Any thread may use it. Destroying the communicator waits for a call that is inside, and
/// for nothing more.
class rank_access {
public:
    void open(tutti::communicator& to) {
        const std::lock_guard lock(guard_);
        to_ = &to;
    }
    /// When it returns no call is inside, and none enters any more.
    void shut() {
        const std::lock_guard lock(guard_);
        to_ = nullptr;
    }
    void tell(const report& why) {
        const std::lock_guard lock(guard_);
        if (to_) tutti::detail::inside_of::get(*to_).engine().fail_and_tell(why);
    }
    /// Tells the other ranks that this rank waits in a collective on its device. On the progress loop, where groups end, so the group lives meanwhile.
    void ask(std::uint64_t number, const call_signature& what) {
        tutti::detail::group* to = nullptr;
        {
            const std::lock_guard lock(guard_);
            if (to_) to = &tutti::detail::inside_of::get(*to_);
        }
        if (to) to->say_waiting_on_device(number, what);
    }
    /// Returns the result of `issue`, called with the lock held on the communicator; nothing when that is gone.
    template <class Issue>
    auto call(Issue issue) -> std::optional<decltype(issue(std::declval<tutti::communicator&>()))> {
        const std::lock_guard lock(guard_);
        if (!to_) return {};
        return issue(*to_);
    }

private:
    std::mutex guard_;
    tutti::communicator* to_ = nullptr;
};

}  // namespace tutti::gpu
