#include "gpu/conformance/collectives.hpp"

#include "reducer/gradients.hpp"

#include <tutti/gpu/reducer.hpp>

#include <cstdint>
#include <string>

namespace tutti::test {
namespace {

task<> lists_and_messages(rank_place& here) {
    const int size = here.all.size();
    const auto one = here.place_filled<float>(5000, static_cast<float>(here.me + 1)), two = here.place_filled<float>(1, 2.0F);
    auto listed = here.all.all_reduce({one.all<float>(), two.all<float>()}, sum, here.behind_compute());
    co_await std::move(listed);
    for (const mirrored_memory* each : {&one, &two}) {
        auto back = here.download(*each);
        co_await std::move(back);
    }
    CHECK(one.at<float>(4999) == static_cast<float>(size * (size + 1) / 2));
    CHECK(two.at<float>(0) == static_cast<float>(2 * size));

    // Around the ring, in both directions at once; alone, to itself.
    const auto mine = here.place_filled<std::int32_t>(3000, 100 + here.me), left = here.place_filled<std::int32_t>(3000, 0),
               right = here.place_filled<std::int32_t>(3000, 0);
    const rank next = (here.me + 1) % size, before = (here.me + size - 1) % size;
    const auto all = mine.all<std::int32_t>();
    auto ring = here.all.exchange({gpu::send_to(all, next), gpu::recv_from(left.all<std::int32_t>(), before), gpu::send_to(all, before),
                                   gpu::recv_from(right.all<std::int32_t>(), next)},
                                  here.behind_compute());
    co_await std::move(ring);
    for (const mirrored_memory* each : {&left, &right}) {
        auto back = here.download(*each);
        co_await std::move(back);
    }
    CHECK(left.at<std::int32_t>(2999) == 100 + before);
    CHECK(right.at<std::int32_t>(0) == 100 + next);
    auto met = here.all.barrier(here.behind_compute());
    co_await std::move(met);
}

/// Behind each other, awaited at the end only.
task<> many_at_once(rank_place& here) {
    const auto total = here.place_filled<std::int64_t>(1000, 1);
    std::vector<gpu::operation> pending;
    for (int times = 0; times < 30; ++times) pending.push_back(here.all.all_reduce(total.all<std::int64_t>(), max, here.behind_compute()));
    pending.push_back(here.all.all_reduce(total.all<std::int64_t>(), sum, here.behind_compute()));
    for (auto& each : pending) co_await std::move(each);
    auto back = here.download(total);
    co_await std::move(back);
    CHECK(total.at<std::int64_t>(999) == here.all.size());
}

task<> a_child(rank_place& here) {
    auto splitting = here.all.split(0, -here.me);
    const auto child = co_await std::move(splitting);
    CHECK(child->size() == here.all.size());
    CHECK(child->rank() == here.all.size() - 1 - here.me);
    const auto data = here.place_filled<float>(100, 1.0F);
    auto summed = child->all_reduce(data.all<float>(), sum, here.behind_compute());
    co_await std::move(summed);
    auto back = here.download(data);
    co_await std::move(back);
    CHECK(data.at<float>(99) == static_cast<float>(here.all.size()));
    auto closing = child->close();
    co_await std::move(closing);
}

/// A step's gradients are made on the host, and are on the device, where there is one, behind `compute`.
struct model {
    std::vector<mirrored_memory> gradients;
    std::vector<gpu::parameter> parameters;

    explicit model(const rank_place& here) {
        constexpr std::size_t counts[] = {300, 1, 700, 257, 5, 1000, 64};
        for (std::size_t which = 0; which < std::size(counts); ++which) {
            gradients.push_back(here.place(counts[which] * sizeof(float)));
            parameters.emplace_back("layer " + std::to_string(which), gradients.back().all<float>());
        }
    }
    static std::size_t count_of(const mirrored_memory& of) { return of.bytes / sizeof(float); }

    void make(const rank_place& here, gpu::reducer& in, int step) const {
        for (std::size_t which = gradients.size(); which-- > 0;) {
            const mirrored_memory& mine = gradients[which];
            for (std::size_t element = 0; element < count_of(mine); ++element)
                mine.at<float>(element) = static_cast<float>(test::gradients::value(here.me, which, element, step));
            here.enqueue_upload(mine);
            if (here.compute) in.ready(which, *here.compute);
            else in.ready(which);
        }
    }
    std::size_t wrong_averages(int ranks, int step) const {
        std::size_t wrong = 0;
        for (std::size_t which = 0; which < gradients.size(); ++which)
            for (std::size_t element = 0; element < count_of(gradients[which]); ++element)
                wrong += static_cast<double>(gradients[which].at<float>(element)) != test::gradients::average(ranks, which, element, step);
        return wrong;
    }
};

}  // namespace

task<> other_operations(rank_place& here) {
    auto lists = lists_and_messages(here);
    co_await std::move(lists);
    auto many = many_at_once(here);
    co_await std::move(many);
    auto child = a_child(here);
    co_await std::move(child);
}

task<> train(rank_place& here) {
    const model mine(here);
    gpu::reducer all(here.all, mine.parameters, small_buckets());
    CHECK(all.buckets().size() > 1);
    for (int step = 0; step < 6; ++step) {
        mine.make(here, all, step);
        auto ending = here.compute && step % 2 == 0 ? all.finish_on(*here.compute) : all.finish();
        co_await std::move(ending);
        for (const mirrored_memory& each : mine.gradients) {
            auto back = here.download(each);
            co_await std::move(back);
        }
        CHECK(mine.wrong_averages(here.all.size(), step) == 0);
    }
}

}  // namespace tutti::test
