// Parameters with known gradients on every rank's device, for tests of the reducer there: values and averages are those of the host's tests.
#pragma once

#include "device/ranks.hpp"
#include "reducer/gradients.hpp"

#include <tutti/gpu/reducer.hpp>

#include <random>
#include <string>
#include <vector>

namespace tutti::test {

/// One rank's parameters: with memory of their own (gathered), in the reducer's (placed), or by turns.
class device_gradients {
public:
    device_gradients(const device_rank& here, memory where, std::vector<std::size_t> counts = {300, 1, 0, 700, 257, 5, 1000, 64, 129})
        : here_(here) {
        constexpr data_type types[] = {data_type::f32, data_type::f32, data_type::f64, data_type::bf16};
        for (std::size_t which = 0; which < counts.size(); ++which) {
            const data_type type = types[which % std::size(types)];
            const std::string name = "layer " + std::to_string(which);
            if (where == memory::placed || (where == memory::mixed && which % 2 == 1)) {
                parameters_.emplace_back(name, counts[which], type);
                continue;
            }
            parameters_.emplace_back(name, here.place(counts[which] * size_of(type)).span(type, 0, counts[which]));
        }
    }
    const std::vector<gpu::parameter>& parameters() const { return parameters_; }
    std::size_t size() const { return parameters_.size(); }

    /// Puts a kernel on the stream that makes the gradient, and marks it.
    void make(gpu::reducer& in, const gpu::stream& compute, std::size_t which, int step, int add_to = 0) const {
        // The kernel may run when all of this is gone.
        const auto body = [who = here_.me, into = seen(in.gradient(which)), which, step, add_to] { fill(into, who, which, step, add_to); };
        here_.kernel(compute, std::chrono::microseconds(20), body, "layer");
        in.ready(which, compute);
    }
    /// The same on a rank without a device.
    void make(gpu::reducer& in, std::size_t which, int step) const {
        fill(seen(in.gradient(which)), here_.me, which, step, 0);
        in.ready(which);
    }
    /// A backward pass, in an order of its own for every seed.
    void backward(gpu::reducer& in, const gpu::stream& compute, int step, unsigned seed = 0) const {
        std::vector<std::size_t> order(size());
        for (std::size_t which = 0; which < size(); ++which) order[which] = size() - 1 - which;
        std::mt19937 random(seed);
        if (seed != 0) std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t which : order) make(in, compute, which, step);
    }
    std::size_t wrong_averages(const gpu::reducer& in, int ranks, int step, int factor = 1) const {
        std::size_t count = 0;
        for (std::size_t which = 0; which < size(); ++which) {
            const buffer found = seen(in.gradient(which));
            for (std::size_t element = 0; element < found.count; ++element)
                count += at(found, element) != factor * gradients::average(ranks, which, element, step);
        }
        return count;
    }
    /// The memory behind the device's back.
    buffer seen(const gpu::device_span& of) const {
        if (here_.on_host()) return {of.data, of.count, gpu::of_host(of.type)};
        return {of.count > 0 ? here_.shadow(of.data) : nullptr, of.count, gpu::of_host(of.type)};
    }

private:
    static void fill(const buffer& into, rank who, std::size_t which, int step, int add_to) {
        for (std::size_t element = 0; element < into.count; ++element)
            put(into, element, gradients::value(who, which, element, step) + add_to);
    }

    const device_rank& here_;
    std::vector<gpu::parameter> parameters_;
};

}  // namespace tutti::test
