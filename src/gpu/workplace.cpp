#include "gpu/workplace.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tutti::gpu {

event_loop& workplace::loop() {
    if (given_) return *given_;
    const std::lock_guard lock(guard_);
    if (!room_) {
        room_ = std::make_shared<room>();
        thread_ = quiet_thread([here = room_] {
            here->loop.run();
            const std::lock_guard leaving(here->guard);
            here->empty = true;
            here->left.notify_all();
        });
    }
    return room_->loop;
}

bool workplace::stop(duration patience) {
    {
        const std::lock_guard lock(guard_);
        if (room_) room_->loop.stop();
    }
    return await_end(patience);
}

bool workplace::await_end(duration patience) {
    quiet_thread thread;
    std::shared_ptr<room> here;
    {
        const std::lock_guard lock(guard_);
        std::swap(thread, thread_);
        here = room_;
    }
    if (!thread.joinable()) return true;
    if (thread.get_id() == std::this_thread::get_id()) {
        thread.detach();
        return true;
    }
    std::unique_lock waiting(here->guard);
    const bool empty = here->left.wait_for(waiting, std::min<duration>(patience, std::chrono::years(1)), [&here] { return here->empty; });
    waiting.unlock();
    if (empty) thread.join();
    else thread.detach();
    return empty;
}

}  // namespace tutti::gpu
