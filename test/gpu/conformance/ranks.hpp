// Ranks in threads of one process, as they are in programs, on whatever the tests run on; and memory that they work on, which the host never
// looks into where it is a device's.
#pragma once

#include "device/join.hpp"
#include "gpu/conformance/testbed.hpp"
#include "support/threads.hpp"

#include <tutti/context.hpp>
#include <tutti/event_loop.hpp>
#include <tutti/gpu.hpp>
#include <tutti/store.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tutti::test {

/// Memory of a rank's device, with pinned memory beside it that the host fills and reads. Where the rank has no device, both are the same memory
/// of the host.
struct mirrored_memory {
    std::byte* data;
    std::byte* here;
    std::size_t bytes;
    gpu::keep_alive keep, keep_here;

    gpu::device_span span(data_type type, std::size_t count, std::size_t opaque_bytes = 0) const {
        gpu::device_span made(data, count, type, keep);
        made.opaque_bytes = opaque_bytes;
        return made;
    }
    template <class T>
    gpu::device_span all() const {
        return gpu::device_span(data, bytes / sizeof(T), type_of<T>, keep);
    }
    template <class T>
    T& at(std::size_t index) const {
        return reinterpret_cast<T*>(here)[index];
    }
};

/// The things that a test has on one rank.
struct rank_place {
    rank me;
    gpu::communicator& all;
    communicator& world;
    std::optional<gpu::stream> compute;  // none without a device

    mirrored_memory place(std::size_t bytes) const {
        const std::size_t some = std::max<std::size_t>(1, bytes);
        if (!compute) {
            const auto made = std::make_shared<std::vector<std::max_align_t>>(some / sizeof(std::max_align_t) + 1);
            auto* const data = reinterpret_cast<std::byte*>(made->data());
            return {data, data, bytes, made, made};
        }
        const auto memory = gpu::device_buffer<std::byte>::allocate(*all.on(), some).value();
        const auto host = gpu::pinned_buffer<std::byte>::allocate(*all.on(), some).value();
        return {memory.data(), host.data(), bytes, memory.keep(), host.keep()};
    }
    template <class T>
    mirrored_memory place_filled(std::size_t count, T value) const {
        const mirrored_memory made = place(count * sizeof(T));
        std::fill_n(reinterpret_cast<T*>(made.here), count, value);
        enqueue_upload(made);
        return made;
    }
    /// Copies what the host has written to the device, for what comes after it on `compute`.
    void enqueue_upload(const mirrored_memory& which) const {
        if (compute && which.bytes > 0) gpu::enqueue_copy(*compute, on_device(which), on_host(which)).value();
    }
    /// Copies to the host what is on the device when `compute` has come to it.
    task<> download(const mirrored_memory& which) const {
        if (!compute || which.bytes == 0) co_return;
        future<> copied = gpu::copy(*compute, on_host(which), on_device(which));
        co_await std::move(copied);
    }
    gpu::call_options behind_compute() const {
        gpu::call_options options;
        options.after = compute ? &*compute : nullptr;
        return options;
    }

private:
    static gpu::device_part on_device(const mirrored_memory& of) { return {of.data, of.bytes, of.keep}; }
    static gpu::host_part on_host(const mirrored_memory& of) { return {of.here, of.bytes, of.keep_here}; }
};

/// For ranks that are to do without.
inline gpu::loaded<gpu::nccl_table> no_nccl() {
    gpu::loaded<gpu::nccl_table> none;
    none.why_not = failure(error::unsupported, "the test wants none");
    return none;
}

using rank_body = std::function<task<>(rank_place&)>;

/// A rank from its joining to its leaving.
inline task<> take_part(communicator& world, result<gpu::device> card, const gpu::loaded<gpu::nccl_table>& nccl, gpu::group_options how,
                        const rank_body& body) {
    auto meeting = detail::join_devices(world, detail::device_joining(card, nccl, how));
    const auto all = co_await std::move(meeting);
    rank_place here{world.rank(), *all, world, {}};
    if (card) here.compute = gpu::stream::make(*card).value();
    auto work = body(here);
    co_await std::move(work);
    auto closing = all->close();
    co_await std::move(closing);
}

inline task<> join_and_take_part(context& home, rank me, int size, memory_table& table, result<gpu::device> card,
                                 const gpu::loaded<gpu::nccl_table>& nccl, gpu::group_options how, const rank_body& body) {
    world who;
    who.me = me;
    who.size = who.local_size = size;
    who.master_address = "127.0.0.1";
    auto joining = home.join(who, memory_store(table));
    const auto world = co_await std::move(joining);
    auto work = take_part(*world, card, nccl, how, body);
    co_await std::move(work);
    auto leaving = world->close();
    co_await std::move(leaving);
}

/// Which device each rank has; no_device: none.
inline constexpr int no_device = -1;
using seats = std::vector<int>;

inline void run_ranks(const testbed& bed, const seats& devices, const gpu::loaded<gpu::nccl_table>& nccl, gpu::group_options how,
                      const rank_body& body, gpu::device_options each = {}) {
    const int size = static_cast<int>(devices.size());
    memory_table table;
    on_threads(size, [&](rank me) {
        const int number = devices[static_cast<std::size_t>(me)];
        result<gpu::device> card =
            number == no_device ? result<gpu::device>(failure(error::unsupported, "the test gives it none")) : bed.open(each, number);
        context_options options;
        options.transport = transport_kind::tcp;
        context home(options);
        event_loop loop;
        run(loop, join_and_take_part(home, me, size, table, card, nccl, how, body));
    });
}

}  // namespace tutti::test
