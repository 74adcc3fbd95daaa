#include "base/file_descriptor.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>

#include <utility>

using namespace tutti;

namespace {

file_descriptor open_nothing() { return file_descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }
bool is_open(int number) { return ::fcntl(number, F_GETFD) >= 0; }

}  // namespace

TEST_CASE("a file is closed with its descriptor, once") {
    CHECK_FALSE(file_descriptor());
    int number = -1;
    {
        file_descriptor one = open_nothing();
        REQUIRE(one);
        number = one.number();
        const file_descriptor other = std::move(one);
        CHECK_FALSE(one);
        CHECK(other.number() == number);
        CHECK(is_open(number));
    }
    CHECK_FALSE(is_open(number));
}

TEST_CASE("a descriptor that takes another's file lets go of its own") {
    file_descriptor mine = open_nothing();
    const int before = mine.number();
    {
        file_descriptor other = open_nothing();
        const int number = other.number();
        mine = std::move(other);
        CHECK(mine.number() == number);
    }
    CHECK_FALSE(is_open(before));
    CHECK(is_open(mine.number()));
}

TEST_CASE("a file may be closed before its descriptor goes") {
    file_descriptor one = open_nothing();
    const int number = one.number();
    one.close();
    CHECK_FALSE(one);
    CHECK_FALSE(is_open(number));
    one.close();
}

TEST_CASE("who releases a file closes it") {
    file_descriptor again;
    {
        file_descriptor one = open_nothing();
        const int number = one.release();
        CHECK_FALSE(one);
        again = file_descriptor(number);
    }
    CHECK(is_open(again.number()));
}
