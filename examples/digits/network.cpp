#include "digits/network.hpp"

#include "digits/generator.hpp"
#include "digits/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace digits {
namespace {

// In place: logits become probabilities. Subtracting the maximum first keeps exp() from overflowing.
void softmax(std::span<float> row) {
    const float highest = *std::max_element(row.begin(), row.end());
    float sum = 0;
    for (float& value : row) sum += value = std::exp(value - highest);
    for (float& value : row) value /= sum;
}

// The logarithm of the label's probability, from logits, without ever taking the logarithm of 0.
double log_probability(std::span<const float> logits, std::size_t label) {
    const double highest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float value : logits) sum += std::exp(value - highest);
    return logits[label] - highest - std::log(sum);
}

}  // namespace

network::network(std::span<const std::size_t> widths, std::uint64_t seed) {
    std::size_t total = 0;
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
        layers_.push_back({widths[i], widths[i + 1], {}, {}});
        total += (widths[i] + 1) * widths[i + 1];
    }
    values_.resize(total);
    own_gradients_.resize(total);
    std::size_t first = 0;
    const auto add = [&](std::string name, std::size_t count) {
        parameters_.push_back({std::move(name), std::span(values_).subspan(first, count), std::span(own_gradients_).subspan(first, count)});
        first += count;
    };
    generator numbers(seed);
    for (std::size_t number = 0; number < layers_.size(); ++number) {
        const layer& shape = layers_[number];
        add(fmt::format("layer {} weights", number + 1), shape.inputs * shape.outputs);
        // He et al. 2015, in the uniform form: a square root is rounded alike everywhere, a normal distribution's logarithm is not.
        const float limit = std::sqrt(6.0F / static_cast<float>(shape.inputs));
        for (float& weight : parameters_.back().values) weight = numbers.within(limit);
        add(fmt::format("layer {} biases", number + 1), shape.outputs);
    }
}

void network::place_gradient(std::size_t index, std::span<float> memory) {
    parameters_[index].gradient = memory.first(parameters_[index].values.size());
}

std::span<const float> network::inputs_of(std::size_t number) const {
    return number == 0 ? pixels_ : std::span<const float>(layers_[number - 1].results);
}

score network::forward(std::span<const float> pixels, std::span<const std::uint8_t> labels) {
    pixels_ = pixels;
    labels_ = labels;
    for (std::size_t number = 0; number < layers_.size(); ++number) run_layer(number, inputs_of(number));
    return judge();
}

void network::run_layer(std::size_t number, std::span<const float> inputs) {
    layer& here = layers_[number];
    const std::size_t images = labels_.size();
    const auto& weights = parameters_[2 * number].values;
    const auto& biases = parameters_[2 * number + 1].values;
    here.results.resize(images * here.outputs);
    for (std::size_t image = 0; image < images; ++image)
        std::copy(biases.begin(), biases.end(), here.results.data() + image * here.outputs);
    accumulate_product(here.results.data(), images, here.outputs, {inputs.data(), here.inputs, 1}, here.inputs, weights.data());
    if (number + 1 < layers_.size())
        for (float& value : here.results) value = std::max(value, 0.0F);
}

score network::judge() {
    layer& last = layers_.back();
    score sum;
    for (std::size_t image = 0; image < labels_.size(); ++image) {
        const auto row = std::span(last.results).subspan(image * last.outputs, last.outputs);
        const auto best = static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
        sum.loss -= log_probability(row, labels_[image]);
        sum.correct += best == labels_[image] ? 1 : 0;
        softmax(row);
    }
    return sum;
}

void network::backward(float scale, const std::function<void(std::size_t)>& ready) {
    const std::size_t images = labels_.size();
    layer& last = layers_.back();
    last.gradients = last.results;
    for (std::size_t image = 0; image < images; ++image) last.gradients[image * last.outputs + labels_[image]] -= 1;
    for (float& value : last.gradients) value *= scale;

    for (std::size_t number = layers_.size(); number-- > 0;) {
        const layer& here = layers_[number];
        const auto& biases = parameters_[2 * number + 1].gradient;
        std::fill(biases.begin(), biases.end(), 0.0F);
        for (std::size_t image = 0; image < images; ++image)
            for (std::size_t c = 0; c < here.outputs; ++c) biases[c] += here.gradients[image * here.outputs + c];
        ready(2 * number + 1);

        const auto& weights = parameters_[2 * number].gradient;
        std::fill(weights.begin(), weights.end(), 0.0F);
        const matrix_view transposed{inputs_of(number).data(), 1, here.inputs};
        accumulate_product(weights.data(), here.inputs, here.outputs, transposed, images, here.gradients.data());
        ready(2 * number);

        if (number == 0) break;
        layer& below = layers_[number - 1];
        below.gradients.resize(images * below.outputs);
        product_with_transposed(below.gradients.data(), images, here.inputs, here.gradients.data(), here.outputs,
                                parameters_[2 * number].values.data());
        for (std::size_t i = 0; i < below.gradients.size(); ++i)
            if (below.results[i] <= 0) below.gradients[i] = 0;
    }
}

std::vector<std::uint32_t> bits(std::span<const float> values) {
    std::vector<std::uint32_t> all(values.size());
    std::transform(values.begin(), values.end(), all.begin(), [](float value) { return std::bit_cast<std::uint32_t>(value); });
    return all;
}

}  // namespace digits
