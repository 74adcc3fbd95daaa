// The order of an engine's calls: which places are taken, which are reserved, and when all calls before some moment have ended (sync).
#include "engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

namespace tutti {

// ---- places

std::uint64_t engine::reserve(std::size_t count) {
    const std::lock_guard lock(guard_);
    return order_.reserve(count);
}

std::uint64_t engine::calls() noexcept {
    const std::lock_guard lock(guard_);
    return order_.given_out();
}

/// Fails the engine: other ranks may have used their places, and wait in these calls.
void engine::give_up(std::uint64_t next, std::uint64_t end) noexcept {
    if (!made_.here() || next == end) return;
    const std::lock_guard lock(guard_);
    fail_own(error::aborted,
             fmt::format("rank {} gave up {} reserved place{} in the order, from #{} on, without a call{}", who_.me, end - next,
                         end - next == 1 ? "" : "s", next, std::uncaught_exceptions() > 0 ? ", because of an exception" : ""));
}

// ---- all that was called before

future<> engine::sync() {
    const std::lock_guard lock(guard_);
    return syncs_.add(order_.made(), messages_.calls());
}

bool engine::under_way(std::uint64_t collectives, std::uint64_t messages) const noexcept {
    const auto before = [collectives](const operation& each) { return each.issued <= collectives; };
    for (const operation_list* in : {&live_, &fresh_, &ended_})
        for (const operation* each = in->first(); each; each = operation_list::after(*each))
            if (before(*each)) return true;
    return admission_.any_waits(before) || messages_.under_way(messages);
}

}  // namespace tutti
