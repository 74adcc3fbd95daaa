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

training_step::training_step(communicator& world, buffer memory, const std::vector<std::uint64_t>& tensors, way how, reduction op,
                             call_options options)
    : world_(world),
      how_(how),
      op_(op),
      options_(options) {
    auto* place = static_cast<std::byte*>(memory.data);
    auto next = tensors.begin();
    for (std::size_t left : together(tensors, how, size_of(memory.type))) {
        std::vector<buffer> call;
        for (; left > 0; --left) {
            call.push_back({place, *next++, memory.type});
            place += call.back().bytes();
        }
        calls_.push_back(how == way::fused ? std::vector{memory} : std::move(call));
    }
    going_.reserve(calls_.size());
}

future<> training_step::start(const std::vector<buffer>& call) {
    return call.size() == 1 ? world_.all_reduce(call.front(), op_, options_)
                            : world_.all_reduce(std::span<const buffer>(call), op_, options_);
}

task<> training_step::operator()() {
    if (how_ == way::one_by_one) {
        for (const auto& each : calls_) co_await start(each);
        co_return;
    }
    for (const auto& each : calls_) going_.push_back(start(each));
    for (auto& each : going_) co_await std::move(each);
    going_.clear();
}

}  // namespace perf
