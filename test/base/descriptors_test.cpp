#include "base/descriptors.hpp"
#include "base/refused_by_system.hpp"

#include "support/descriptors.hpp"
#include "support/sanitizers.hpp"

#include <doctest/doctest.h>

using namespace tutti;

TEST_CASE("who has no descriptor left is told for what, and the limit, be it that of the process or that of the system" * doctest::skip(test::sanitizer_wants_descriptors)) {
    const test::no_descriptors none;
    CHECK(no_descriptor_left("a link", std::make_error_code(std::errc::too_many_files_open)) ==
          "no descriptor left for a link: its limit is " + none.limit() + " (ulimit -n)");
    CHECK(no_descriptor_left("a link", std::make_error_code(std::errc::too_many_files_open_in_system)) ==
          "no descriptor left for a link: its system has as many files open as it may (fs.file-max)");
    const report mine = without_descriptor(3, "a link", std::make_error_code(std::errc::too_many_files_open));
    CHECK(mine.code == error::system);
    CHECK(mine.root == 3);
    CHECK(mine.peers == std::vector<rank>{3});
    CHECK(mine.cause == "rank 3 has no descriptor left for a link: its limit is " + none.limit() + " (ulimit -n)");
}

TEST_CASE("the lack of descriptors can be told from other refusals of the system") {
    for (const int code : {EMFILE, ENFILE, EACCES}) {
        errno = code;
        const failure why = refused_by_system("no socket");
        CHECK(out_of_descriptors(why.code()) == (code != EACCES));
        CHECK((why.code() == error::system) == (code == EACCES));
    }
}

TEST_CASE("descriptors are scarce once half of those are open that this process may have") {
    const int lowest = ::fcntl(0, F_DUPFD, 0);  // that is free, where no lower one is
    ::close(lowest);
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    for (const int limit : {2 * lowest, 2 * lowest + 4}) {
        rlimit now = before;
        now.rlim_cur = static_cast<rlim_t>(limit);
        ::setrlimit(RLIMIT_NOFILE, &now);
        const bool scarce = descriptors_are_scarce();
        ::setrlimit(RLIMIT_NOFILE, &before);
        CHECK(scarce == (limit == 2 * lowest));
    }
}
