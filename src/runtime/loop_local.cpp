#include "runtime/loop_local.hpp"

#include "runtime/loop_state.hpp"

namespace tutti::detail {

std::shared_ptr<void>& loop_local(event_loop& loop, const std::shared_ptr<const void>& whose) {
    auto& all = loop.inner().loop_locals;
    for (auto& each : all)
        if (!each.whose.owner_before(whose) && !whose.owner_before(each.whose)) return each.what;
    std::erase_if(all, [](const loop_local_value& each) { return each.whose.expired(); });
    return all.emplace_back(whose, nullptr).what;
}

}  // namespace tutti::detail
