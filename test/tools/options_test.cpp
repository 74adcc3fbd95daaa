#include "options.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

using namespace perf;

namespace {

/// All words behind the program's name, silently.
std::variant<options, int> parsed(std::initializer_list<const char*> words) {
    std::vector<const char*> all{"tutti-perf"};
    all.insert(all.end(), words);
    return parse(static_cast<int>(all.size()), all.data(), false);
}

}  // namespace

TEST_CASE("what is not said has a default") {
    const auto given = std::get<options>(parsed({"all_reduce"}));
    CHECK(given.what->name == "all_reduce");
    CHECK(given.bytes.front() == 4);
    CHECK(given.bytes.back() == 64 * tutti::MiB);
    CHECK(given.type == tutti::data_type::f32);
    CHECK(given.reduce == tutti::reduce_op::sum);
    CHECK(given.forced == nullptr);
    CHECK_FALSE(given.transport.has_value());
    CHECK(given.iterations == 0);
    CHECK(given.check);
    CHECK_FALSE(given.in_place);
}

TEST_CASE("every collective, type and operator of the tables can be asked for") {
    for (const subject& each : subjects()) {
        const std::string word(each.name);
        CAPTURE(word);
        CHECK(std::get<options>(parsed({word.c_str()})).what == &each);
    }
    for (const tutti::data_type each : measured_types()) {
        const std::string word(name(each));
        CHECK(std::get<options>(parsed({"reduce", "--type", word.c_str()})).type == each);
    }
    for (const tutti::reduce_op each : measured_operators()) {
        const std::string word(operator_name(each));
        const char* const type = tutti::defined(each, tutti::data_type::f32) ? "f32" : "i32";
        CHECK(std::get<options>(parsed({"reduce", "--op", word.c_str(), "--type", type})).reduce == each);
    }
}

TEST_CASE("an algorithm is one of its collective") {
    const auto given = std::get<options>(parsed({"all_gather", "--algorithm", "bruck"}));
    REQUIRE(given.forced != nullptr);
    CHECK(given.forced->kind == tutti::collective::all_gather);
    CHECK(given.forced->name == "bruck");
    CHECK(std::get<options>(parsed({"all_gather", "--algorithm", "auto"})).forced == nullptr);
    CHECK(std::get<int>(parsed({"all_gather", "--algorithm", "star"})) == 2);
}

TEST_CASE("an operator that the type does not have is refused where something is reduced") {
    CHECK(std::get<int>(parsed({"all_reduce", "--type", "f32", "--op", "band"})) == 2);
    CHECK(std::get<int>(parsed({"reduce", "--type", "cf64", "--op", "max"})) == 2);
    CHECK(std::get<int>(parsed({"scan", "--type", "i32", "--op", "premul_sum"})) == 2);
    CHECK(std::get<int>(parsed({"scan", "--op", "avg"})) == 2);
    CHECK(std::get<int>(parsed({"exclusive_scan", "--op", "avg"})) == 2);
    CHECK(std::holds_alternative<options>(parsed({"broadcast", "--type", "f32", "--op", "band"})));
}

TEST_CASE("a transport that is asked for is taken whatever the environment says") {
    CHECK(std::get<options>(parsed({"barrier", "--transport", "tcp"})).transport == tutti::transport_kind::tcp);
    CHECK(std::get<options>(parsed({"barrier", "--transport", "shm"})).transport == tutti::transport_kind::shm);
    CHECK_FALSE(std::get<options>(parsed({"barrier", "--transport", "auto"})).transport.has_value());
    CHECK_FALSE(std::get<options>(parsed({"barrier"})).alone);
    CHECK(std::get<options>(parsed({"gather", "--alone"})).alone);
    CHECK_FALSE(std::get<options>(parsed({"barrier"})).cold);
    CHECK(std::get<options>(parsed({"all_reduce", "--cold"})).cold);
    CHECK(std::get<options>(parsed({"barrier"})).lanes == 1);
    CHECK(std::get<options>(parsed({"all_reduce", "--lanes", "8"})).lanes == 8);
    CHECK(std::get<options>(parsed({"barrier"})).threads == 1);
    CHECK(std::get<options>(parsed({"all_reduce", "--threads", "3"})).threads == 3);
}

TEST_CASE("what makes no sense is refused with code 2") {
    const std::initializer_list<std::initializer_list<const char*>> refused = {
        {},
        {"all"},
        {"all_reduce", "--type", "f31"},
        {"all_reduce", "--op", "plus"},
        {"all_reduce", "--bytes", "x"},
        {"all_reduce", "--step", "1"},
        {"all_reduce", "--iters", "-1"},
        {"all_reduce", "--iters", "1000001"},
        {"all_reduce", "--seconds", "0"},
        {"all_reduce", "--seconds", "nan"},
        {"all_reduce", "--step", "nan"},
        {"all_reduce", "--overlap", "nan"},
        {"all_reduce", "--transport", "udp"},
        {"all_reduce", "--lanes", "0"},
        {"all_reduce", "--lanes", "9"},
        {"all_reduce", "--threads", "0"},
        {"all_reduce", "--threads", "9"},
        {"all_reduce", "--overlap", "0"},
        {"all_reduce", "--overlap", "5", "--list", "resnet50"},
        {"all_reduce", "--bytes", "4", "--list", "resnet50"},
        {"all_reduce", "--cold", "--list", "resnet50"},
        {"broadcast", "--list", "resnet50"},
        {"all_to_all", "--in-place"},
        {"send_recv", "--in-place"},
        {"send_recv", "--algorithm", "ring"},
        {"ping_pong", "--overlap", "5"},
    };
    for (const auto& words : refused) {
        CAPTURE(words.size() == 0 ? "nothing" : *(words.end() - 1));
        REQUIRE(std::holds_alternative<int>(parsed(words)));
        CHECK(std::get<int>(parsed(words)) == 2);
    }
}

TEST_CASE("bytes of the whole vector become elements of a call, rounded up") {
    const auto count = [](const char* collective, std::uint64_t bytes, int size) {
        return std::get<options>(parsed({collective, "--type", "f16"})).count_for(bytes, size);
    };
    CHECK(count("all_reduce", 5, 4) == 3);
    CHECK(count("all_gather", 16, 4) == 2);
    CHECK(count("reduce_scatter", 17, 4) == 3);
    CHECK(count("all_to_all", 1, 4) == 1);
    CHECK(count("all_reduce", 0, 4) == 0);
    CHECK(count("barrier", 100, 4) == 0);
    CHECK(count("gather_v", 21, 4) == 2);  // ten shares of two bytes
    CHECK(count("send_recv", 5, 4) == 3);
}
