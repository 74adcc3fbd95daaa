// Ranks that do not call the same hear of it in words, long before their deadline; ranks that merely take long do not.
#include "device/ranks.hpp"
#include "support/failures.hpp"

#include <tutti/sleep.hpp>

#include <functional>
#include <string>

namespace mismatch_test {

using namespace tutti;
using namespace std::chrono_literals;
using test::device_rank;
using test::device_stage;

namespace {

using buffer_of_floats = gpu::device_buffer<float>;
using call = std::function<gpu::operation(device_rank&, const buffer_of_floats&)>;

gpu::device_span part(const buffer_of_floats& of, std::size_t first, std::size_t count) { return gpu::device_span(of).part(first, count); }

gpu::device_span as(data_type type, const buffer_of_floats& of) { return gpu::device_span(of.data(), 100, type, of.keep()); }

/// The calls of most ranks, in this order, and those of one rank instead.
struct difference {
    const char* name;
    std::vector<call> most, odd;
    const char* words_of_most;
    const char* words_of_odd;
};

const call sum_all = [](auto& here, const auto& data) { return here.all.all_reduce(data, sum); };
const call give_from_0 = [](auto& here, const auto& data) { return here.all.broadcast(data, 0); };
const call meet = [](auto& here, const auto&) { return here.all.barrier(); };

const difference differences[] = {
    {"another count",
     {sum_all},
     {[](auto& here, const auto& data) { return here.all.all_reduce(part(data, 0, 99), sum); }},
     "called all_reduce f32 sum count 100",
     "called all_reduce f32 sum count 99"},
    {"another type",
     {sum_all},
     {[](auto& here, const auto& data) { return here.all.all_reduce(as(data_type::i32, data), sum); }},
     "called all_reduce f32 sum count 100",
     "called all_reduce i32 sum count 100"},
    {"another operator",
     {sum_all},
     {[](auto& here, const auto& data) { return here.all.all_reduce(data, max); }},
     "called all_reduce f32 sum count 100",
     "called all_reduce f32 max count 100"},
    {"another root",
     {give_from_0},
     {[](auto& here, const auto& data) { return here.all.broadcast(data, 1); }},
     "called broadcast f32 count 100 root 0",
     "called broadcast f32 count 100 root 1"},
    {"another operation", {sum_all}, {give_from_0}, "called all_reduce f32 sum count 100", "called broadcast f32 count 100 root 0"},
    {"another order", {meet, sum_all}, {sum_all, meet}, "called barrier", "called all_reduce f32 sum count 100"},
    {"one call less", {sum_all, meet}, {meet}, "called all_reduce f32 sum count 100", "called barrier"},
    {"a list of other buffers",
     {[](auto& here, const auto& data) {
         return here.all.all_reduce({part(data, 0, 10), part(data, 20, 30)}, sum);
     }},
     {[](auto& here, const auto& data) {
         return here.all.all_reduce({part(data, 0, 10), part(data, 20, 10), part(data, 40, 20)}, sum);
     }},
     "called all_reduce f32 sum of 2 buffers count 40",
     "called all_reduce f32 sum of 3 buffers count 40"},
    {"a list of as many buffers, of other sizes",
     {[](auto& here, const auto& data) {
         return here.all.all_reduce({part(data, 0, 10), part(data, 20, 30)}, sum);
     }},
     {[](auto& here, const auto& data) {
         return here.all.all_reduce({part(data, 0, 20), part(data, 20, 20)}, sum);
     }},
     "called all_reduce f32 sum of 2 buffers count 40 (sizes ",
     "called all_reduce f32 sum of 2 buffers count 40 (sizes "},
};

task<> differ(device_rank& here, const difference& what, rank odd, test::failures& told) {
    event_loop& loop = co_await this_loop;
    const auto data = here.filled<float>(100, 1.0f);
    auto well = here.all.all_reduce(data, sum);
    co_await std::move(well);
    // Not all ranks take part in this one, so it is not counted.
    if (here.me < 2) {
        auto passed = here.me == 0 ? here.all.send(data, 1) : here.all.recv(data, 0);
        co_await std::move(passed);
    }
    const time_point begin = loop.now();
    std::vector<gpu::operation> all;
    for (const call& each : here.me == odd ? what.odd : what.most) all.push_back(each(here, data));
    for (gpu::operation& each : all) {
        const auto how = co_await as_result(std::move(each).completed());
        if (!how) told[static_cast<std::size_t>(here.me)] = how.failure();
    }
    CHECK(loop.now() - begin < 2s);
}

}  // namespace

TEST_CASE("calls that differ between ranks are found while they wait for each other, and both are named") {
    for (const difference& each : differences)
        for (const rank odd : {0, 1, 2}) {
            CAPTURE(each.name);
            CAPTURE(odd);
            gpu::sim::options how;
            how.strict = false;
            device_stage stage(3, how);
            test::failures told(3);
            stage.run([&](device_rank& here) { return differ(here, each, odd, told); });
            test::check_each(told, error::mismatch, each.words_of_most);
            test::check_each(told, error::mismatch, each.words_of_odd);
            test::check_each(told, error::mismatch, "(collective #2)");
        }
}

namespace {

/// One rank closes where the others still call.
task<> leave_early(device_rank& here, rank odd, test::failures& told) {
    const auto data = here.filled<float>(100, 1.0f);
    auto well = here.all.all_reduce(data, sum);
    co_await std::move(well);
    if (here.me == odd) co_return;
    auto last = here.all.all_reduce(data, sum);
    const auto how = co_await as_result(std::move(last).completed());
    REQUIRE_FALSE(how);
    told[static_cast<std::size_t>(here.me)] = how.failure();
}

}  // namespace

TEST_CASE("a rank that has closed while others wait for it is named as one that has left") {
    for (const rank odd : {0, 1, 2}) {
        CAPTURE(odd);
        device_stage stage(3);
        test::failures told(3);
        stage.run([&](device_rank& here) { return leave_early(here, odd, told); });
        told.erase(told.begin() + odd);
        const std::string words = "rank " + std::to_string(odd) + " has closed its communicator, where rank ";
        test::check_each(told, error::peer_left, words.c_str());
        test::check_each(told, error::peer_left, " called all_reduce f32 sum count 100 (collective #2)");
    }
}

namespace {

/// More collectives than are remembered, messages of some ranks in between, and one that comes late.
task<> take_long(device_rank& here) {
    const gpu::stream compute = here.stream();
    const auto data = here.filled<float>(100, 1.0f);
    std::vector<gpu::operation> all;
    here.kernel(compute, here.me == 1 ? 40s : 1ms);
    for (int round = 0; round < 100; ++round) {
        if (here.me == round % 3) all.push_back(here.all.send(data, (here.me + 1) % 3));
        if (here.me == (round + 1) % 3) all.push_back(here.all.recv(data, round % 3));
        all.push_back(here.all.broadcast(data, round % 3, {.after = &compute}));
        if (round % 7 == 0) all.push_back(here.all.all_reduce({part(data, 0, 3), part(data, 4, 5)}, max, {.after = &compute}));
    }
    co_await sleep_for(here.me == 2 ? 50s : 1s);
    all.push_back(here.all.barrier());
    for (gpu::operation& each : all) co_await std::move(each);
}

}  // namespace

TEST_CASE("ranks that call the same and take long are not taken for others") {
    device_stage stage(3);
    stage.run(take_long);
}

}  // namespace mismatch_test
