#include "communicator/environment.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace environment_test {

using namespace tutti;

namespace {

class environment_of_one {
public:
    environment_of_one(const char* name, const char* value) : name_(name) {
        if (const char* const before = ::getenv(name)) before_ = before;
        ::setenv(name, value, 1);
    }
    environment_of_one(const environment_of_one&) = delete;
    environment_of_one& operator=(const environment_of_one&) = delete;
    ~environment_of_one() {
        if (before_) ::setenv(name_, before_->c_str(), 1);
        else ::unsetenv(name_);
    }

private:
    const char* const name_;
    std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("each variable of the environment replaces its option, and no number that others replace") {
    struct row {
        const char* name;
        const char* value;
        bool (*taken)(const context_options&);
    };
    const row rows[] = {
        {"TUTTI_TRANSPORT", "tcp", [](const context_options& now) { return now.transport == transport_kind::tcp; }},
        {"TUTTI_TRANSPORT", "shm", [](const context_options& now) { return now.transport == transport_kind::shm; }},
        {"TUTTI_TRANSPORT", "auto", [](const context_options& now) { return now.transport == transport_kind::automatic; }},
        {"TUTTI_HOST", "3", [](const context_options& now) { return now.host == 3; }},
        {"TUTTI_CACHE", "18446744073709551615", [](const context_options& now) { return now.cache_bytes == 18446744073709551615u; }},
        {"TUTTI_COSTS", "measure", [](const context_options& now) { return now.calibrate && now.costs == context_options().costs; }},
        {"TUTTI_COSTS", "shm,cores=2,round=1",
         [](const context_options& now) {
             cost_model expected = shared_memory_costs;
             expected.cores = 2;
             expected.round = 1;
             return !now.calibrate && now.costs == expected;
         }},
        {"TUTTI_STALL_WARNING", "0", [](const context_options& now) { return now.stall_warning == duration{}; }},
        {"TUTTI_STALL_WARNING", "0.5", [](const context_options& now) { return now.stall_warning == std::chrono::milliseconds(500); }},
        {"TUTTI_TUNING", "/dev/null", [](const context_options& now) { return now.tuning.empty(); }},
        {"TUTTI_DETERMINISTIC", "1", [](const context_options& now) { return now.deterministic; }},
        {"TUTTI_DETERMINISTIC", "0", [](const context_options& now) { return !now.deterministic; }},
        {"TUTTI_CHECK", "1", [](const context_options& now) { return now.check; }},
        {"TUTTI_CHECK", "0", [](const context_options& now) { return !now.check; }},
    };
    for (const row& each : rows) {
        CAPTURE(each.name);
        CAPTURE(each.value);
        context_options before;
        before.cache_bytes = 77;
        before.host = 7;
        before.tuning = "shm all_reduce 3: 0 ring";
        before.transport = std::string_view(each.value) == "tcp" ? transport_kind::shm : transport_kind::tcp;
        before.deterministic = std::string_view(each.value) == "0";
        const environment_of_one set(each.name, each.value);
        const auto now = with_environment(before);
        REQUIRE(now);
        CHECK(each.taken(*now));
        const std::string name = each.name;
        if (name != "TUTTI_HOST") CHECK(now->host == 7);
        if (name != "TUTTI_CACHE") CHECK(now->cache_bytes == 77);
        if (name != "TUTTI_TUNING") CHECK(now->tuning == before.tuning);
    }
}

TEST_CASE("a variable that makes no sense is refused with its name, its value and what is meant") {
    struct row {
        const char* name;
        const char* value;
        const char* says;
    };
    const row rows[] = {
        {"TUTTI_TRANSPORT", "udp", "TUTTI_TRANSPORT=udp is not auto, tcp or shm"},
        {"TUTTI_TRANSPORT", "", "TUTTI_TRANSPORT= is not auto, tcp or shm"},
        {"TUTTI_HOST", "-1", "TUTTI_HOST=-1 is not a whole number from 0 on"},
        {"TUTTI_HOST", "4294967296", "TUTTI_HOST=4294967296 is not a whole number from 0 on"},
        {"TUTTI_CACHE", "64KiB", "TUTTI_CACHE=64KiB is not a whole number from 0 on"},
        {"TUTTI_CACHE", "", "TUTTI_CACHE= is not a whole number from 0 on"},
        {"TUTTI_CACHE", "-1", "TUTTI_CACHE=-1 is not a whole number from 0 on"},
        {"TUTTI_CACHE", "1e6", "TUTTI_CACHE=1e6 is not a whole number from 0 on"},
        {"TUTTI_STALL_WARNING", "10s", "TUTTI_STALL_WARNING=10s is not a number of seconds from 0 on"},
        {"TUTTI_STALL_WARNING", "-1", "TUTTI_STALL_WARNING=-1 is not a number of seconds from 0 on"},
        {"TUTTI_STALL_WARNING", "1e30", "TUTTI_STALL_WARNING=1e30 is not a number of seconds from 0 on"},
        {"TUTTI_STALL_WARNING", "nan", "TUTTI_STALL_WARNING=nan is not a number of seconds from 0 on"},
        {"TUTTI_COSTS", "round", "TUTTI_COSTS=round is not understood; measure is, and round="},
        {"TUTTI_TUNING", "/no/such/file", "TUTTI_TUNING=/no/such/file: No such file or directory"},
        {"TUTTI_DETERMINISTIC", "yes", "TUTTI_DETERMINISTIC=yes is not 0 or 1"},
        {"TUTTI_CHECK", "", "TUTTI_CHECK= is not 0 or 1"},
    };
    for (const row& each : rows) {
        CAPTURE(each.name);
        CAPTURE(each.value);
        const environment_of_one set(each.name, each.value);
        const auto refused = with_environment({});
        REQUIRE_FALSE(refused);
        CHECK(refused.failure().code() == error::invalid_argument);
        CHECK(refused.failure().details().cause.find(each.says) != std::string::npos);
    }
}

TEST_CASE("a variable that is none of Tutti's is told of, with the one that was probably meant") {
    struct row {
        const char* entry;
        const char* says;  // null: nothing
    };
    const row rows[] = {
        {"TUTTI_TRANSPROT=tcp", "TUTTI_TRANSPROT is set, which means nothing to Tutti; perhaps TUTTI_TRANSPORT is meant"},
        {"TUTTI_TRANPORT=tcp", "TUTTI_TRANPORT is set, which means nothing to Tutti; perhaps TUTTI_TRANSPORT is meant"},
        {"TUTTI_WORLDSIZE=2", "TUTTI_WORLDSIZE is set, which means nothing to Tutti; perhaps TUTTI_WORLD_SIZE is meant"},
        {"TUTTI_JOBS=", "TUTTI_JOBS is set, which means nothing to Tutti; perhaps TUTTI_JOB is meant"},
        {"TUTTI_INTERFACE=eth0", "TUTTI_INTERFACE is set, which means nothing to Tutti"},
        {"TUTTI_=", "TUTTI_ is set, which means nothing to Tutti; perhaps TUTTI_JOB is meant"},
        {"TUTTI_TRANSPORT=tcp", nullptr},
        {"TUTTI_TEST_ANYTHING=1", nullptr},
        {"TUTTIFRUTTI=1", nullptr},
        {"tutti_job=1", nullptr},
        {"RANK=1", nullptr},
        {"TUTTI", nullptr},
    };
    for (const row& each : rows) {
        CAPTURE(each.entry);
        const char* const environment[] = {"PATH=/bin", each.entry, nullptr};
        const std::vector<std::string> expected = each.says ? std::vector<std::string>{each.says} : std::vector<std::string>();
        CHECK(about_unknown_variables(environment) == expected);
    }
    CHECK(about_unknown_variables(nullptr).empty());
}

TEST_CASE("unknown variables of this process are told to whom the options say") {
    static std::vector<std::string> heard;
    context_options options;
    options.notice = [](const std::string& sentence) { heard.push_back(sentence); };
    const environment_of_one wrong("TUTTI_HOTS", "1");
    REQUIRE(with_environment(options));
    CHECK(heard == std::vector<std::string>{"TUTTI_HOTS is set, which means nothing to Tutti; perhaps TUTTI_HOST is meant"});
}

}  // namespace environment_test
