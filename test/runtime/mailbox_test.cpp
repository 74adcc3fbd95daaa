#include "runtime/mailbox.hpp"

#include <tutti/sleep.hpp>
#include <tutti/task.hpp>

#include <doctest/doctest.h>

#include <thread>

using namespace tutti;

TEST_CASE("letters of other threads are read on the loop, in order, until the box is closed") {
    event_loop loop;
    mailbox letters(loop);
    std::vector<int> read;
    std::thread writer([&] {
        for (int number = 0; number < 100; ++number)
            letters.send([&read, number, &loop] {
                CHECK(loop.here());
                read.push_back(number);
            });
        letters.send([&loop] { loop.stop(); });
    });
    loop.run();
    writer.join();
    REQUIRE(read.size() == 100);
    for (int number = 0; number < 100; ++number) CHECK(read[static_cast<std::size_t>(number)] == number);
    letters.close();
    CHECK_FALSE(letters.send([] { FAIL("nobody reads this"); }));
}
