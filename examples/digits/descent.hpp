// Stochastic gradient descent with momentum: velocity = momentum * velocity + gradient; value -= rate * velocity.
#pragma once

#include "digits/network.hpp"

#include <vector>

namespace digits {

class descent {
public:
    descent(const network& of, float rate, float momentum) : velocity_(of.values().size()), rate_(rate), momentum_(momentum) {}

    /// Moves the values of `net` against its gradients. Ranks that hold equal bits and see equal gradients hold equal bits afterwards.
    void step(network& net) {
        float* velocity = velocity_.data();
        for (const parameter& each : net.parameters()) {
            for (std::size_t i = 0; i < each.values.size(); ++i) {
                velocity[i] = momentum_ * velocity[i] + each.gradient[i];
                each.values[i] -= rate_ * velocity[i];
            }
            velocity += each.values.size();
        }
    }

private:
    std::vector<float> velocity_;
    float rate_;
    float momentum_;
};

}  // namespace digits
