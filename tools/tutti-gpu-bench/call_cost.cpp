#include "call_cost.hpp"

#include "bare_nccl.hpp"
#include "errand.hpp"
#include "samples.hpp"

#include "gpu/nccl_types.hpp"

#include <tutti/gpu/copy.hpp>
#include <tutti/gpu/pinned_buffer.hpp>
#include <tutti/sleep.hpp>
#include <tutti/task.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>

namespace gpu_bench {
namespace {

using namespace tutti;

/// The operands of one rank: its own rank and 1, everywhere.
struct operands {
    operands(const gpu::device& card, std::uint64_t bytes)
        : stream(gpu::stream::make(card).value()),
          from(gpu::device_buffer<float>::allocate(card, std::max<std::uint64_t>(1, bytes / sizeof(float))).value()),
          to(gpu::device_buffer<float>::allocate(card, from.size()).value()),
          host(gpu::pinned_buffer<float>::allocate(card, from.size()).value()) {}

    gpu::stream stream;
    gpu::device_buffer<float> from, to;
    gpu::pinned_buffer<float> host;
};

task<> prepare(const operands& all, int me) {
    std::fill_n(all.host.data(), all.host.size(), static_cast<float>(me + 1));
    future<> copied = gpu::copy(all.stream, all.from, all.host);
    co_await std::move(copied);
    future<> cleared = gpu::fill(all.stream, all.to, std::byte{0});
    co_await std::move(cleared);
}

float expected(scaling op, int size) noexcept {
    const auto ranks = static_cast<float>(size), total = ranks * (ranks + 1) / 2;
    return op == scaling::avg ? total / ranks : premul_factor * total;
}

/// An average may be rounded on its way.
task<std::size_t> count_wrong(const operands& all, float right) {
    future<> copied = gpu::copy(all.stream, all.host, all.to);
    co_await std::move(copied);
    co_return static_cast<std::size_t>(std::count_if(all.host.data(), all.host.data() + all.host.size(),
                                                     [right](float each) { return !(std::abs(each - right) <= 1e-6f * right); }));
}

reduction operator_of(scaling op) { return op == scaling::avg ? reduction(avg) : reduction(premul_sum(premul_factor)); }

task<> by_library(gpu::communicator& all, const operands& on, scaling op, int times, int window) {
    std::deque<gpu::operation> pending;
    for (int i = 0; i < times; ++i) {
        if (pending.size() == static_cast<std::size_t>(window)) {
            co_await std::move(pending.front());
            pending.pop_front();
        }
        pending.push_back(all.all_reduce(on.from, on.to, operator_of(op)));
    }
    for (auto& each : pending) co_await std::move(each);
}

struct subject {
    communicator& world;
    gpu::communicator& all;
    const gpu::device& card;
    bare_nccl* bare;  // null: the library
};

task<> repeat(const subject& what, const operands& on, scaling op, int times, int window) {
    if (what.bare == nullptr) {
        co_await by_library(what.all, on, op, times, window);
        co_return;
    }
    errand there(what.card.inner()->issuing(),
                 [&] { what.bare->all_reduce(on.from.data(), on.to.data(), on.from.size(), op, times, window); });
    future<> done = there.done();
    co_await std::move(done);
}

task<call_row> measure(const subject& what, caller who, scaling op, std::uint64_t bytes, const call_plan& plan, int window) {
    event_loop& loop = co_await this_loop;
    call_row row{who, op, bytes, window};
    const operands on(what.card, bytes);
    co_await prepare(on, what.world.rank());
    co_await repeat(what, on, op, std::max(1, plan.times / 10), window);
    co_await what.world.barrier();
    const time_point begin = loop.now();
    const double cpu = perf::cpu_now();
    co_await repeat(what, on, op, plan.times, window);
    row.seconds = std::chrono::duration<double>(loop.now() - begin).count() / plan.times;
    row.cpu_seconds = (perf::cpu_now() - cpu) / plan.times;
    row.wrong = co_await count_wrong(on, expected(op, what.world.size()));
    co_return row;
}

task<> measure_all(const subject& what, caller who, const call_plan& plan, std::vector<call_row>& into) {
    for (const scaling op : {scaling::avg, scaling::premul_sum})
        for (const std::uint64_t bytes : plan.bytes)
            for (const int window : {1, plan.window}) into.push_back(co_await measure(what, who, op, bytes, plan, window));
}

/// The same on all ranks.
task<ncclUniqueId> agreed_id(communicator& world, const gpu::nccl_table& nccl) {
    ncclUniqueId id{};
    if (world.rank() == 0)
        if (const ncclResult_t code = nccl.ncclGetUniqueId(&id); code != ncclSuccess)
            throw failure(gpu::error_of(code), std::string("ncclGetUniqueId: ") + nccl.ncclGetErrorString(code));
    co_await world.broadcast(std::span(id.internal), 0);
    co_return id;
}

task<> measure_bare(communicator& world, gpu::communicator& all, const gpu::device& card, const gpu::nccl_table& nccl, caller who,
                    const call_plan& plan, std::vector<call_row>& into) {
    const ncclUniqueId id = co_await agreed_id(world, nccl);
    const gpu::stream stream = gpu::stream::make(card).value();
    event_loop& issuing = card.inner()->issuing();
    std::unique_ptr<bare_nccl> bare;
    errand making(issuing, [&] {
        bare = std::make_unique<bare_nccl>(*card.inner(), nccl, id, world.size(), world.rank(), who == caller::blocking, stream.handle());
    });
    future<> made = making.done();
    co_await std::move(made);
    const subject what{world, all, card, bare.get()};
    co_await measure_all(what, who, plan, into);
    errand ending(issuing, [&] { bare.reset(); });
    future<> ended = ending.done();
    co_await std::move(ended);
}

}  // namespace

std::string_view name(scaling op) noexcept { return op == scaling::avg ? "avg" : "premul_sum"; }

std::string_view name(caller who) noexcept {
    constexpr std::string_view names[] = {"library", "blocking", "non_blocking"};
    return names[static_cast<int>(who)];
}

task<std::vector<call_row>> measure_calls(communicator& world, gpu::communicator& all, const gpu::device& card, const gpu::nccl_table& nccl,
                                          const call_plan& plan) {
    std::vector<call_row> rows;
    for (const caller who : {caller::blocking, caller::non_blocking}) co_await measure_bare(world, all, card, nccl, who, plan, rows);
    const subject library{world, all, card, nullptr};
    co_await measure_all(library, caller::library, plan, rows);
    co_return rows;
}

}  // namespace gpu_bench
