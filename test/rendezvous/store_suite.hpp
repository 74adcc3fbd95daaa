// The promises of every kind of store, as one test body: two views of the same keys.
#pragma once

#include <tutti/sleep.hpp>
#include <tutti/store.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <string>

namespace tutti {

inline time_point soon(event_loop& loop) { return loop.now() + std::chrono::seconds(10); }

inline task<> store_promises(store& mine, store& theirs) {
    event_loop& loop = co_await this_loop;
    const time_point deadline = soon(loop);

    result<> done = co_await mine.set("a", "one", deadline);
    CHECK(done);
    result<std::string> got = co_await theirs.get("a", deadline);
    CHECK(got.value() == "one");
    done = co_await theirs.set("a", std::string("zero\0byte", 9), deadline);
    CHECK(done);
    got = co_await mine.get("a", deadline);
    CHECK(got.value() == std::string("zero\0byte", 9));

    result<std::int64_t> counted = co_await mine.add("n", 5, deadline);
    CHECK(counted.value() == 5);
    counted = co_await theirs.add("n", -7, deadline);
    CHECK(counted.value() == -2);
    got = co_await mine.get("n", deadline);
    CHECK(got.value() == "-2");
    counted = co_await mine.add("a", 1, deadline);
    REQUIRE(!counted);
    CHECK(counted.failure().code() == error::invalid_argument);

    std::optional<std::string> expected;
    result<bool> swapped = co_await mine.compare_set("c", expected, "first", deadline);
    CHECK(swapped.value());
    swapped = co_await theirs.compare_set("c", expected, "second", deadline);
    CHECK_FALSE(swapped.value());
    expected = "first";
    swapped = co_await theirs.compare_set("c", expected, "third", deadline);
    CHECK(swapped.value());
    got = co_await mine.get("c", deadline);
    CHECK(got.value() == "third");

    result<bool> erased = co_await theirs.erase("c", deadline);
    CHECK(erased.value());
    erased = co_await mine.erase("c", deadline);
    CHECK_FALSE(erased.value());
}

inline task<> store_limits(store& mine) {
    event_loop& loop = co_await this_loop;
    const time_point deadline = soon(loop);
    result<> done = co_await mine.set("", "x", deadline);
    REQUIRE(!done);
    CHECK(done.failure().code() == error::invalid_argument);
    done = co_await mine.set(std::string(store::max_key_bytes + 1, 'k'), "x", deadline);
    CHECK(!done);
    done = co_await mine.set("k", std::string(store::max_value_bytes + 1, 'v'), deadline);
    CHECK(!done);
    const std::string longest_key(store::max_key_bytes, 'k'), longest_value(store::max_value_bytes, 'v');
    done = co_await mine.set(longest_key, longest_value, deadline);
    CHECK(done);
    result<std::string> got = co_await mine.get(longest_key, deadline);
    CHECK(got.value() == longest_value);
    done = co_await mine.set("empty", "", deadline);
    CHECK(done);
    got = co_await mine.get("empty", deadline);
    CHECK(got.value().empty());
}

inline task<> missing_key(store& mine, std::string name) {
    event_loop& loop = co_await this_loop;
    result<std::string> got = co_await mine.get("nobody sets this", loop.now() + std::chrono::milliseconds(30));
    REQUIRE(!got);
    CHECK(got.failure().code() == error::timed_out);
    const std::string text = got.failure().what();
    CAPTURE(text);
    CHECK(text.find("nobody sets this") != std::string::npos);
    CHECK(text.find(name) != std::string::npos);
    const double waited = std::chrono::duration<double>(got.failure().details().elapsed).count();
    CHECK(text.find(fmt::format("within {:.3g} s", waited)) != std::string::npos);
}

inline task<> closing(store& mine) {
    event_loop& loop = co_await this_loop;
    result<> done = co_await mine.close(soon(loop));
    CHECK(done);
    done = co_await mine.close(soon(loop));
    CHECK(done);
    done = co_await mine.set("a", "b", soon(loop));
    REQUIRE(!done);
    CHECK(done.failure().code() == error::closed);
}

}  // namespace tutti
