// Several ranks in one process, each with a simulated device, on one loop of virtual time that does everybody's work.
#pragma once

#include "device/join.hpp"
#include "gpu/device_state.hpp"
#include "gpu/libraries.hpp"
#include "gpu/sim/checked_machine.hpp"
#include "reducer/gradients.hpp"
#include "support/failures.hpp"
#include "transport/memory_transport.hpp"

#include <tutti/context.hpp>
#include <tutti/event_loop.hpp>
#include <tutti/gpu.hpp>
#include <tutti/store.hpp>
#include <tutti/when_all.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace tutti::test {

/// Memory of a rank's device, or of the host where it has none; and where the test sees its bytes.
struct rank_memory {
    std::byte* data;
    std::byte* seen;
    std::size_t bytes;
    gpu::keep_alive keep;

    template <class T>
    T& at(std::size_t index) const {
        return reinterpret_cast<T*>(seen)[index];
    }
    gpu::device_span span(data_type type, std::size_t first, std::size_t count) const {
        return gpu::device_span(data + first * size_of(type), count, type, keep);
    }
    template <class T>
    gpu::device_span all() const {
        return gpu::device_span(data, bytes / sizeof(T), type_of<T>, keep);
    }
};

/// The things that a test has on one rank.
struct device_rank {
    rank me;
    gpu::communicator& all;
    communicator& world;
    gpu::device card;  // empty on a rank that has none
    gpu::sim::machine& machine;

    bool on_host() const { return !all.on().has_value(); }
    rank_memory place(std::size_t length) const {
        if (!on_host()) {
            const auto made = memory(length);
            return {made.data(), length ? shadow(made.data()) : nullptr, length, made.keep()};
        }
        const auto made = std::make_shared<std::vector<std::max_align_t>>(length / sizeof(std::max_align_t) + 1);
        auto* const data = reinterpret_cast<std::byte*>(made->data());
        return {data, data, length, made};
    }
    template <class T>
    rank_memory place_filled(std::size_t count, T value) const {
        const rank_memory made = place(count * sizeof(T));
        for (std::size_t index = 0; index < count; ++index) made.at<T>(index) = value;
        return made;
    }

    /// Memory on the device, and what is in it, behind its back.
    gpu::device_buffer<std::byte> memory(std::size_t length) const { return gpu::device_buffer<std::byte>::allocate(card, length).value(); }
    std::byte* shadow(const void* where) const { return machine.shadow(reinterpret_cast<CUdeviceptr>(where)); }
    template <class T>
    gpu::device_buffer<T> filled(std::size_t count, T value) const {
        auto made = gpu::device_buffer<T>::allocate(card, count).value();
        for (std::size_t index = 0; index < count; ++index) std::memcpy(shadow(made.data() + index), &value, sizeof value);
        return made;
    }
    template <class T>
    T at(const gpu::device_buffer<T>& of, std::size_t index) const {
        T value;
        std::memcpy(&value, shadow(of.data() + index), sizeof value);
        return value;
    }
    gpu::stream stream() const { return gpu::stream::make(card).value(); }
    void kernel(const gpu::stream& where, duration length, std::function<void()> body = {}, std::string name = "kernel") const {
        const gpu::on_device here(card.inner()->driver(), card.inner()->context());
        machine.launch(where.handle(), length, std::move(body), std::move(name));
    }
};

/// Returns whether the host waited for the device only where memory and communicators are given back.
inline bool waits_at_the_end_only(const gpu::sim::trace& all) {
    return std::all_of(all.waits.begin(), all.waits.end(),
                       [](const auto& each) { return each.call == "ncclCommDestroy" || each.call == "cuMemFree"; });
}

using device_body = std::function<task<>(device_rank&)>;

