// Messages of which there are many: what is wanted arrives behind all that is not wanted yet.
#include "engine/table.hpp"

#include <doctest/doctest.h>

using namespace tutti;
using test::why;

TEST_CASE("a wanted message arrives behind any number that no receive has asked for, short or long or empty") {
    for (const std::size_t count : {0u, 1u, 20u})
        for (const bool narrow : {true, false}) {
            CAPTURE(count);
            CAPTURE(narrow);
            test::table table(2, narrow ? test::few_credits() : engine_settings(), 2000);
            const std::size_t messages = narrow ? 1000 : 30'000;
            std::vector<int> word{42}, heard(1);
            std::vector<std::vector<int>> out, in(messages, std::vector<int>(count, -1));
            for (std::size_t index = 0; index < messages; ++index) out.emplace_back(count, static_cast<int>(index));
            std::vector<future<>> sent;
            std::vector<future<received>> got;
            for (auto& each : out) sent.push_back(table[0].send(each, 1, 1));
            auto wanted = table[0].send(word, 1, 2);
            auto hearing = table[1].recv(heard, 0, 2);
            table.settle();
            CHECK(hearing.ready());
            CHECK(heard == word);
            CHECK(!why(wanted).code);
            for (auto& each : in) got.push_back(table[1].recv(each, 0, 1));
            table.settle();
            for (auto& each : got) REQUIRE(!why(each).code);
            for (auto& each : sent) REQUIRE(!why(each).code);
            CHECK(in == out);
            CHECK_FALSE(table[1].try_probe(0, any_tag));
            // All credits are there again.
            auto next = table[0].send(word, 1, 1);
            table.settle();
            CHECK(next.ready());
        }
}

TEST_CASE("a receive that takes what it cannot hold out of many offered messages disturbs the others in nothing") {
    test::table table(2, test::few_credits(), 300);
    std::vector<std::vector<int>> out, in(200, std::vector<int>(30, -1));
    for (int index = 0; index < 200; ++index) out.emplace_back(index % 40, index);
    std::vector<future<>> sent;
    std::vector<future<received>> got;
    for (auto& each : out) sent.push_back(table[0].send(each, 1, 1));
    for (auto& each : in) got.push_back(table[1].recv(each, 0, 1));
    table.settle();
    for (std::size_t index = 0; index < 200; ++index) {
        const bool fits = out[index].size() <= 30;
        CHECK(why(got[index]).code == (fits ? std::error_code() : make_error_code(error::truncated)));
        CHECK(!why(sent[index]).code);
        in[index].resize(fits ? out[index].size() : 30);
        CHECK(in[index] == (fits ? out[index] : std::vector<int>(30, -1)));
    }
    CHECK(table[1].failures.empty());
}
