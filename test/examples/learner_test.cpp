#include "digits/learner.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

using namespace digits;

namespace {

struct curve {
    std::vector<double> losses;
    std::vector<double> accuracies;
    bool identical = true;
};

using ranks_of_one_process = std::vector<std::unique_ptr<learner>>;

// The plain sum in rank order, divided by the number of ranks.
void average(ranks_of_one_process& world) {
    std::vector<float> sum;
    for (std::size_t p = 0; p < world[0]->net().parameters().size(); ++p) {
        sum.assign(world[0]->net().parameters()[p].gradient.size(), 0);
        for (auto& each : world) {
            const auto gradient = each->net().parameters()[p].gradient;
            std::transform(sum.begin(), sum.end(), gradient.begin(), sum.begin(), std::plus<>());
        }
        for (float& value : sum) value /= static_cast<float>(world.size());
        for (auto& each : world) std::copy(sum.begin(), sum.end(), each->net().parameters()[p].gradient.begin());
    }
}

// Several ranks in one process.
curve train(const split& data, plan how, int ranks, int epochs) {
    how.ranks = ranks;
    ranks_of_one_process world;
    for (how.rank = 0; how.rank < ranks; ++how.rank) world.push_back(std::make_unique<learner>(data, how));
    curve result;
    for (int epoch = 1; epoch <= epochs; ++epoch) {
        for (auto& each : world) each->begin_epoch(epoch);
        for (;;) {
            int going = 0;
            for (auto& each : world) going += each->backward([](std::size_t) {}) ? 1 : 0;
            REQUIRE((going == 0 || going == ranks));
            if (going == 0) break;
            average(world);
            for (auto& each : world) each->step();
        }
        std::vector<double> totals(world[0]->totals().size());
        for (auto& each : world) each->evaluate();
        for (auto& each : world)
            for (std::size_t i = 0; i < totals.size(); ++i) totals[i] += each->totals()[i];
        for (auto& each : world) std::copy(totals.begin(), totals.end(), each->totals().begin());
        result.losses.push_back(world[0]->loss());
        result.accuracies.push_back(world[0]->accuracy());
    }
    for (auto& each : world) result.identical &= bits(each->net().values()) == bits(world[0]->net().values());
    return result;
}

const split& data() {
    static const split parts = divide(load(DIGITS_DATA));
    return parts;
}

split first(const split& all, std::size_t count) {
    split some;
    for (std::size_t i = 0; i < count; ++i) some.training.append(all.training, i);
    some.test = all.test;
    return some;
}

}  // namespace

TEST_CASE("the default plan reaches 96 % of the test images") {
    const curve result = train(data(), plan(), 1, 25);
    CHECK(result.accuracies.back() >= 0.96);
    CHECK(result.losses.back() < result.losses.front() / 20);
}

TEST_CASE("with the same global batch any number of ranks walks the same curve, to rounding") {
    const split few = first(data(), 150);
    const struct {
        const split& images;
        std::size_t batch;
        int epochs;
    } rows[] = {{data(), 64, 3}, {data(), 50, 1}, {few, 3, 2}};  // 3 leaves some of four and five ranks without an image
    for (const auto& [images, batch, epochs] : rows) {
        plan how;
        how.batch = batch;
        how.rate = batch < 10 ? 0.002 : 0.05;  // so small a batch diverges at the larger rate
        const curve alone = train(images, how, 1, epochs);
        for (const int ranks : {2, 3, 4, 5}) {
            CAPTURE(batch);
            CAPTURE(ranks);
            const curve together = train(images, how, ranks, epochs);
            CHECK(together.identical);
            for (std::size_t i = 0; i < alone.losses.size(); ++i) {
                CAPTURE(i);
                CHECK(std::abs(together.losses[i] - alone.losses[i]) < 1e-4 * alone.losses[i]);
                CHECK(std::abs(together.accuracies[i] - alone.accuracies[i]) < 0.01);
            }
        }
    }
}

TEST_CASE("the averaged gradients of one step are those of the whole batch") {
    plan how;
    how.batch = 30;
    learner alone(data(), how);
    alone.begin_epoch(1);
    REQUIRE(alone.backward([](std::size_t) {}));
    how.ranks = 4;
    std::vector<double> average(alone.net().values().size());
    for (how.rank = 0; how.rank < 4; ++how.rank) {
        learner one(data(), how);
        one.begin_epoch(1);
        REQUIRE(one.backward([](std::size_t) {}));
        std::size_t at = 0;
        for (const auto& each : one.net().parameters())
            for (const float value : each.gradient) average[at++] += static_cast<double>(value) / 4;
    }
    std::size_t at = 0;
    double worst = 0;
    double largest = 0;
    for (const auto& each : alone.net().parameters())
        for (const float value : each.gradient) {
            worst = std::max(worst, std::abs(average[at++] - static_cast<double>(value)));
            largest = std::max(largest, std::abs(static_cast<double>(value)));
        }
    CHECK(largest > 0.01);
    CHECK(worst < 1e-6 * largest);
}
