// How ranks with devices become a gpu::communicator.
#pragma once

#include "communicator/group.hpp"
#include "gpu/libraries.hpp"

#include <tutti/communicator.hpp>
#include <tutti/gpu/communicator.hpp>
#include <tutti/gpu/device.hpp>

#include <cstddef>
#include <memory>
#include <optional>

namespace tutti::detail {

/// Who may look into a communicator from outside.
class inside_of {
public:
    static group& get(communicator& which) noexcept { return *which.group_; }
};

struct device_joining {
    result<gpu::device> card;
    const gpu::loaded<gpu::nccl_table>& nccl;  // tests fill their own; it outlives the communicator
    std::optional<gpu::stream> over;           // the caller's communication stream
    gpu::engine_kind engine = gpu::engine_kind::automatic;
    std::size_t chunk_bytes = gpu::group_options().chunk_bytes;
    int window = gpu::group_options().window;

    device_joining(result<gpu::device> mine, const gpu::loaded<gpu::nccl_table>& library, std::optional<gpu::stream> main)
        : card(std::move(mine)),
          nccl(library),
          over(std::move(main)) {}
    device_joining(result<gpu::device> mine, const gpu::loaded<gpu::nccl_table>& library, const gpu::group_options& options)
        : device_joining(std::move(mine), library, options.over ? std::optional(*options.over) : std::nullopt) {
        engine = options.engine;
        chunk_bytes = options.chunk_bytes;
        window = options.window;
    }
};

/// The ranks of `parent`, which goes on beside. Its place among the parent's children is taken when this returns.
task<std::unique_ptr<gpu::communicator>> join_devices(communicator& parent, device_joining how);
/// Those who give the same color.
task<std::unique_ptr<gpu::communicator>> split_devices(communicator& parent, int color, int key, device_joining how);

}  // namespace tutti::detail
