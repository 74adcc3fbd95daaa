// The launcher, when a rank fails.
#include "command.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <string>
#include <vector>

TEST_CASE("the exit code is that of the first rank that failed, and the launcher says which") {
    const outcome all = tutti_run(with_option("--grace=0.1", shells(3, "if [ $RANK = 1 ]; then exit 7; fi; exec sleep 100")));
    CHECK(all.code == 7);
    CHECK(all.err.starts_with("tutti-run: rank 1 exited with code 7; ending the others\n"));
}

TEST_CASE("a rank killed by a signal is told, and gives 128 + signal") {
    const outcome all = tutti_run(with_option("--grace=0.1", shells(3, "if [ $RANK = 2 ]; then kill -9 $$; fi; exec sleep 100")));
    CHECK(all.code == 137);
    CHECK(all.err == "tutti-run: rank 2 was killed by signal 9 (Killed); ending the others\n"
                     "tutti-run: ranks 0, 1 did not end within 0.1 s (--grace): SIGTERM is sent\n");
}

TEST_CASE("after a failure the others may end by themselves, within the grace time") {
    const outcome all = tutti_run(with_option("--grace=60", shells(2, "if [ $RANK = 1 ]; then exit 3; fi; sleep 0.1; echo saved")));
    CHECK(all.code == 3);
    CHECK(all.out == "[0] saved\n");
}

TEST_CASE("a rank that ignores SIGTERM is killed, and the launcher says what the grace time ended") {
    const outcome all =
        tutti_run(with_option("--grace=0.1", shells(3, "trap '' TERM; if [ $RANK = 1 ]; then exit 3; fi; while :; do sleep 1; done")));
    CHECK(all.code == 3);
    CHECK(all.err == "tutti-run: rank 1 exited with code 3; ending the others\n"
                     "tutti-run: ranks 0, 2 did not end within 0.1 s (--grace): SIGTERM is sent\n"
                     "tutti-run: ranks 0, 2 did not obey SIGTERM within 0.1 s (--grace): killed\n");
}

TEST_CASE("where a rank failed and all others ended with 75 that is the exit code") {
    struct row {
        std::string script;
        int code;
    };
    const row rows[] = {{"if [ $RANK = 1 ]; then kill -9 $$; fi; sleep 0.3; exit 75", 75},
                        {"if [ $RANK = 1 ]; then exit 3; fi; sleep 0.3; exit 75", 75},
                        {"if [ $RANK = 1 ]; then exit 3; fi; sleep 0.3; exit $((75 * ($RANK / 2)))", 3},
                        {"exit 75", 75}};
    for (const auto& [script, code] : rows) {
        CAPTURE(script);
        CHECK(tutti_run(with_option("--grace=60", shells(3, script))).code == code);
    }
}

TEST_CASE("what a program prints is shown line by line, and a killed rank loses none") {
    // As programs do it by themselves: a full buffer at a time to a pipe, a line at a time to a terminal.
    command all(tutti_run_words({"-n", "1", "--no-prefix", "--", "python3", "-E", "-c", "print('first')\nwhile True: pass"}));
    REQUIRE(all.printed("first\n"));
    ::kill(all.pid(), SIGKILL);
    CHECK(all.wait().out == "first\n");
}
