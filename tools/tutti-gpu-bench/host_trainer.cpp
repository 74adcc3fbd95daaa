#include "host_trainer.hpp"

#include <algorithm>

namespace gpu_bench {
namespace {

using namespace tutti;

}  // namespace

host_trainer::host_trainer(communicator& world, gpu::communicator& all, const training_plan& plan)
    : all_(all),
      plan_(plan),
      mine_(plan.bucket_count, contribution(world.rank(), false, 0, 0)),
      sums_(plan.all_count()),
      pipeline_(world, plan) {}

task<> host_trainer::sum_all() {
    std::vector<gpu::operation> sums;
    for (int layer = 0; layer < plan_.layers; ++layer) {
        const auto into = std::span(sums_).subspan(static_cast<std::size_t>(layer) * plan_.bucket_count, plan_.bucket_count);
        sums.push_back(all_.all_reduce(gpu::const_device_span(std::span<const float>(mine_)), gpu::device_span(into), tutti::sum));
    }
    for (auto& each : sums) co_await std::move(each);
}

task<step_record> host_trainer::step(variant how, int) {
    if (how == variant::hand_written) {
        future<> done = pipeline_.start(mine_, sums_);
        co_await std::move(done);
    } else if (how != variant::computing) {
        co_await sum_all();
    }
    co_return step_record();
}

task<std::size_t> host_trainer::wrong(int number, int ranks_on_devices) {
    std::size_t found = 0;
    for (int layer = 0; layer < plan_.layers; ++layer) {
        const auto all = std::span(sums_).subspan(static_cast<std::size_t>(layer) * plan_.bucket_count, plan_.bucket_count);
        const float right = expected_sum(all_.size(), ranks_on_devices, layer, number);
        found += all.size() - static_cast<std::size_t>(std::count(all.begin(), all.end(), right));
    }
    co_return found;
}

}  // namespace gpu_bench
