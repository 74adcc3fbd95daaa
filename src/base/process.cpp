#include "base/process.hpp"

#include <fmt/format.h>

#include <pthread.h>
#include <unistd.h>

namespace tutti {

constinit std::atomic<std::uint32_t> forks_before_this_process{0};

namespace {

[[maybe_unused]] const int counts_forks =
    ::pthread_atfork(nullptr, nullptr, [] { forks_before_this_process.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

birthplace::birthplace() noexcept : process_(this_process()), number_(static_cast<int>(::getpid())) {}

failure birthplace::foreign(std::string_view what) const {
    return failure(error::closed, fmt::format("the {} belongs to process {}, from which this one, {}, was forked; make another one here",
                                              what, number_, static_cast<int>(::getpid())));
}

/// Reachable, so that no tool takes it for lost.
void detail::keep(kept_object& one) noexcept {
    static constinit std::atomic<kept_object*> last{nullptr};
    one.next = last.load(std::memory_order_relaxed);
    while (!last.compare_exchange_weak(one.next, &one)) {}
}

}  // namespace tutti
