// What stands behind a gpu::communicator: the ranks, as a communicator of the host's, and the engine that works on their devices. What
// fails in one fails in both.
#pragma once

#include "communicator/device_join.hpp"
#include "communicator/group.hpp"
#include "gpu/device_engine.hpp"
#include "gpu/device_state.hpp"
#include "gpu/libraries.hpp"

#include <tutti/communicator.hpp>
#include <tutti/gpu/communicator.hpp>

#include <memory>
#include <mutex>

namespace tutti::gpu {

/// How an engine tells the other ranks, until the communicator of the host's is gone.
class ranks_door {
public:
    void open(tutti::detail::group& to) {
        const std::lock_guard lock(guard_);
        to_ = &to;
    }
    void shut() {
        const std::lock_guard lock(guard_);
        to_ = nullptr;
    }
    void tell(const report& why) {
        const std::lock_guard lock(guard_);
        if (to_) to_->engine().fail_and_tell(why);
    }

    /// That this rank waits in a collective. On the loop, where groups end.
    void ask(std::uint64_t number, const descriptor& what) {
        tutti::detail::group* to = nullptr;
        {
            const std::lock_guard lock(guard_);
            to = to_;
        }
        if (to) to->say_waiting_on_device(number, what);
    }

private:
    std::mutex guard_;
    tutti::detail::group* to_ = nullptr;
};

class device_group {
public:
    device_group(std::unique_ptr<tutti::communicator> ranks, device where, stream on, const loaded<nccl_table>& library)
        : child(std::move(ranks)),
          inside(tutti::detail::inside_of::get(*child)),
          card(std::move(where)),
          over(std::move(on)),
          nccl(library) {
        door->open(inside);
    }
    device_group(const device_group&) = delete;
    device_group& operator=(const device_group&) = delete;
    /// Whatever is pending ends with error::closed.
    ~device_group();

    rank me() const noexcept { return child->rank(); }
    int size() const noexcept { return child->size(); }

    const std::shared_ptr<ranks_door> door = std::make_shared<ranks_door>();
    std::unique_ptr<tutti::communicator> child;
    tutti::detail::group& inside;
    const device card;
    const stream over;
    const loaded<nccl_table>& nccl;
    std::shared_ptr<device_engine> engine;
    std::shared_ptr<void> barrier;  // a byte on the device
};

}  // namespace tutti::gpu
