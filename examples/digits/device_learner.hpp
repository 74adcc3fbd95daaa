// learner for a network on a device: the images are there, too, and an epoch's results are fetched at its end.
#pragma once

#include "digits/device_network.hpp"
#include "digits/learner.hpp"

#include <tutti/gpu.hpp>
#include <tutti/task.hpp>

#include <array>
#include <functional>
#include <span>
#include <vector>

namespace digits {

class device_learner {
public:
    /// Begins with the values of `like`. `data` outlives the learner. Throws tutti::failure.
    device_learner(const split& data, const plan& how, const network& like, const tutti::gpu::device& where,
                   const tutti::gpu::stream& compute);

    device_network& net() noexcept { return net_; }

    /// Enqueue the work of learner's functions of the same names. An epoch begins when the results of the last have been fetched.
    void begin_epoch(int epoch);
    bool backward(const std::function<void(std::size_t)>& ready);
    void step() { net_.descend(static_cast<float>(plan_.rate), momentum); }
    void evaluate();
    /// Waits for the device; then totals() is what this rank has to contribute.
    tutti::task<> fetch();

    std::span<double> totals() noexcept { return totals_; }
    double loss() const noexcept { return totals_[0] / static_cast<double>(data_.training.count()); }
    double accuracy() const noexcept { return totals_[1] / static_cast<double>(data_.test.count()); }
    std::size_t samples_per_epoch() const noexcept { return data_.training.count(); }
    /// Waits for the device.
    tutti::task<std::vector<float>> values();

private:
    template <class T>
    using device = tutti::gpu::device_buffer<T>;
    template <class T>
    using pinned = tutti::gpu::pinned_buffer<T>;

    /// Images on the device.
    struct images {
        images(const dataset& from, const tutti::gpu::device& where, const tutti::gpu::stream& on);
        pinned<float> pixels_here;
        pinned<std::uint8_t> labels_here;
        device<float> pixels;
        device<std::uint8_t> labels;
    };

    const split& data_;
    plan plan_;
    tutti::gpu::stream compute_;
    device_network net_;
    images training_, test_;
    pinned<float> values_here_;
    // Of this rank's images in the order of their turns, training and then test: which they are, and what came of them.
    pinned<std::uint32_t> which_here_;
    pinned<float> losses_here_, hits_here_;
    device<std::uint32_t> which_;
    device<float> losses_, hits_;
    std::vector<std::size_t> order_;
    std::size_t next_batch_ = 0;
    std::size_t mine_ = 0;   // images of the epoch whose turn has come
    std::size_t first_ = 0;  // test image
    std::array<double, 2> totals_{};
};

}  // namespace digits
