#include "store_suite.hpp"

#include <thread>

using namespace tutti;

namespace {

task<> wait_for_thread(store& mine, std::string& got) {
    event_loop& loop = co_await this_loop;
    result<std::int64_t> ready = co_await mine.add("ready", 1, soon(loop));
    CHECK(ready.value() == 1);
    result<std::string> value = co_await mine.get("late", soon(loop));
    got = value.value();
}
task<> set_late(store& mine) {
    event_loop& loop = co_await this_loop;
    result<std::string> ready = co_await mine.get("ready", soon(loop));
    CHECK(ready.value() == "1");
    result<> done = co_await mine.set("late", "from another loop", soon(loop));
    CHECK(done);
}

}  // namespace

TEST_CASE("a store in memory keeps what stores promise") {
    event_loop loop(event_loop::virtual_time);
    memory_table table;
    const std::unique_ptr<store> mine = memory_store(table), theirs = memory_store(table);
    run(loop, store_promises(*mine, *theirs));
    run(loop, store_limits(*mine));
    run(loop, missing_key(*mine, "store in memory"));
    run(loop, closing(*mine));
}

TEST_CASE("a key set on one loop wakes a get on another") {
    memory_table table;
    std::string got;
    std::thread other([&table] {
        event_loop loop;
        const std::unique_ptr<store> mine = memory_store(table);
        run(loop, set_late(*mine));
    });
    event_loop loop;
    const std::unique_ptr<store> mine = memory_store(table);
    run(loop, wait_for_thread(*mine, got));
    other.join();
    CHECK(got == "from another loop");
}

TEST_CASE("a prefix keeps two users of one store apart") {
    event_loop loop(event_loop::virtual_time);
    memory_table table;
    const std::unique_ptr<store> first = prefixed(memory_store(table), "job/0"), second = prefixed(memory_store(table), "job/1");
    run(loop, [](store& one, store& other) -> task<> {
        event_loop& here = co_await this_loop;
        result<> done = co_await one.set("key", "old", soon(here));
        CHECK(done);
        result<bool> there = co_await other.erase("key", soon(here));
        CHECK_FALSE(there.value());
    }(*first, *second));
    run(loop, missing_key(*second, "job/1/nobody"));
}
