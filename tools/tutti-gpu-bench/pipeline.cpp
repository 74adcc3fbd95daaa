#include "pipeline.hpp"

#include <tutti/gpu/copy.hpp>

#include <algorithm>

namespace gpu_bench {
namespace {

using namespace tutti;

void demand(const result<>& done) {
    if (!done) throw done.failure();
}

}  // namespace

void handover::put(const chunk& what) {
    const std::lock_guard lock(guard_);
    all_.push_back(what);
    changed_.notify_one();
}

std::optional<chunk> handover::take() {
    std::unique_lock lock(guard_);
    changed_.wait(lock, [this] { return closed_ || !all_.empty(); });
    if (all_.empty()) return std::nullopt;
    const chunk next = all_.front();
    all_.pop_front();
    return next;
}

void handover::close() {
    const std::lock_guard lock(guard_);
    closed_ = true;
    changed_.notify_all();
}

future<> stages::start(std::vector<std::function<void()>> all, std::function<void()> stop) {
    join();
    auto [done, end] = detail::make_future();
    end_.emplace(std::move(end));
    first_.reset();
    stop_ = std::move(stop);
    running_ = all.size();
    for (auto& each : all)
        threads_.emplace_back([this, work = std::move(each)] {
            try {
                work();
                ended({});
            } catch (const failure& why) {
                ended(why);
            }
        });
    return std::move(done);
}

void stages::ended(std::optional<failure> why) {
    if (why) stop_();
    const std::lock_guard lock(guard_);
    if (why && !first_) first_ = std::move(why);
    if (--running_ > 0) return;
    if (first_) end_->fail(*first_);
    else end_->set();
}

void stages::join() {
    for (auto& each : threads_) each.join();
    threads_.clear();
}

std::vector<chunk> chunks_of(const training_plan& plan) {
    std::vector<chunk> all;
    for (int layer = 0; layer < plan.layers; ++layer)
        for (std::size_t first = 0; first < plan.bucket_count; first += plan.chunk_count)
            all.push_back(
                {static_cast<std::size_t>(layer) * plan.bucket_count + first, std::min(plan.chunk_count, plan.bucket_count - first)});
    return all;
}

device_pipeline::device_pipeline(communicator& world, const gpu::device& where, const training_plan& plan)
    : world_(world),
      plan_(plan),
      out_(gpu::stream::make(where, gpu::stream_priority::high).value()),
      in_(gpu::stream::make(where, gpu::stream_priority::high).value()),
      slots_(gpu::pinned_buffer<float>::allocate(where, static_cast<std::size_t>(plan.window) * plan.chunk_count).value()) {}

gpu::host_part device_pipeline::part(const chunk& what) const {
    return slots_.part(static_cast<std::size_t>(what.slot) * plan_.chunk_count, what.count);
}

void device_pipeline::read(const std::vector<gpu::event>& ready, const gpu::device_buffer<float>& buckets) {
    std::size_t layers = 0;  // that are known to be ready
    for (chunk each : chunks_of(plan_)) {
        for (const std::size_t needed = each.first / plan_.bucket_count + 1; layers < needed; ++layers) demand(ready[layers].synchronize());
        const auto slot = free_->take();
        if (!slot) return;
        each.slot = slot->slot;
        demand(gpu::enqueue_copy(out_, part(each), buckets.part(each.first, each.count)));
        demand(out_.synchronize());
        read_->put(each);
    }
    read_->close();
}

void device_pipeline::add() {
    while (const auto next = read_->take()) {
        float* const data = slots_.data() + static_cast<std::size_t>(next->slot) * plan_.chunk_count;
        world_.all_reduce(std::span(data, next->count), tutti::sum).get();
        added_->put(*next);
    }
    added_->close();
}

void device_pipeline::write(const gpu::device_buffer<float>& buckets) {
    while (const auto next = added_->take()) {
        demand(gpu::enqueue_copy(in_, buckets.part(next->first, next->count), part(*next)));
        demand(in_.synchronize());
        free_->put(*next);
    }
}

void device_pipeline::stop() {
    for (auto* each : {&*free_, &*read_, &*added_}) each->close();
}

future<> device_pipeline::start(std::vector<gpu::event> ready, const gpu::device_buffer<float>& buckets) {
    for (auto* each : {&free_, &read_, &added_}) each->emplace();
    for (int slot = 0; slot < plan_.window; ++slot) free_->put({.slot = slot});
    return stages_.start(
        {[this, ready = std::move(ready), buckets] { read(ready, buckets); }, [this] { add(); }, [this, buckets] { write(buckets); }},
        [this] { stop(); });
}

future<> host_pipeline::start(std::span<const float> mine, std::span<float> sums) {
    const auto add = [this, mine, sums] {
        for (const chunk& each : chunks_of(plan_))
            world_.all_reduce(mine.subspan(each.first % plan_.bucket_count, each.count), sums.subspan(each.first, each.count), tutti::sum)
                .get();
    };
    return stages_.start({add}, [] {});
}

}  // namespace gpu_bench
