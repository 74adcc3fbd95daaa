// The inside of a gpu::communicator: the ranks, as a sibling communicator of hosts, and the engine that works on this rank's device. A failure of one is a
// failure of both.
#pragma once

#include "communicator/inside_of.hpp"
#include "device/join.hpp"
#include "device/rank_access.hpp"
#include "gpu/device_engine.hpp"
#include "gpu/device_state.hpp"
#include "group/group.hpp"
#include "validation/list_check.hpp"

#include <tutti/communicator.hpp>
#include <tutti/gpu/communicator.hpp>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tutti::gpu {

class [[gnu::visibility("hidden")]] device_group {
public:
    device_group(std::unique_ptr<tutti::communicator> made, tutti::detail::device_joining by)
        : host_communicator(std::move(made)),
          inside(tutti::detail::inside_of::get(*host_communicator)),
          how(std::move(by)) {
        if (how.card) card = *how.card;
        over = how.over;
        ranks->open(*host_communicator);
    }
    device_group(const device_group&) = delete;
    device_group& operator=(const device_group&) = delete;
    /// Pending calls end with error::closed.
    ~device_group();

    rank me() const noexcept { return host_communicator->rank(); }
    int size() const noexcept { return host_communicator->size(); }
    /// As gpu::communicator::all_reduce, of checked buffers and after an event. `options.after` is ignored.
    operation all_reduce(std::span<const device_span> list, reduction op, event after, const call_options& options);

    const std::shared_ptr<rank_access> ranks = std::make_shared<rank_access>();
    std::unique_ptr<tutti::communicator> host_communicator;  // of the same ranks; a child of the communicator that they came from
    tutti::detail::group& inside;
    const tutti::detail::device_joining how;
    std::optional<device> card;
    std::optional<stream> over;  // where there is a device
    std::shared_ptr<device_engine> engine;
    tutti::detail::list_check lists;
    std::uint8_t divides = 0;  // NCCL makes communicators of this one, on all ranks
    // From the ranks that a shrink left out to the number of such shrinks, so that a rank that tries again meets ranks that try for the first time.
    const std::shared_ptr<std::map<std::vector<rank>, int>> shrunk = std::make_shared<std::map<std::vector<rank>, int>>();
    std::shared_ptr<void> barrier;  // a byte on the device, where NCCL is used
};

}  // namespace tutti::gpu
