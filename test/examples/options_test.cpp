#include "digits/options.hpp"

#include "digits/input_error.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace digits;

namespace {

options parsed(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "digits");
    return parse_options(static_cast<int>(arguments.size()), arguments.data(), "default.csv");
}

}  // namespace

TEST_CASE("without arguments the defaults hold") {
    const options chosen = parsed({});
    CHECK(chosen.epochs == 25);
    CHECK(chosen.batch == 64);
    CHECK(chosen.rate == 0.05);
    CHECK(chosen.seed == 1);
    CHECK(chosen.data == "default.csv");
    CHECK_FALSE(chosen.device);
    CHECK_FALSE(chosen.json);
    CHECK_FALSE(chosen.plot);
    CHECK(chosen.help.empty());
}

TEST_CASE("every option arrives") {
    const options chosen = parsed({"--epochs", "3", "--batch=7", "--rate", "0.5", "--seed", "18446744073709551615", "--data", "a b.csv",
                                   "--json", "curve.json", "--plot", "curve.svg", "--device"});
    CHECK(chosen.device);
    CHECK(chosen.epochs == 3);
    CHECK(chosen.batch == 7);
    CHECK(chosen.rate == 0.5);
    CHECK(chosen.seed == 18446744073709551615U);
    CHECK(chosen.data == "a b.csv");
    CHECK(chosen.json == "curve.json");
    CHECK(chosen.plot == "curve.svg");
}

TEST_CASE("--json without a file means standard output, wherever it stands") {
    CHECK(parsed({"--json"}).json == "-");
    CHECK(parsed({"--json", "--epochs", "2"}).json == "-");
    CHECK(parsed({"--json", "-"}).json == "-");
}

TEST_CASE("--help asks for a text that names every option") {
    const std::string help = parsed({"--help"}).help;
    for (const char* name : {"--epochs", "--batch", "--rate", "--seed", "--device", "--data", "--json", "--plot"}) CHECK(help.find(name) != help.npos);
}

TEST_CASE("what cannot be meant is refused in one line that names it") {
    const struct {
        std::vector<const char*> arguments;
        const char* named;
    } cases[] = {
        {{"--epoch", "3"}, "--epoch"},
        {{"stray"}, "stray"},
        {{"--epochs"}, "--epochs"},
        {{"--epochs", "0"}, "--epochs"},
        {{"--epochs", "2.5"}, "2.5"},
        {{"--batch", "0"}, "--batch"},
        {{"--batch", "-1"}, "--batch"},
        {{"--batch", "1000001"}, "--batch"},
        {{"--rate", "0"}, "--rate"},
        {{"--rate", "nan"}, "--rate"},
        {{"--rate", "inf"}, "--rate"},
        {{"--rate", "fast"}, "fast"},
        {{"--seed", "-1"}, "--seed"},
        {{"--seed", "x"}, "--seed"},
        {{"--data"}, "--data"},
        {{"--plot"}, "--plot"},
        {{"--seed", "99999999999999999999"}, "--seed"},
    };
    for (const auto& each : cases) {
        CAPTURE(each.named);
        std::string message;
        try {
            (void)parsed(each.arguments);
        } catch (const input_error& error) {
            message = error.what();
        }
        CAPTURE(message);
        CHECK(message.find(each.named) != message.npos);
        CHECK(message.find('\n') == message.npos);
    }
}
