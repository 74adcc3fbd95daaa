// One rank's part of data-parallel training: its images, its copy of the network, its sums. Between backward() and step() the caller
// averages the gradients over the ranks.
#pragma once

#include "digits/dataset.hpp"
#include "digits/descent.hpp"
#include "digits/network.hpp"

#include <array>
#include <functional>
#include <span>
#include <vector>

namespace digits {

struct plan {
    std::size_t batch = 64;  // over all ranks
    double rate = 0.05;
    std::uint64_t seed = 1;
    int rank = 0;
    int ranks = 1;
};

inline constexpr std::array<std::size_t, 4> layer_widths = {pixel_count, 256, 128, class_count};
inline constexpr float momentum = 0.9F;

class learner {
public:
    /// `data` must outlive the learner.
    learner(const split& data, const plan& how);

    network& net() noexcept { return net_; }

    void begin_epoch(int epoch);
    /// Puts the gradients of this rank's part of the next global batch into net().parameters(), scaled so that their *average* over the
    /// ranks is the gradient of the batch's mean loss, however unequal the parts are. Calls ready(i) as network::backward does.
    /// False, and nothing done, when the epoch has no more batches.
    bool backward(const std::function<void(std::size_t)>& ready);
    /// Moves the values along the averaged gradients.
    void step() { descent_.step(net_); }
    /// Judges this rank's part of the test images.
    void evaluate();

    /// To be summed over the ranks at the end of an epoch; then loss() and accuracy() speak of all ranks.
    std::span<double> totals() noexcept { return totals_; }
    /// Mean loss of the training images, each taken when its turn came.
    double loss() const noexcept { return totals_[0] / static_cast<double>(data_.training.count()); }
    /// Share of the test images that were recognised, 0 to 1.
    double accuracy() const noexcept { return totals_[1] / static_cast<double>(data_.test.count()); }
    std::size_t samples_per_epoch() const noexcept { return data_.training.count(); }

private:
    void gather(const dataset& from, std::span<const std::size_t> which);

    const split& data_;
    plan plan_;
    network net_;
    descent descent_;
    std::vector<std::size_t> order_;
    std::size_t next_batch_ = 0;
    dataset mine_;
    std::array<double, 2> totals_{};
};

}  // namespace digits
