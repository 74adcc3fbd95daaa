#include <tutti/gpu/copy.hpp>

#include "gpu/arrival.hpp"
#include "gpu/poller.hpp"
#include "gpu/stream_state.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace tutti::gpu {
namespace {

enum sort : std::uint32_t { host_to_device = 1, device_to_host, device_to_device, filling };

CUdeviceptr address_of(const void* memory) noexcept { return reinterpret_cast<CUdeviceptr>(memory); }

/// `use` enqueues; nothing is enqueued while the stream is being captured.
template <class Use>
result<> enqueue(const stream& on, const char* call, std::size_t to_bytes, std::size_t from_bytes, Use use) {
    if (to_bytes != from_bytes)
        return failure(error::invalid_argument, fmt::format("{} bytes do not go where there are {}", from_bytes, to_bytes));
    device_state& card = *on.inner()->card();
    if (const failure* why = card.fault()) return *why;
    const on_device here(card.driver(), card.context());
    if (auto free = refuse_stream(card, on.handle()); !free) return free;
    if (to_bytes == 0) return {};
    if (const CUresult code = use(card.driver()); code != CUDA_SUCCESS) return card.failed(call, code);
    return {};
}

/// Both parts live until the device has finished with them.
future<> completed(const stream& on, const result<>& enqueued, sort what, std::size_t bytes, keep_alive first, keep_alive second) {
    if (!enqueued) return arrival::failed(enqueued.failure());
    auto both = std::make_shared<const std::pair<keep_alive, keep_alive>>(std::move(first), std::move(second));
    auto end = on.inner()->record();
    if (end) return arrival::of(event(*end), std::move(both), kind_of(what, bytes));
    on.inner()->keep_until_idle(std::move(both));
    return arrival::failed(end.failure());
}

}  // namespace

result<> enqueue_copy(const stream& on, const device_part& to, const host_part& from) {
    return enqueue(on, "cuMemcpyHtoDAsync", to.bytes, from.bytes, [&](const driver_table& driver) {
        return driver.cuMemcpyHtoDAsync(address_of(to.data), from.data, to.bytes, on.handle());
    });
}

result<> enqueue_copy(const stream& on, const host_part& to, const device_part& from) {
    return enqueue(on, "cuMemcpyDtoHAsync", to.bytes, from.bytes, [&](const driver_table& driver) {
        return driver.cuMemcpyDtoHAsync(to.data, address_of(from.data), to.bytes, on.handle());
    });
}

result<> enqueue_copy(const stream& on, const device_part& to, const device_part& from) {
    return enqueue(on, "cuMemcpyDtoDAsync", to.bytes, from.bytes, [&](const driver_table& driver) {
        return driver.cuMemcpyDtoDAsync(address_of(to.data), address_of(from.data), to.bytes, on.handle());
    });
}

result<> enqueue_fill(const stream& on, const device_part& to, std::byte value) {
    return enqueue(on, "cuMemsetD8Async", to.bytes, to.bytes, [&](const driver_table& driver) {
        return driver.cuMemsetD8Async(address_of(to.data), static_cast<unsigned char>(value), to.bytes, on.handle());
    });
}

future<> copy(const stream& on, device_part to, host_part from) {
    return completed(on, enqueue_copy(on, to, from), host_to_device, to.bytes, std::move(to.kept), std::move(from.kept));
}

future<> copy(const stream& on, host_part to, device_part from) {
    return completed(on, enqueue_copy(on, to, from), device_to_host, to.bytes, std::move(to.kept), std::move(from.kept));
}

future<> copy(const stream& on, device_part to, device_part from) {
    return completed(on, enqueue_copy(on, to, from), device_to_device, to.bytes, std::move(to.kept), std::move(from.kept));
}

future<> fill(const stream& on, device_part to, std::byte value) {
    return completed(on, enqueue_fill(on, to, value), filling, to.bytes, std::move(to.kept), {});
}

}  // namespace tutti::gpu
