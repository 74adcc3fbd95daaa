#include "engine/recent_calls.hpp"

#include "engine/request.hpp"

#include <fmt/format.h>

namespace tutti {

std::string_view recent_calls::label_of(std::uint64_t sequence) const noexcept {
    const call* const known = slot_of(sequence);
    return known && known->what.label != 0 ? known->label.view() : std::string_view();
}

report recent_calls::mismatch(const differing_call& found, std::string_view label) const {
    auto names = tell_apart(found.mine, found.theirs);
    if (differ_in_label(found.mine, found.theirs))
        names = {with_label(found.mine, label_of(found.sequence)), with_label(found.theirs, label)};
    report why;
    why.code = error::mismatch;
    why.peers = {me_, found.peer};
    why.cause =
        fmt::format("rank {} called {} where rank {} called {} (operation #{})", me_, names.mine, found.peer, names.theirs, found.sequence);
    return why;
}

}  // namespace tutti