/// One rank from its joining to its leaving. An error of a communicator that the body has seen fail is not thrown.
inline task<> join_and_work(context& home, rank me, int size, memory_table& table, tutti::detail::device_joining how,
                            gpu::sim::machine& machine, const device_body& body) {
    world who;
    who.me = me;
    who.size = size;
    who.master_address = "127.0.0.1";
    who.local_size = size;
    auto joining = home.join(who, memory_store(table));
    const auto world = co_await std::move(joining);
    const gpu::device card = how.card ? *how.card : gpu::device(nullptr);
    auto meeting = tutti::detail::join_devices(*world, std::move(how));
    auto all = co_await std::move(meeting);
    device_rank here{me, *all, *world, card, machine};
    auto work = body(here);
    co_await std::move(work);
    try {
        auto closing = all->close();
        co_await std::move(closing);
        all.reset();
        auto leaving = world->close();
        co_await std::move(leaving);
    } catch (const failure&) {
        // The body has seen it in its own way.
    }
}

/// As the number of a rank's device: it has none.
inline constexpr int no_device = -1;

/// A host of as many simulated devices as there are ranks, or as the test says.
class device_stage {
public:
    explicit device_stage(int size, gpu::sim::options how = {}) : size_(size), machine(with_devices(how, size)) {
        nccl.table = machine.nccl();
        machine.drive(loop);
        options.notice = [](const std::string&) {};
    }
    ~device_stage() { leave(); }

    /// Runs `body` on every rank until all have closed. The first error is thrown; one of a communicator that the body has seen fail is not.
    void run(const device_body& body) {
        run_each([&](rank me) { return one_rank(me, body); });
    }
    /// Returns what each rank is told where they cannot join.
    failures join_in_vain() {
        const device_body nothing = [](device_rank&) -> task<> { co_return; };
        failures told(static_cast<std::size_t>(size_));
        run_each([&](rank me) { return fail_to_join(me, nothing, told[static_cast<std::size_t>(me)]); });
        return told;
    }
    /// Nothing of the ranks is left.
    void leave() {
        homes.clear();
        loop.run();
    }

    result<gpu::device> open(rank me) {
        if (device_of(me) == no_device) return failure(error::unsupported, no_driver);
        return gpu::open_device(driver, device_of(me), card_options, {&loop, &loop, &loop});
    }

private:
    static gpu::sim::options with_devices(gpu::sim::options how, int size) {
        how.devices = std::max(how.devices, size);
        return how;
    }
    template <class Start>
    void run_each(Start start) {
        std::vector<task<>> all;
        for (rank me = 0; me < size_; ++me) {
            homes.push_back(std::make_unique<context>(loop, make_transport(loop), options));
            all.push_back(start(me));
        }
        tutti::run(loop, when_all(std::move(all)));
        loop.run();
    }
    task<> one_rank(rank me, const device_body& body);
    task<> fail_to_join(rank me, const device_body& body, std::optional<failure>& told) {
        auto ending = outcome(one_rank(me, body));
        told = co_await std::move(ending);
    }

    int size_;

public:
    event_loop loop{event_loop::virtual_time};
    gpu::sim::checked_machine machine;
    memory_network network;
    std::function<std::unique_ptr<transport>(event_loop&)> make_transport = [this](event_loop& on) {
        return std::make_unique<memory_transport>(on, network);
    };
    memory_table table;
    gpu::driver_table driver = machine.driver();
    gpu::loaded<gpu::nccl_table> nccl;
    context_options options;
    gpu::device_options card_options;
    gpu::group_options group;
    std::function<int(rank)> device_of = [](rank me) { return me; };
    std::function<int(rank)> window_of;  // where ranks differ
    std::string no_driver = "there is no driver";
    std::function<std::optional<gpu::stream>(const gpu::device&)> over;  // the communication stream, if it is the test's
    std::vector<std::unique_ptr<context>> homes;
};

/// Rank 1 has no device; chunks are the smallest.
inline void mix(device_stage& stage) {
    stage.device_of = [](rank me) { return me == 1 ? no_device : me; };
    stage.group.chunk_bytes = 4096;
    stage.group.window = 3;
}

inline task<> device_stage::one_rank(rank me, const device_body& body) {
    auto card = open(me);
    std::optional<gpu::stream> mine;
    if (over && card) mine = over(*card);
    gpu::group_options asked = group;
    asked.over = mine ? &*mine : nullptr;
    if (window_of) asked.window = window_of(me);
    auto working = join_and_work(*homes[static_cast<std::size_t>(me)], me, size_, table, tutti::detail::device_joining(card, nccl, asked),
                                 machine, body);
    co_await std::move(working);
}

}  // namespace tutti::test
