// Work that is done on another loop while this one goes on.
#pragma once

#include <tutti/detail/future_source.hpp>
#include <tutti/detail/runnable.hpp>
#include <tutti/event_loop.hpp>

#include <functional>

namespace gpu_bench {

/// `errand there(loop, work); co_await there.done();` It lives until then.
class errand {
public:
    errand(tutti::event_loop& where, std::function<void()> work) : work_(std::move(work)), ends_(tutti::detail::make_future()) {
        where.post(posted_);
    }
    tutti::future<> done() { return std::move(ends_.first); }

private:
    void run() noexcept {
        try {
            work_();
            ends_.second.set();
        } catch (const tutti::failure& why) {
            ends_.second.fail(why);
        }
    }

    std::function<void()> work_;
    std::pair<tutti::future<>, tutti::detail::future_source<>> ends_;
    tutti::detail::callback<&errand::run> posted_{*this};
};

}  // namespace gpu_bench
