#include "digits/network.hpp"

#include "digits/descent.hpp"
#include "digits/generator.hpp"
#include "digits/matrix.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>

using namespace digits;

namespace {

constexpr std::array<std::size_t, 4> small = {6, 9, 5, 4};
void nobody(std::size_t) {}

std::vector<float> noise(std::size_t count, std::uint64_t seed) {
    std::vector<float> values(count);
    generator numbers(seed);
    for (float& value : values) value = numbers.within(1);
    return values;
}

}  // namespace

TEST_CASE("matrix products equal the textbook's sums for awkward sizes") {
    for (const std::size_t rows : {1UL, 3UL, 16UL})
        for (const std::size_t columns : {1UL, 4UL, 10UL, 37UL, 64UL})
            for (const std::size_t depth : {0UL, 1UL, 10UL, 33UL}) {
                CAPTURE(rows);
                CAPTURE(columns);
                CAPTURE(depth);
                const auto left = noise(rows * depth, 1);
                const auto right = noise(depth * columns, 2);
                const auto start = noise(rows * columns, 3);
                std::vector<float> left_turned(left.size());
                std::vector<float> right_turned(right.size());
                for (std::size_t k = 0; k < depth; ++k) {
                    for (std::size_t r = 0; r < rows; ++r) left_turned[k * rows + r] = left[r * depth + k];
                    for (std::size_t c = 0; c < columns; ++c) right_turned[c * depth + k] = right[k * columns + c];
                }
                auto sum = start;
                accumulate_product(sum.data(), rows, columns, {left.data(), depth, 1}, depth, right.data());
                auto sum_turned = start;
                accumulate_product(sum_turned.data(), rows, columns, {left_turned.data(), 1, rows}, depth, right.data());
                CHECK(sum == sum_turned);
                std::vector<float> product(rows * columns, 99);
                product_with_transposed(product.data(), rows, columns, left.data(), depth, right_turned.data());
                for (std::size_t r = 0; r < rows; ++r)
                    for (std::size_t c = 0; c < columns; ++c) {
                        double expected = 0;
                        for (std::size_t k = 0; k < depth; ++k)
                            expected += static_cast<double>(left[r * depth + k]) * static_cast<double>(right[k * columns + c]);
                        const std::size_t at = r * columns + c;
                        CHECK(std::abs(static_cast<double>(sum[at] - start[at]) - expected) < 1e-5);
                        CHECK(std::abs(static_cast<double>(product[at]) - expected) < 1e-5);
                    }
            }
}

TEST_CASE("parameters stand in forward order and have the layers' shapes") {
    network net(small, 1);
    const std::pair<const char*, std::size_t> expected[] = {{"layer 1 weights", 54}, {"layer 1 biases", 9},   {"layer 2 weights", 45},
                                                            {"layer 2 biases", 5},   {"layer 3 weights", 20}, {"layer 3 biases", 4}};
    REQUIRE(net.parameters().size() == 6);
    for (std::size_t i = 0; i < 6; ++i) {
        CHECK(net.parameters()[i].name == expected[i].first);
        CHECK(net.parameters()[i].values.size() == expected[i].second);
        CHECK(net.parameters()[i].gradient.size() == expected[i].second);
    }
    CHECK(net.values().size() == 137);
}

TEST_CASE("the seed decides the first weights") {
    const auto values = [](std::uint64_t seed) {
        network net(small, seed);
        return std::vector<float>(net.values().begin(), net.values().end());
    };
    CHECK(values(1) == values(1));
    CHECK(values(1) != values(2));
}

TEST_CASE("gradients equal finite differences of the loss") {
    network net(small, 5);
    const auto pixels = noise(7 * 6, 11);
    const std::array<std::uint8_t, 7> labels = {0, 1, 2, 3, 3, 0, 2};
    constexpr float scale = 0.5F;
    net.forward(pixels, labels);
    net.backward(scale, nobody);
    std::vector<float> gradient;
    for (const auto& each : net.parameters()) gradient.insert(gradient.end(), each.gradient.begin(), each.gradient.end());
    std::size_t clearly_nonzero = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
        CAPTURE(i);
        float& value = net.values()[i];
        const float before = value;
        constexpr float step = 1e-3F;
        value = before + step;
        const double above = net.forward(pixels, labels).loss;
        value = before - step;
        const double below = net.forward(pixels, labels).loss;
        value = before;
        const double expected = static_cast<double>(scale) * (above - below) / (2 * static_cast<double>(step));
        CHECK(std::abs(static_cast<double>(gradient[i]) - expected) < 2e-3);
        clearly_nonzero += std::abs(expected) > 0.02 ? 1 : 0;
    }
    CHECK(clearly_nonzero > gradient.size() / 3);
}

