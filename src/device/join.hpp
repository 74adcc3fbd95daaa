// How ranks with devices become a gpu::communicator.
#pragma once

#include "gpu/libraries.hpp"
#include "gpu/nccl_birth.hpp"
#include "group/group.hpp"

#include <tutti/communicator.hpp>
#include <tutti/gpu/communicator.hpp>
#include <tutti/gpu/device.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace tutti::detail {

struct device_joining {
    result<gpu::device> card;
    const gpu::loaded<gpu::nccl_table>& nccl;  // tests fill their own; it outlives the communicator
    std::optional<gpu::stream> over;           // the caller's communication stream
    gpu::group_options with;                   // but for that
    std::shared_ptr<gpu::nccl_birth> born;     // the communicator of NCCL's, when another one makes it

    device_joining(result<gpu::device> mine, const gpu::loaded<gpu::nccl_table>& library, std::optional<gpu::stream> main)
        : card(std::move(mine)),
          nccl(library),
          over(std::move(main)) {}
    device_joining(result<gpu::device> mine, const gpu::loaded<gpu::nccl_table>& library, const gpu::group_options& options)
        : device_joining(std::move(mine), library, options.over ? std::optional(*options.over) : std::nullopt) {
        with = options;
        with.over = nullptr;
    }
};

/// Makes a device communicator of `ranks`, which it takes.
task<std::unique_ptr<gpu::communicator>> join_as(std::unique_ptr<communicator> ranks, device_joining how);

/// Makes a device communicator of the ranks of `parent`, which stays usable. Its place among the parent's children is taken when this returns.
task<std::unique_ptr<gpu::communicator>> join_devices(communicator& parent, device_joining how);
/// Makes a device communicator of the ranks that give the same color.
task<std::unique_ptr<gpu::communicator>> split_devices(gpu::device_group& parent, int color, int key);
/// Makes a device communicator of all ranks but `without`, which must be sorted.
task<std::unique_ptr<gpu::communicator>> shrink_devices(gpu::device_group& parent, std::vector<rank> without);

}  // namespace tutti::detail
