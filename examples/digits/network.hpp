// A multilayer perceptron: dense layers with ReLU between them, softmax cross-entropy behind the last. One process's part of the
// work; that other ranks exist is not known here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace digits {

/// Weights or biases of one layer. The memory belongs to the network, unless place_gradient moved the gradient elsewhere.
struct parameter {
    std::string name;
    std::span<float> values;
    std::span<float> gradient;
};

/// Sums over images.
struct score {
    double loss = 0;
    std::size_t correct = 0;
};

class network {
public:
    /// Layers between neighbouring `widths`, e.g. {64, 256, 128, 10}. The same seed gives the same weights on every rank and platform.
    network(std::span<const std::size_t> widths, std::uint64_t seed);
    network(const network&) = delete;
    network& operator=(const network&) = delete;

    /// Weights and biases in the order of the forward pass: "layer 1 weights", "layer 1 biases", "layer 2 weights", ...
    std::span<const parameter> parameters() const noexcept { return parameters_; }
    /// Lets the gradient of a parameter live in `memory`, which is as long as the parameter and outlives the network's use.
    void place_gradient(std::size_t index, std::span<float> memory);
    /// All values, in the order of parameters().
    std::span<const float> values() const noexcept { return values_; }
    std::span<float> values() noexcept { return values_; }

    /// Computes the images' scores. `pixels` and `labels` are borrowed until backward() has ended.
    score forward(std::span<const float> pixels, std::span<const std::uint8_t> labels);

    /// Sets every gradient to that of `scale` times the summed loss of the last forward pass (zero without images). Calls ready(i) as
    /// soon as the gradient of parameter i is complete, the last parameter first; from then on it is not touched until the next call.
    void backward(float scale, const std::function<void(std::size_t)>& ready);

private:
    struct layer {
        std::size_t inputs;
        std::size_t outputs;
        std::vector<float> results;    // images x outputs, behind the ReLU; after the last layer: probabilities
        std::vector<float> gradients;  // of the loss with respect to what goes into the ReLU
    };

    void run_layer(std::size_t number, std::span<const float> inputs);
    score judge();
    std::span<const float> inputs_of(std::size_t number) const;

    std::vector<float> values_;
    std::vector<float> own_gradients_;
    std::vector<parameter> parameters_;
    std::vector<layer> layers_;
    std::span<const float> pixels_;
    std::span<const std::uint8_t> labels_;
};

/// The bits of `values` as integers. Unlike float's ==, their comparison, minimum and maximum tell -0 from 0 and know every NaN.
std::vector<std::uint32_t> bits(std::span<const float> values);

}  // namespace digits
