// The part of a rank that has a device.
#pragma once

#include "pipeline.hpp"
#include "training.hpp"
#include "workload.hpp"

#include <tutti/gpu/communicator.hpp>

namespace gpu_bench {

class device_trainer final : public trainer {
public:
    device_trainer(tutti::communicator& world, tutti::gpu::communicator& all, const workload& device, const training_plan& plan,
                   int launches);

    tutti::task<step_record> step(variant how, int number) override;
    tutti::task<step_record> traced_step(int number) override;
    tutti::task<std::size_t> wrong(int number, int ranks_on_devices) override;
    tutti::task<> balance(double seconds) override;
    int launches() const noexcept override { return launches_; }

private:
    tutti::gpu::device_span bucket(int layer) const noexcept;
    void compute(int layer, int number) const;
    /// Computes every layer, and has its bucket summed behind it.
    std::vector<tutti::gpu::operation> go(int number);

    tutti::task<> compute_all(int number);
    tutti::task<> sum_all();
    tutti::task<> one_by_one(int number);
    tutti::task<double> overlapped(int number);
    tutti::task<> ordered(int number);
    tutti::task<> by_hand(int number);

    tutti::gpu::communicator& all_;
    const workload& device_;
    const training_plan plan_;
    int launches_;
    tutti::gpu::stream compute_;
    tutti::gpu::device_buffer<float> buckets_;
    device_pipeline pipeline_;
};

}  // namespace gpu_bench
