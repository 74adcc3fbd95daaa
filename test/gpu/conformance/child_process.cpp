#include "gpu/conformance/child_process.hpp"

#include <doctest/doctest.h>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdlib>

namespace tutti::test {
namespace {

constexpr const char *rank_variable = "TUTTI_TEST_RANK", *size_variable = "TUTTI_TEST_SIZE", *engine_variable = "TUTTI_TEST_ENGINE",
                     *store_variable = "TUTTI_TEST_STORE";

std::string text_of(const char* variable) {
    const char* const text = std::getenv(variable);
    return text ? text : "";
}

std::string set(const char* variable, const std::string& value) { return std::string(variable) + "=" + value; }

}  // namespace

rank_orders rank_orders::of_this_process() {
    if (text_of(rank_variable).empty()) return {};
    return {std::atoi(text_of(rank_variable).c_str()), std::atoi(text_of(size_variable).c_str()), text_of(engine_variable),
            text_of(store_variable)};
}

child_process::child_process(const rank_orders& orders, const std::string& test_case, const std::vector<std::string>& variables) {
    std::vector<std::string> told = variables;
    told.push_back(set(rank_variable, std::to_string(orders.me)));
    told.push_back(set(size_variable, std::to_string(orders.size)));
    told.push_back(set(engine_variable, orders.engine));
    told.push_back(set(store_variable, orders.store));
    std::vector<char*> environment;
    for (std::string& each : told) environment.push_back(each.data());  // the first of a name counts
    for (char** each = environ; *each != nullptr; ++each) environment.push_back(*each);
    environment.push_back(nullptr);
    std::string program = "/proc/self/exe", filter = "--test-case=" + test_case;
    char* words[] = {program.data(), filter.data(), nullptr};
    REQUIRE(::posix_spawn(&id_, program.c_str(), nullptr, nullptr, words, environment.data()) == 0);
}

child_process::~child_process() {
    if (code_ >= 0) return;
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
}

int child_process::ended() {
    int status = 0;
    if (code_ < 0 && ::waitpid(id_, &status, WNOHANG) == id_) code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return code_;
}

}  // namespace tutti::test
