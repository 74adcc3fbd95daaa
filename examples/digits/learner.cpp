#include "digits/learner.hpp"

#include "digits/shard.hpp"

#include <numeric>

namespace digits {

learner::learner(const split& data, const plan& how)
    : data_(data),
      plan_(how),
      net_(layer_widths, how.seed),
      descent_(net_, static_cast<float>(how.rate), momentum) {}

void learner::begin_epoch(int epoch) {
    order_ = visiting_order(data_.training.count(), plan_.seed, epoch);
    next_batch_ = 0;
    totals_ = {};
}

bool learner::backward(const std::function<void(std::size_t)>& ready) {
    const auto batch = global_batch(order_, plan_.batch, next_batch_);
    if (batch.empty()) return false;
    ++next_batch_;
    gather(data_.training, part(batch, plan_.rank, plan_.ranks));
    totals_[0] += net_.forward(mine_.pixels, mine_.labels).loss;
    net_.backward(static_cast<float>(plan_.ranks) / static_cast<float>(batch.size()), ready);
    return true;
}

void learner::evaluate() {
    std::vector<std::size_t> all(data_.test.count());
    std::iota(all.begin(), all.end(), std::size_t{0});
    gather(data_.test, part(all, plan_.rank, plan_.ranks));
    totals_[1] += static_cast<double>(net_.forward(mine_.pixels, mine_.labels).correct);
}

void learner::gather(const dataset& from, std::span<const std::size_t> which) {
    mine_.clear();
    for (const std::size_t index : which) mine_.append(from, index);
}

}  // namespace digits
