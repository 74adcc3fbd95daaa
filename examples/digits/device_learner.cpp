#include "digits/device_learner.hpp"

#include "digits/shard.hpp"

#include <algorithm>
#include <numeric>

namespace digits {

namespace gpu = tutti::gpu;

namespace {

template <class T>
gpu::device_buffer<T> room(const gpu::device& where, std::size_t count) {
    return gpu::device_buffer<T>::allocate(where, count).value();
}
template <class T>
gpu::pinned_buffer<T> pinned_room(const gpu::device& where, std::size_t count) {
    return gpu::pinned_buffer<T>::allocate(where, count).value();
}
template <class T>
gpu::pinned_buffer<T> pinned_copy(const gpu::device& where, std::span<const T> of) {
    auto made = pinned_room<T>(where, of.size());
    std::copy(of.begin(), of.end(), made.data());
    return made;
}

/// Returns the most images that one rank works on at once: its part of a batch, or of the test.
std::size_t most_images(const split& data, const plan& how) {
    const auto share = [&how](std::size_t of) {
        return (of + static_cast<std::size_t>(how.ranks) - 1) / static_cast<std::size_t>(how.ranks);
    };
    return std::max(share(std::min(how.batch, data.training.count())), share(data.test.count()));
}

}  // namespace

device_learner::images::images(const dataset& from, const gpu::device& where, const gpu::stream& on)
    : pixels_here(pinned_copy<float>(where, from.pixels)),
      labels_here(pinned_copy<std::uint8_t>(where, from.labels)),
      pixels(room<float>(where, from.pixels.size())),
      labels(room<std::uint8_t>(where, from.labels.size())) {
    gpu::enqueue_copy(on, pixels, pixels_here).value();
    gpu::enqueue_copy(on, labels, labels_here).value();
}

device_learner::device_learner(const split& data, const plan& how, const network& like, const gpu::device& where,
                               const gpu::stream& compute)
    : data_(data),
      plan_(how),
      compute_(compute),
      net_(like, layer_widths, most_images(data, how), where, compute),
      training_(data.training, where, compute),
      test_(data.test, where, compute),
      values_here_(pinned_copy<float>(where, like.values())),
      which_here_(pinned_room<std::uint32_t>(where, data.training.count() + data.test.count())),
      losses_here_(pinned_room<float>(where, which_here_.size())),
      hits_here_(pinned_room<float>(where, which_here_.size())),
      which_(room<std::uint32_t>(where, which_here_.size())),
      losses_(room<float>(where, which_here_.size())),
      hits_(room<float>(where, which_here_.size())) {
    gpu::enqueue_copy(compute_, net_.values(), values_here_).value();
}

void device_learner::begin_epoch(int epoch) {
    order_ = visiting_order(data_.training.count(), plan_.seed, epoch);
    next_batch_ = mine_ = 0;
    totals_ = {};
    std::uint32_t* next = which_here_.data();
    const auto add = [&next](std::span<const std::size_t> some) {
        next = std::transform(some.begin(), some.end(), next, [](std::size_t image) { return static_cast<std::uint32_t>(image); });
    };
    for (std::size_t batch = 0; !global_batch(order_, plan_.batch, batch).empty(); ++batch)
        add(part(global_batch(order_, plan_.batch, batch), plan_.rank, plan_.ranks));
    first_ = static_cast<std::size_t>(next - which_here_.data());
    std::vector<std::size_t> test(data_.test.count());
    std::iota(test.begin(), test.end(), std::size_t{0});
    add(part(test, plan_.rank, plan_.ranks));
    gpu::enqueue_copy(compute_, which_, which_here_).value();
}

bool device_learner::backward(const std::function<void(std::size_t)>& ready) {
    const auto batch = global_batch(order_, plan_.batch, next_batch_);
    if (batch.empty()) return false;
    ++next_batch_;
    const std::size_t count = part(batch, plan_.rank, plan_.ranks).size();
    net_.forward(
        {training_.pixels.data(), training_.labels.data(), which_.data() + mine_, losses_.data() + mine_, hits_.data() + mine_, count},
        static_cast<float>(plan_.ranks) / static_cast<float>(batch.size()));
    mine_ += count;
    net_.backward(ready);
    return true;
}

void device_learner::evaluate() {
    std::vector<std::size_t> all(data_.test.count());
    const std::size_t count = part(all, plan_.rank, plan_.ranks).size();
    net_.forward({test_.pixels.data(), test_.labels.data(), which_.data() + first_, losses_.data() + first_, hits_.data() + first_, count},
                 0);
    mine_ = first_ + count;
}

tutti::task<> device_learner::fetch() {
    tutti::future<> losses = gpu::copy(compute_, losses_here_, losses_);
    tutti::future<> hits = gpu::copy(compute_, hits_here_, hits_);
    co_await std::move(losses);
    co_await std::move(hits);
    totals_[0] = std::accumulate(losses_here_.data(), losses_here_.data() + first_, 0.0);
    totals_[1] = std::accumulate(hits_here_.data() + first_, hits_here_.data() + mine_, 0.0);
}

tutti::task<std::vector<float>> device_learner::values() {
    tutti::future<> fetched = gpu::copy(compute_, values_here_, net_.values());
    co_await std::move(fetched);
    co_return std::vector<float>(values_here_.data(), values_here_.data() + values_here_.size());
}

}  // namespace digits
