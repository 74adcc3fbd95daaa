#include "base/process.hpp"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>

using namespace tutti;

namespace {

/// Returns what `body` returns in a forked process.
bool in_a_child(const std::function<bool()>& body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body() ? 0 : 1);
    int status = -1;
    ::waitpid(child, &status, 0);
    return status == 0;
}

struct destroyed_here {
    explicit destroyed_here(bool& told) : told_(&told) {}
    destroyed_here(destroyed_here&& other) noexcept : told_(std::exchange(other.told_, nullptr)) {}
    ~destroyed_here() {
        if (told_) *told_ = true;
    }
    bool* told_;
};

}  // namespace

TEST_CASE("what one process has made is not of the processes that it forks, nor of those that they fork") {
    const birthplace mine;
    CHECK(mine.here());
    CHECK(in_a_child([&mine] {
        const birthplace of_child;
        return !mine.here() && of_child.here() && in_a_child([&] { return !mine.here() && !of_child.here(); });
    }));
    CHECK(mine.here());
}

TEST_CASE("a call that comes from the wrong process names both") {
    const birthplace mine;
    const int number = ::getpid();
    CHECK(in_a_child([&mine, number] {
        const failure why = mine.foreign("context");
        const std::string text = why.what();
        return why.code() == error::closed && text.find("the context belongs to process " + std::to_string(number)) == 0 &&
               text.find(std::to_string(::getpid())) != std::string::npos;
    }));
}

TEST_CASE("what is left alone is not destroyed") {
    bool destroyed = false;
    leave_alone(std::make_unique<destroyed_here>(destroyed));
    CHECK_FALSE(destroyed);
}
