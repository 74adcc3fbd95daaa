// Makes the calls that may block (frees, destroys, synchronization) one after the other, on a thread of its own. Aborts are made beside it, because the
// calls may be waiting for the work that an abort ends.
#pragma once

#include "gpu/workplace.hpp"

#include <tutti/future.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace tutti::gpu {

/// One for each device, which owns it; any thread may give it calls. A call that has not returned after `patience` is stuck. Then the calls behind it
/// are not made: their futures fail with error::timed_out, and the memory that they would have freed is leaked (stuck.hpp).
class lifecycle final : public std::enable_shared_from_this<lifecycle>, detail::runnable {
public:
    /// Must be made shared. Calls run on `given`; if that is null, on a thread of its own. `whose` is for messages: "device 0".
    lifecycle(event_loop* given, duration patience, std::string whose);
    ~lifecycle();

    /// Makes a call, from any thread. The future ends when the call has returned. If it is cancelled or dropped it ends at once, and the call is
    /// made all the same.
    future<> run(std::string what, std::function<result<>()> call);
    /// Makes a call for which no caller waits. It need not hold the device, because the work that ends the device comes behind it.
    void later(std::string what, std::function<void()> call);

    /// Makes a call at once, on a thread of its own, or on the loop that was given. The call must hold everything that it needs.
    void beside(std::string what, std::function<void()> call);

    /// Returns the failure that names the stuck call, if there is one.
    std::optional<failure> stuck() const;

    /// Makes the remaining calls, ends with `last`, and accepts nothing more. Waits for that at most as long as one call may take, and not at all
    /// if this thread runs an event loop. Returns false when a call is stuck; then `last` was not called.
    bool finish(std::function<void()> last);

private:
    struct job {
        std::string what;
        std::function<void()> call;
        std::function<void(const failure&)> drop;  // instead of the call
    };

    void run() noexcept override;
    void add(job what);
    void drain() noexcept;
    void watch() noexcept;
    void drop_all(const failure& why);
    std::optional<failure> stuck_now() const;

    const duration patience_;
    const std::string whose_;
    workplace workplace_;
    mutable std::mutex guard_;
    std::deque<job> jobs_;
    std::condition_variable moved_;  // the current call has changed
    bool watching_ = false;
    bool posted_ = false;
    bool closed_ = false;
    std::string current_;
    time_point since_{};
};

}  // namespace tutti::gpu
