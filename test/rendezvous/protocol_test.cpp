#include "rendezvous/protocol.hpp"

#include "support/seeds.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace tutti;

namespace {

store_request busy_request() {
    store_request request(store_op::compare_set, "key");
    request.value = std::string("va\0lue", 6);
    request.expected = "expected";
    request.delta = -7;
    return request;
}

std::string body(const std::string& frame) { return frame.substr(protocol::length_bytes); }

}  // namespace

TEST_CASE("what is framed can be parsed again") {
    const std::optional<protocol::numbered_request> asked = protocol::parse_request(body(protocol::frame(1ull << 40, busy_request())));
    REQUIRE(asked);
    CHECK(asked->id == 1ull << 40);
    CHECK(asked->request.op == store_op::compare_set);
    CHECK(asked->request.key == "key");
    CHECK(asked->request.value == std::string("va\0lue", 6));
    CHECK(asked->request.expected == "expected");
    CHECK(asked->request.delta == -7);

    store_reply reply;
    reply.value = "told";
    reply.number = -1;
    const std::optional<protocol::numbered_reply> told = protocol::parse_reply(body(protocol::frame(9, reply)));
    REQUIRE(told);
    CHECK(told->id == 9);
    CHECK(told->reply.value == "told");
    CHECK(told->reply.number == -1);
    CHECK_FALSE(told->reply.refused);
}

TEST_CASE("a frame that is cut short or too long is not parsed") {
    const std::string whole = body(protocol::frame(1, busy_request()));
    for (std::size_t length = 0; length < whole.size(); ++length) {
        CAPTURE(length);
        CHECK_FALSE(protocol::parse_request(std::string_view(whole).substr(0, length)));
    }
    CHECK_FALSE(protocol::parse_request(whole + "x"));
    protocol::hello who;
    who.job = "job";
    const std::string hello = body(protocol::frame(who));
    CHECK(protocol::parse_hello(hello));
    for (std::size_t length = 0; length < hello.size(); ++length)
        CHECK_FALSE(protocol::parse_hello(std::string_view(hello).substr(0, length)));
    CHECK_FALSE(protocol::parse_hello(hello + "x"));
}

TEST_CASE("damaged bytes are parsed into nothing or into something within the limits") {
    const auto seed = test::any_seed();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const std::string whole = body(protocol::frame(1, busy_request()));
    for (int i = 0; i < 20'000; ++i) {
        std::string bytes = whole;
        for (int k = 0; k < 3; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
        if (const auto asked = protocol::parse_request(bytes)) {
            CHECK(asked->request.key.size() <= whole.size());
            CHECK(asked->request.op >= store_op::get);
            CHECK(asked->request.op <= store_op::leave);
        }
    }
}
