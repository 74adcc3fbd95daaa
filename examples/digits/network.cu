// The arithmetic of the perceptron on a device: what network.cpp and descent.hpp do on the host, a thread for each result. Plain loops over
// matrices that fit into a device's cache; additions have a fixed order, so that the same images give the same bits.

namespace {

__device__ unsigned here() { return blockIdx.x * blockDim.x + threadIdx.x; }

}  // namespace

/// The images of a batch, one after the other.
extern "C" __global__ void digits_gather(float* pixels, unsigned char* labels, const float* all_pixels, const unsigned char* all_labels,
                                         const unsigned* which, unsigned images, unsigned width) {
    const unsigned at = here();
    if (at >= images * width) return;
    const unsigned image = at / width;
    pixels[at] = all_pixels[which[image] * width + at % width];
    if (at % width == 0) labels[image] = all_labels[which[image]];
}

/// results = inputs * weights + biases, and ReLU where `bent`.
extern "C" __global__ void digits_layer(float* results, const float* inputs, const float* weights, const float* biases, unsigned images,
                                        unsigned width, unsigned outputs, unsigned bent) {
    const unsigned at = here();
    if (at >= images * outputs) return;
    const unsigned image = at / outputs, column = at % outputs;
    float value = biases[column];
    for (unsigned k = 0; k < width; ++k) value += inputs[image * width + k] * weights[k * outputs + column];
    results[at] = bent != 0 && value < 0 ? 0 : value;
}

/// Of each image: loss, whether it was recognised, and the gradient of `scale` times the loss with respect to the logits.
extern "C" __global__ void digits_judge(float* gradients, float* losses, float* hits, const float* logits, const unsigned char* labels,
                                        unsigned images, unsigned classes, float scale) {
    const unsigned image = here();
    if (image >= images) return;
    const float* const row = logits + image * classes;
    unsigned best = 0;
    for (unsigned c = 1; c < classes; ++c)
        if (row[c] > row[best]) best = c;
    float total = 0;
    for (unsigned c = 0; c < classes; ++c) total += expf(row[c] - row[best]);
    const unsigned label = labels[image];
    losses[image] = logf(total) + row[best] - row[label];
    hits[image] = best == label ? 1.0F : 0.0F;
    for (unsigned c = 0; c < classes; ++c)
        gradients[image * classes + c] = scale * (expf(row[c] - row[best]) / total - (c == label ? 1.0F : 0.0F));
}

/// The gradient of the biases: the sum over images.
extern "C" __global__ void digits_biases(float* gradient, const float* above, unsigned images, unsigned outputs) {
    const unsigned column = here();
    if (column >= outputs) return;
    float total = 0;
    for (unsigned image = 0; image < images; ++image) total += above[image * outputs + column];
    gradient[column] = total;
}

/// The gradient of the weights: transposed(inputs) * above.
extern "C" __global__ void digits_weights(float* gradient, const float* inputs, const float* above, unsigned images, unsigned width,
                                          unsigned outputs) {
    const unsigned at = here();
    if (at >= width * outputs) return;
    const unsigned row = at / outputs, column = at % outputs;
    float total = 0;
    for (unsigned image = 0; image < images; ++image) total += inputs[image * width + row] * above[image * outputs + column];
    gradient[at] = total;
}

/// The gradient of the layer's inputs: above * transposed(weights), where the ReLU below let something through.
extern "C" __global__ void digits_below(float* gradients, const float* above, const float* weights, const float* inputs, unsigned images,
                                        unsigned width, unsigned outputs) {
    const unsigned at = here();
    if (at >= images * width) return;
    const unsigned image = at / width, row = at % width;
    float total = 0;
    for (unsigned column = 0; column < outputs; ++column) total += above[image * outputs + column] * weights[row * outputs + column];
    gradients[at] = inputs[at] > 0 ? total : 0;
}

/// velocity = momentum * velocity + gradient; value -= rate * velocity.
extern "C" __global__ void digits_descend(float* values, float* velocity, const float* gradient, unsigned count, float rate,
                                          float momentum) {
    const unsigned at = here();
    if (at >= count) return;
    velocity[at] = momentum * velocity[at] + gradient[at];
    values[at] -= rate * velocity[at];
}
