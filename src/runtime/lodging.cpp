#include "runtime/lodging.hpp"

#include "runtime/loop_state.hpp"

namespace tutti::detail {

std::shared_ptr<void>& lodging_of(event_loop& loop, const std::shared_ptr<const void>& whose) {
    auto& all = loop.inner().lodgings;
    for (auto& each : all)
        if (!each.whose.owner_before(whose) && !whose.owner_before(each.whose)) return each.what;
    std::erase_if(all, [](const lodging& each) { return each.whose.expired(); });
    return all.emplace_back(whose, nullptr).what;
}

}  // namespace tutti::detail
