// The part of a rank without a device: it computes nothing, and its memory is the host's.
#pragma once

#include "pipeline.hpp"
#include "training.hpp"

#include <tutti/gpu/communicator.hpp>

namespace gpu_bench {

class host_trainer final : public trainer {
public:
    host_trainer(tutti::communicator& world, tutti::gpu::communicator& all, const training_plan& plan);

    tutti::task<step_record> step(variant how, int number) override;
    tutti::task<step_record> traced_step(int number) override { return step(variant::overlapped, number); }
    tutti::task<std::size_t> wrong(int number, int ranks_on_devices) override;
    tutti::task<> balance(double) override { co_return; }
    int launches() const noexcept override { return 0; }

private:
    tutti::task<> sum_all();

    tutti::gpu::communicator& all_;
    const training_plan plan_;
    std::vector<float> mine_;  // one bucket, the same for all layers
    std::vector<float> sums_;
    host_pipeline pipeline_;
};

}  // namespace gpu_bench
