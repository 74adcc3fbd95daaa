// The network on a device: values, velocities and images live there, and kernels of network.cu do the arithmetic, on one stream. The host
// enqueues and does not wait.
#pragma once

#include "digits/network.hpp"

#include <tutti/gpu.hpp>
#include <tutti/gpu/device_code.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace digits {

class device_network {
public:
    static tutti::result<tutti::gpu::device_code> load(const tutti::gpu::device& where);
    /// Makes a network of the shape and the values of `like`, for at most `images` at a time. Throws tutti::failure.
    device_network(const network& like, std::span<const std::size_t> widths, std::size_t images, const tutti::gpu::device& where,
                   const tutti::gpu::stream& compute);
    device_network(const device_network&) = delete;
    device_network& operator=(const device_network&) = delete;

    void place_gradient(std::size_t index, float* memory) { parameters_[index].gradient = memory; }

    /// Where images come from, and what is told of them.
    struct batch {
        const float* pixels = nullptr;
        const std::uint8_t* labels = nullptr;
        const std::uint32_t* which = nullptr;
        float* losses = nullptr;
        float* hits = nullptr;
        std::size_t images = 0;
    };
    /// Computes the images' scores, and the gradient of `scale` times their loss with respect to the last layer's outputs.
    void forward(const batch& what, float scale);
    /// Every gradient, the last parameter's first; calls ready(i) when what makes that of parameter i has been enqueued.
    void backward(const std::function<void(std::size_t)>& ready);
    void descend(float rate, float momentum);

    /// All values, in the order of the parameters.
    const tutti::gpu::device_buffer<float>& values() const noexcept { return values_; }

private:
    using floats = tutti::gpu::device_buffer<float>;

    struct parameter {
        std::size_t first = 0;
        std::size_t count = 0;
        float* gradient = nullptr;
    };
    struct layer {
        unsigned width;
        unsigned outputs;
        floats results;
        floats gradients;  // of the loss with respect to what goes into the ReLU
    };
    struct kernels {
        explicit kernels(const tutti::gpu::device_code& code);
        tutti::gpu::kernel gather, layer, judge, biases, weights, below, descend;
    };

    template <class... Parameters>
    void run(const tutti::gpu::kernel& which, std::size_t threads, Parameters... parameters);
    const float* inputs_of(std::size_t number) const;
    float* value(std::size_t index) const { return values_.data() + parameters_[index].first; }

    tutti::gpu::stream compute_;
    kernels run_;
    floats values_, velocity_, pixels_;
    tutti::gpu::device_buffer<std::uint8_t> labels_;
    std::vector<parameter> parameters_;
    std::vector<layer> layers_;
    unsigned images_ = 0;
};

}  // namespace digits
