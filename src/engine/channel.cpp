#include "engine/channel.hpp"

#include "engine/operation.hpp"
#include "engine/port_sender.hpp"

#include <algorithm>
#include <functional>

namespace tutti {

void transfer_progress::count(const cursor& done, std::uint32_t frame, std::size_t bytes) noexcept {
    operation& of = at.of();
    if (frame != index) {
        of.transferred_early(done.step());
        early.push_back(frame);
        std::push_heap(early.begin(), early.end(), std::greater());
        return;
    }
    of.transferred(done.step(), bytes);
    advance();
    while (!early.empty() && early.front() == index) {
        std::pop_heap(early.begin(), early.end(), std::greater());
        early.pop_back();
        of.count_early(at.step(), at.slice());
        advance();
    }
}

void send_channel::begin(const cursor& first) noexcept {
    transfer_progress::begin(first);
    next_at = first;
    next_index = 0;
    queued = false;
    references.clear();
}

remote_reference send_channel::take_reference(std::uint32_t frame) noexcept {
    const auto found =
        std::find_if(references.begin(), references.end(), [frame](const remote_reference& each) { return each.index == frame; });
    if (found == references.end()) return {};
    const remote_reference taken = *found;
    *found = references.back();
    references.pop_back();
    return taken;
}

void send_channel::gather(std::vector<std::span<const std::byte>>& runs) const { at.of().memory().runs_of(at.step(), at.slice(), runs); }

void send_channel::sent() noexcept { over->sent(*this); }

}  // namespace tutti
