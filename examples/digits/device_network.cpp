#include "digits/device_network.hpp"

namespace device_images {
extern const tutti::gpu::device_image network;
}

namespace digits {

namespace gpu = tutti::gpu;

namespace {

constexpr unsigned block = 128;  // threads

}  // namespace

device_network::kernels::kernels(const gpu::device_code& code)
    : gather(code.find("digits_gather").value()),
      layer(code.find("digits_layer").value()),
      judge(code.find("digits_judge").value()),
      biases(code.find("digits_biases").value()),
      weights(code.find("digits_weights").value()),
      below(code.find("digits_below").value()),
      descend(code.find("digits_descend").value()) {}

tutti::result<gpu::device_code> device_network::load(const gpu::device& where) {
    return gpu::device_code::load(where, device_images::network);
}

device_network::device_network(const network& like, std::span<const std::size_t> widths, std::size_t images, const gpu::device& where,
                               const gpu::stream& compute)
    : compute_(compute),
      run_(load(where).value()),
      values_(floats::allocate(where, like.values().size()).value()),
      velocity_(floats::allocate(where, like.values().size()).value()),
      pixels_(floats::allocate(where, images * widths.front()).value()),
      labels_(gpu::device_buffer<std::uint8_t>::allocate(where, images).value()) {
    std::size_t first = 0;
    for (const auto& each : like.parameters()) {
        parameters_.push_back({first, each.values.size(), nullptr});
        first += each.values.size();
    }
    for (std::size_t number = 0; number + 1 < widths.size(); ++number)
        layers_.push_back({static_cast<unsigned>(widths[number]), static_cast<unsigned>(widths[number + 1]),
                           floats::allocate(where, images * widths[number + 1]).value(),
                           floats::allocate(where, images * widths[number + 1]).value()});
    gpu::enqueue_fill(compute_, velocity_, std::byte{0}).value();
}

template <class... Parameters>
void device_network::run(const gpu::kernel& which, std::size_t threads, Parameters... parameters) {
    if (threads == 0) return;
    const gpu::kernel_shape shape{{static_cast<unsigned>((threads + block - 1) / block)}, {block}};
    which.launch(compute_, shape, parameters...).value();
}

const float* device_network::inputs_of(std::size_t number) const {
    return number == 0 ? pixels_.data() : layers_[number - 1].results.data();
}

void device_network::forward(const batch& what, float scale) {
    images_ = static_cast<unsigned>(what.images);
    const unsigned width = layers_.front().width;
    run(run_.gather, images_ * width, pixels_.data(), labels_.data(), what.pixels, what.labels, what.which, images_, width);
    for (std::size_t number = 0; number < layers_.size(); ++number) {
        layer& here = layers_[number];
        const float *inputs = inputs_of(number), *weights = value(2 * number), *biases = value(2 * number + 1);
        const unsigned bent = number + 1 < layers_.size() ? 1 : 0;
        run(run_.layer, images_ * here.outputs, here.results.data(), inputs, weights, biases, images_, here.width, here.outputs, bent);
    }
    layer& last = layers_.back();
    const float* logits = last.results.data();
    const std::uint8_t* labels = labels_.data();
    run(run_.judge, images_, last.gradients.data(), what.losses, what.hits, logits, labels, images_, last.outputs, scale);
}

void device_network::backward(const std::function<void(std::size_t)>& ready) {
    for (std::size_t number = layers_.size(); number-- > 0;) {
        const layer& here = layers_[number];
        const float *above = here.gradients.data(), *inputs = inputs_of(number), *weights = value(2 * number);
        run(run_.biases, here.outputs, parameters_[2 * number + 1].gradient, above, images_, here.outputs);
        ready(2 * number + 1);
        run(run_.weights, here.width * here.outputs, parameters_[2 * number].gradient, inputs, above, images_, here.width, here.outputs);
        ready(2 * number);
        if (number == 0) break;
        run(run_.below, images_ * here.width, layers_[number - 1].gradients.data(), above, weights, inputs, images_, here.width,
            here.outputs);
    }
}

void device_network::descend(float rate, float momentum) {
    for (const parameter& each : parameters_) {
        const float* gradient = each.gradient;
        run(run_.descend, each.count, values_.data() + each.first, velocity_.data() + each.first, gradient,
            static_cast<unsigned>(each.count), rate, momentum);
    }
}

}  // namespace digits
