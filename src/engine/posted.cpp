#include "engine/posted.hpp"

namespace tutti {

void posted::post(message& call) noexcept {
    by_key_.push(call.asked.peer, call.asked.tag, call);
    row_of(call.asked.peer).push(call);
    ++number_like(call);
}

void posted::withdraw(message& call) noexcept {
    by_key_.remove(call.asked.peer, call.asked.tag, call);
    row_of(call.asked.peer).remove(call);
    --number_like(call);
}

message* posted::claim(rank source, message_tag tag) noexcept {
    message* found = nullptr;
    for (std::size_t kind = 0; kind < numbers_.size(); ++kind) {
        if (numbers_[kind] == 0) continue;
        message* const one = by_key_.first((kind & 2) != 0 ? any_source : source, (kind & 1) != 0 ? any_tag : tag);
        if (one && (!found || one->call < found->call)) found = one;
    }
    if (found) withdraw(*found);
    return found;
}

void posted::clear() noexcept {
    by_key_.clear();
    for (row& each : by_source_) each.clear();
    numbers_ = {};
}

}  // namespace tutti
