// Ranks in threads of one process, with simulated devices in real time: for races, and for calls that do not return.
#pragma once

#include "gpu/device_ranks.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace tutti::test {

inline gpu::sim::options threaded_machine_of(int size) {
    gpu::sim::options how;
    how.engine = gpu::sim::engine::threaded;
    how.devices = size;
    return how;
}

using threaded_body = std::function<task<>(device_rank&, context&)>;

inline task<> join_and_work(context& home, rank me, int size, memory_table& table, result<gpu::device> card, gpu::sim::machine& machine,
                            const gpu::loaded<gpu::nccl_table>& nccl, gpu::group_options how, const threaded_body& body) {
    world who;
    who.me = me;
    who.size = size;
    who.master_address = "127.0.0.1";
    who.local_size = size;
    auto joining = home.join(who, memory_store(table));
    const auto world = co_await std::move(joining);
    auto meeting = tutti::detail::join_devices(*world, tutti::detail::device_joining(card, nccl, how));
    auto all = co_await std::move(meeting);
    device_rank here{me, *all, *world, card ? *card : gpu::device(nullptr), machine};
    auto work = body(here, home);
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

/// Which device a rank has, or no_device.
using device_choice = int (*)(rank);
inline int own_device(rank me) { return me; }

inline void run_threads(gpu::sim::machine& machine, int size, gpu::device_options card_options, gpu::group_options how,
                        device_choice device_of, const threaded_body& body) {
    const gpu::driver_table driver = machine.driver();
    gpu::loaded<gpu::nccl_table> nccl;
    nccl.table = machine.nccl();
    memory_table table;
    std::vector<std::string> errors(static_cast<std::size_t>(size));
    std::vector<std::thread> threads;
    for (rank me = 0; me < size; ++me)
        threads.emplace_back([&, me] {
            try {
                const int number = device_of(me);
                auto card = number == no_device ? result<gpu::device>(failure(error::unsupported, "there is no driver"))
                                                : gpu::open_device(driver, number, card_options);
                context_options options;
                options.transport = transport_kind::tcp;
                context home(options);
                event_loop loop;
                run(loop, join_and_work(home, me, size, table, std::move(card), machine, nccl, how, body));
            } catch (const std::exception& why) {
                errors[static_cast<std::size_t>(me)] = why.what();
            }
        });
    for (auto& each : threads) each.join();
    // What was held up is given back by the devices' own threads.
    const std::size_t opened = machine.calls("cuDevicePrimaryCtxRetain");
    while (machine.calls("cuDevicePrimaryCtxRelease") < opened) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (const auto& each : errors) CHECK(each == "");
}

}  // namespace tutti::test
