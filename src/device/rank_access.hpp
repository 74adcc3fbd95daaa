// How an engine reaches the other ranks, until the communicator of the host's is gone.
#pragma once

#include "device/join.hpp"
#include "communicator/inside_of.hpp"
#include "group/group.hpp"

#include <tutti/communicator.hpp>

#include <mutex>
#include <optional>

namespace tutti::gpu {

/// Any thread.
class rank_access {
public:
    void open(tutti::communicator& to) {
        const std::lock_guard lock(guard_);
        to_ = &to;
    }
    /// When it returns nobody is inside.
    void shut() {
        const std::lock_guard lock(guard_);
        to_ = nullptr;
    }
    void tell(const report& why) {
        const std::lock_guard lock(guard_);
        if (to_) tutti::detail::inside_of::get(*to_).engine().fail_and_tell(why);
    }
    /// That this rank waits in a collective on its device. On the loop, where groups end.
    void ask(std::uint64_t number, const descriptor& what) {
        tutti::detail::group* to = nullptr;
        {
            const std::lock_guard lock(guard_);
            if (to_) to = &tutti::detail::inside_of::get(*to_);
        }
        if (to) to->say_waiting_on_device(number, what);
    }
    /// What `issue` starts on the ranks' communicator; nothing when it is gone.
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
