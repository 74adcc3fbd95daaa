// Ranks in threads of one process, with simulated devices in real time: for races, and for calls that do not return.
#pragma once

#include "device/ranks.hpp"
#include "group/spawn.hpp"
#include "support/threads.hpp"

#include <tutti/sleep.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

namespace tutti::test {

inline gpu::sim::options threaded_machine_of(int size) {
    gpu::sim::options how;
    how.engine = gpu::sim::engine::threaded;
    how.devices = size;
    return how;
}

using threaded_body = std::function<task<>(device_rank&, context&)>;

/// Both loops of a rank go on while one of its calls does not return, or soon will not, until the call is let go. The rank has been told so.
inline task<> go_on_meanwhile(device_rank& here, context& home, const char* entry_point) {
    const auto tick = [](int times) -> task<> {
        for (int done = 0; done < times; ++done) co_await sleep_for(std::chrono::milliseconds(1));
    };
    for (int left_ms = 60'000; here.machine.stuck(entry_point) == 0 && left_ms > 0; --left_ms)
        co_await sleep_for(std::chrono::milliseconds(1));
    auto there = tutti::detail::spawn(home.inner(), tick(20));
    auto mine = tick(20);
    co_await std::move(mine);
    co_await std::move(there);
    CHECK(here.machine.stuck(entry_point) > 0);
}

/// When both of two ranks have come here.
inline task<> release_together(device_rank& here, const char* entry_point, std::atomic<int>& through) {
    if (++through < 2)
        while (through < 2) co_await sleep_for(std::chrono::milliseconds(1));
    here.machine.release(entry_point);
}

/// Thrown by a body: the rank leaves as it is, without closing anything.
struct departure {};

/// Which device a rank has, or no_device.
using device_choice = int (*)(rank);
inline int own_device(rank me) { return me; }

inline void run_threads(gpu::sim::machine& machine, int size, gpu::device_options card_options, gpu::group_options how,
                        device_choice device_of, const threaded_body& body) {
    const gpu::driver_table driver = machine.driver();
    gpu::loaded<gpu::nccl_table> nccl;
    nccl.table = machine.nccl();
    memory_table table;
    on_threads(size, [&](rank me) {
        const int number = device_of(me);
        auto card = number == no_device ? result<gpu::device>(failure(error::unsupported, "there is no driver"))
                                        : gpu::open_device(driver, number, card_options);
        context_options options;
        options.transport = transport_kind::tcp;
        context home(options);
        event_loop loop;
        const device_body here = [&](device_rank& one) { return body(one, home); };
        try {
            run(loop, join_and_work(home, me, size, table, tutti::detail::device_joining(std::move(card), nccl, how), machine, here));
        } catch (const departure&) {
            // As it was meant.
        }
    });
    // The devices' own threads give back what was held up.
    const std::size_t opened = machine.calls("cuDevicePrimaryCtxRetain");
    while (machine.calls("cuDevicePrimaryCtxRelease") < opened) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace tutti::test