TEST_CASE("each gradient is complete when it is called ready, the last parameter first, and stays so") {
    network net(small, 5);
    const auto pixels = noise(3 * 6, 11);
    const std::array<std::uint8_t, 3> labels = {0, 1, 2};
    net.forward(pixels, labels);
    std::vector<std::size_t> order;
    std::vector<std::vector<float>> seen(6);
    net.backward(1, [&](std::size_t index) {
        order.push_back(index);
        const auto& gradient = net.parameters()[index].gradient;
        seen[index].assign(gradient.begin(), gradient.end());
        for (float& value : gradient) value = 1e9F;  // a reduction in place may write into it at once
    });
    CHECK(order == std::vector<std::size_t>{5, 4, 3, 2, 1, 0});
    for (const auto& each : net.parameters())
        for (const float value : each.gradient) CHECK(value == 1e9F);
    net.backward(1, nobody);
    for (std::size_t i = 0; i < 6; ++i) {
        const auto& gradient = net.parameters()[i].gradient;
        CHECK(seen[i] == std::vector<float>(gradient.begin(), gradient.end()));
    }
}

TEST_CASE("gradients can live in memory given from outside") {
    network inside(small, 5);
    network outside(small, 5);
    std::vector<float> arena(outside.values().size(), 7);
    std::size_t first = 0;
    for (std::size_t i = 0; i < 6; ++i) {
        const std::size_t count = outside.parameters()[i].values.size();
        outside.place_gradient(i, std::span(arena).subspan(first, count));
        first += count;
    }
    const auto pixels = noise(3 * 6, 11);
    const std::array<std::uint8_t, 3> labels = {0, 1, 2};
    for (network* net : {&inside, &outside}) {
        net->forward(pixels, labels);
        net->backward(1, nobody);
        descent(*net, 0.1F, 0.9F).step(*net);
    }
    first = 0;
    for (const auto& each : inside.parameters())
        for (const float value : each.gradient) CHECK(arena[first++] == value);
    CHECK(std::equal(inside.values().begin(), inside.values().end(), outside.values().begin()));
}

TEST_CASE("a pass without images gives no loss and gradients of zero, and still calls everything ready") {
    network net(small, 5);
    for (const auto& each : net.parameters())
        for (float& value : each.gradient) value = 3;
    CHECK(net.forward({}, {}).loss == 0);
    int calls = 0;
    net.backward(1, [&](std::size_t) { ++calls; });
    CHECK(calls == 6);
    for (const auto& each : net.parameters())
        for (const float value : each.gradient) CHECK(value == 0);
}

TEST_CASE("the loss of equal logits is the logarithm of the number of classes, and huge logits stay finite") {
    network net(small, 5);
    for (float& value : net.values()) value = 0;
    const auto pixels = noise(2 * 6, 1);
    const std::array<std::uint8_t, 2> labels = {0, 3};
    const score even = net.forward(pixels, labels);
    CHECK(even.loss == doctest::Approx(2 * std::log(4.0)));
    net.parameters()[5].values[0] = 1e4F;
    const score sure = net.forward(pixels, labels);
    CHECK(sure.correct == 1);
    CHECK(sure.loss == doctest::Approx(1e4));
    net.backward(1, nobody);
    for (const float value : net.parameters()[5].gradient) CHECK(std::isfinite(value));
}

TEST_CASE("momentum adds the earlier steps") {
    constexpr std::array<std::size_t, 2> widths = {1, 1};
    network net(widths, 1);
    for (float& value : net.values()) value = 0;
    descent moves(net, 0.5F, 0.5F);
    for (const auto& each : net.parameters())
        for (float& value : each.gradient) value = 1;
    for (const float expected : {-0.5F, -1.25F, -2.125F}) {
        moves.step(net);
        for (const float value : net.values()) CHECK(value == expected);
    }
}

TEST_CASE("bits tell apart what float comparison does not") {
    const std::array<float, 3> values = {0.0F, -0.0F, std::numeric_limits<float>::quiet_NaN()};
    CHECK(bits(values) == std::vector<std::uint32_t>{0, 0x80000000U, 0x7fc00000U});
}
