// The decisions that the engine of a device makes by itself, whatever carries its operations out.
#include "gpu/device_engine.hpp"

#include <tutti/sleep.hpp>
#include <tutti/task.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace device_engine_test {

using namespace tutti;
using namespace std::chrono_literals;

namespace {

/// Carries nothing out; ends when it is told to.
class idler final : public gpu::carrier {
public:
    explicit idler(gpu::device_engine& engine) : engine_(engine) {}
    std::optional<std::string> cannot(const gpu::device_request&) const override { return {}; }
    std::string words() const override { return "nothing"; }
    std::string what() const override { return "nothing"; }
    void begin() noexcept override { engine_.begun(); }
    void carry_out(gpu::operation_state&) noexcept override {}
    void finish() noexcept override { engine_.ended(); }
    void give_up() noexcept override { engine_.ended(); }

private:
    gpu::device_engine& engine_;
};

/// The engine of a rank without a device, in virtual time.
struct engine_stage {
    explicit engine_stage(std::size_t pending_limit = 100) {
        gpu::device_engine_settings how;
        how.name = "world";
        how.me = 3;
        how.size = 5;
        how.operation = 300s;
        how.pending_limit = pending_limit;
        how.tell = [this](const report& why) { told.push_back(why); };
        engine = std::make_shared<gpu::device_engine>(nullptr, loop, std::move(how));
        engine->carried_by(std::make_unique<idler>(*engine));
        engine->attach();
        begun = engine->start(1s);
        pass(1s);
        REQUIRE(begun.ready());
    }
    gpu::operation call() {
        gpu::operation_state& which = engine->take();
        which.what.kind = gpu::device_collective::barrier;
        return engine->issue(which);
    }

    void pass(duration time) {
        run(loop, [](duration length) -> task<> { co_await sleep_for(length); }(time));
    }

    event_loop loop{event_loop::virtual_time};
    std::vector<report> told;
    std::shared_ptr<gpu::device_engine> engine;
    future<> begun;
};

std::string cause_of(future<>& ended) {
    REQUIRE(ended.ready());
    try {
        ended.get();
    } catch (const failure& why) {
        return why.details().cause;
    }
    return "went well";
}

}  // namespace

TEST_CASE("more operations on devices than the limit fail all ranks, which count them") {
    engine_stage on(3);
    std::vector<future<>> ends;
    for (int index = 0; index < 4; ++index) ends.push_back(on.call().completed());
    on.pass(1s);
    for (auto& each : ends) CHECK(cause_of(each) == "rank 3 called barrier with 3 operations under way, which is the limit");
    REQUIRE(on.told.size() == 1);
    CHECK(on.told[0].code == error::invalid_argument);
    CHECK(on.told[0].peers == std::vector<rank>{3});
}

TEST_CASE("who waits for all operations to end waits no longer than it says, and then all ranks are told for what") {
    engine_stage on;
    auto one = on.call().completed();
    auto patient = on.engine->idle(on.loop.now() + 20s);
    auto hasty = on.engine->idle(on.loop.now() + 2s);
    on.pass(1s);
    CHECK_FALSE(hasty.ready());
    on.pass(2s);
    for (auto* each : {&hasty, &patient, &one})
        CHECK(cause_of(*each) == "rank 3 closed its communicator, in which barrier #1, not yet enqueued without a device, did not end in time");
    REQUIRE(on.told.size() == 1);
    CHECK(on.told[0].code == error::timed_out);
}

TEST_CASE("what nobody waits for any more has its own deadline only") {
    engine_stage on;
    auto one = on.call().completed();
    auto patient = on.engine->idle(on.loop.now() + 100s);
    { auto dropped = on.engine->idle(on.loop.now() + 2s); }
    auto cancelled = on.engine->idle(on.loop.now() + 3s);
    cancelled.cancel();
    CHECK(cause_of(cancelled) == "nobody waits for the operations to end any more");
    on.pass(10s);
    CHECK_FALSE(one.ready());
    CHECK_FALSE(patient.ready());
    patient.cancel();
    CHECK(on.told.empty());
    on.pass(300s);
    CHECK(cause_of(one) == "rank 3: barrier #1, not yet enqueued without a device, has not ended for 300.0 s");
}

}  // namespace device_engine_test
