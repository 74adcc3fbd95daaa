#include "training_step.hpp"

#include "tensors.hpp"

#include <algorithm>

namespace perf {
namespace {

using namespace tutti;

/// How many tensors go into each call.
std::vector<std::size_t> together(const std::vector<std::uint64_t>& tensors, way how, std::size_t width) {
    if (how == way::fused) return {tensors.size()};
    if (how == way::buckets) return buckets_of(tensors, bucket_bytes / width);
    return std::vector<std::size_t>(tensors.size(), 1);
}

}  // namespace

training_step::training_step(communicator& world, buffer memory, const std::vector<std::uint64_t>& tensors, way how, reduce_op op)
    : world_(world),
      how_(how),
      op_(op) {
    auto* place = static_cast<std::byte*>(memory.data);
    auto next = tensors.begin();
    for (std::size_t left : together(tensors, how, size_of(memory.type))) {
        std::uint64_t count = 0;
        for (; left > 0; --left) count += *next++;
        calls_.push_back({place, count, memory.type});
        place += calls_.back().bytes();
    }
    going_.reserve(calls_.size());
}

task<> training_step::operator()() {
    if (how_ == way::one_by_one) {
        for (const buffer& each : calls_) co_await world_.all_reduce(each, op_);
        co_return;
    }
    for (const buffer& each : calls_) going_.push_back(world_.all_reduce(each, op_));
    for (auto& each : going_) co_await std::move(each);
    going_.clear();
}

}  // namespace perf
