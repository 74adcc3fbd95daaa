#include <tutti/gpu/event.hpp>

#include "gpu/event_state.hpp"
#include "stage.hpp"

#include <tutti/sleep.hpp>
#include <tutti/task.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace event_test {

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

task<error> block_on(gpu::event what) {
    const auto ended = what.synchronize();
    co_return ended ? error{} : static_cast<error>(ended.failure().code().value());
}

task<> await_event(gpu::event what) { co_await what; }

}  // namespace

TEST_CASE("an event that is used no more is used again") {
    stepped_stage stage;
    const auto on = stage.stream();
    std::vector<CUevent> seen;
    for (int i = 0; i < 1000; ++i) seen.push_back(on.record().value().inner()->handle);
    CHECK(std::count(seen.begin(), seen.end(), seen.front()) == 1000);
    CHECK(stage.machine.calls("cuEventCreate") == gpu::event_pool::at_first);
}

TEST_CASE("an event that is waited for is nobody else's until the device has come there, even if its handles are gone") {
    stepped_stage stage;
    const auto on = stage.stream();
    stage.kernel(on, 1ms);
    std::optional<gpu::event> first = on.record().value();
    const CUevent handle = first->inner()->handle;
    auto end = first->completed();
    first.reset();
    std::vector<gpu::event> others;
    for (std::size_t i = 0; i < 2 * gpu::event_pool::at_first; ++i) {
        others.push_back(on.record().value());
        CHECK(others.back().inner()->handle != handle);
    }
    CHECK(stage.machine.calls("cuEventCreate") == 2 * gpu::event_pool::at_first + 1);
    end.cancel();
    CHECK(end.ready());
    others.push_back(on.record().value());
    CHECK(others.back().inner()->handle != handle);
    others.clear();
    stage.loop.run();
    CHECK(stage.device().inner()->events().made() == 2 * gpu::event_pool::at_first + 2);
}

TEST_CASE("copies of an event are one, and it outlives its stream and its device's handles") {
    stepped_stage stage;
    std::optional<gpu::stream> on = stage.stream();
    stage.kernel(*on, 1ms);
    const gpu::event one = on->record().value();
    const gpu::event same = one;
    on.reset();
    CHECK(same.inner() == one.inner());
    CHECK_FALSE(same.ready().value());
    run(stage.loop, await_event(one));
    CHECK(same.ready().value());
    const auto asked = stage.queries();
    CHECK(one.ready().value());
    CHECK(stage.queries() == asked);  // it is known
}

TEST_CASE("an empty event is an error, not a crash") {
    stepped_stage stage;
    const gpu::event none;
    CHECK_FALSE(none.valid());
    CHECK(none.ready().failure().code() == error::invalid_argument);
    CHECK(none.synchronize().failure().code() == error::invalid_argument);
    CHECK_THROWS_AS(run(stage.loop, await_event(none)), failure);
    CHECK(stage.stream().wait(none).failure().code() == error::invalid_argument);
}

TEST_CASE("blocking is for threads without a loop") {
    stepped_stage stage;
    const auto on = stage.stream();
    stage.kernel(on, 1ms);
    const auto end = on.record().value();
    CHECK(run(stage.loop, block_on(end)) == error::invalid_argument);
    CHECK_FALSE(end.ready().value());
    CHECK(end.synchronize());
    CHECK(end.ready().value());
}

TEST_CASE("a million events and no more may be out at once") {
    gpu::driver_table counting;
    static std::size_t made = 0;
    counting.cuEventCreate = [](CUevent* place, unsigned) {
        *place = reinterpret_cast<CUevent>(++made);
        return CUDA_SUCCESS;
    };
    counting.cuEventDestroy = [](CUevent) {
        --made;
        return CUDA_SUCCESS;
    };
    gpu::event_pool pool(counting);
    std::vector<CUevent> out(gpu::event_pool::at_most);
    CHECK(std::all_of(out.begin(), out.end(), [&](CUevent& each) { return pool.take(each) == CUDA_SUCCESS; }));
    CUevent more = nullptr;
    CHECK(pool.take(more) == CUDA_ERROR_OUT_OF_MEMORY);
    pool.give(out.back());
    CHECK(pool.take(more) == CUDA_SUCCESS);
    for (std::size_t i = 0; i + 1 < out.size(); ++i) pool.give(out[i]);
    CHECK(pool.clear() == 1);
    CHECK(made == 1);
}

}  // namespace event_test
