#include <tutti/result.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <string>

using namespace tutti;

TEST_CASE("every error has a text of its own") {
    std::set<std::string> texts{std::error_code(9999, error_category()).message()};
    CHECK(texts == std::set<std::string>{"unknown error"});
    for (int value = static_cast<int>(error::cancelled); value <= static_cast<int>(error::truncated); ++value) {
        CAPTURE(value);
        CHECK(texts.insert(make_error_code(static_cast<error>(value)).message()).second);
    }
}

TEST_CASE("a failure reads as one line that names rank, operation and cause") {
    report what;
    what.code = error::peer_died;
    what.local = 3;
    what.operation = "all_reduce f32 sum count 4";
    what.sequence = 17;
    what.cause = "peer 1 died: connection reset";
    what.done_bytes = 8;
    what.total_bytes = 16;
    const failure raised(what);
    CHECK(std::string(raised.what()) == "rank 3: all_reduce f32 sum count 4 #17: peer 1 died: connection reset after 8 of 16 bytes");
    CHECK(raised.code() == error::peer_died);
}

TEST_CASE("a failure says which communicator it is of, whose rank numbers it names, even without an operation") {
    report what;
    what.local = 2;
    what.cause = "rank 1 aborted: enough";
    CHECK(to_string(what) == "rank 2: rank 1 aborted: enough");
    what.communicator = "world";
    CHECK(to_string(what) == "rank 2: rank 1 aborted: enough");
    what.communicator = "world/1.0";
    CHECK(to_string(what) == "rank 2: on world/1.0: rank 1 aborted: enough");
    what.operation = "barrier";
    CHECK(to_string(what) == "rank 2: barrier on world/1.0: rank 1 aborted: enough");
}

TEST_CASE("a failure says each thing once") {
    report what;
    what.operation = "barrier";
    what.sequence = 4;
    what.local = 1;
    what.cause = "rank 1 waited 3 s in barrier #4 for rank 2";
    CHECK(to_string(what) == "rank 1 waited 3 s in barrier #4 for rank 2");
    what.label = "epoch";
    what.communicator = "world/1.0";
    CHECK(to_string(what) == "on world/1.0: rank 1 waited 3 s in barrier #4 for rank 2 (epoch)");
    what.cause = "rank 1 called barrier labelled \"epoch\"";
    CHECK(to_string(what) == "on world/1.0: rank 1 called barrier labelled \"epoch\"");
    what.local = 2;
    CHECK(to_string(what) == "rank 2: barrier #4 on world/1.0 (epoch): rank 1 called barrier labelled \"epoch\"");
}

TEST_CASE("a failure that was moved from can still be told") {
    failure why(error::closed, "the store was closed");
    const failure moved = std::move(why);
    CHECK(std::string(why.what()) == moved.what());
    CHECK(why.code() == error::closed);
}

TEST_CASE("a result holds a value or throws its failure") {
    result<int> good = 5;
    CHECK(good.value() == 5);
    CHECK(std::as_const(good).value() == 5);
    CHECK(*std::as_const(good) == 5);
    result<int> bad = failure(error::closed, "the store was closed");
    CHECK_FALSE(bad.has_value());
    CHECK_THROWS_AS(bad.value(), failure);
    CHECK(bad.failure().code() == error::closed);
    CHECK(result<>().has_value());
}

TEST_CASE("a result is made of what its value is made of") {
    const auto named = []() -> result<std::string> { return "rank 3"; };
    CHECK(named().value() == "rank 3");
    const auto owned = [](bool well) -> result<std::unique_ptr<const int>> {
        if (!well) return failure(error::closed, "nothing is left");
        return std::make_unique<int>(7);
    };
    CHECK(*owned(true).value() == 7);
    CHECK(owned(false).failure().code() == error::closed);
    static_assert(!std::is_convertible_v<int*, result<std::string>>);
}
