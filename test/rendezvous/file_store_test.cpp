#include "store_suite.hpp"

#include "rendezvous/log_file.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <cstdlib>
#include <fstream>

using namespace tutti;

namespace {

/// A file name in a folder of its own; both are gone afterwards.
class place {
public:
    place() {
        const char* folder = std::getenv("TMPDIR");
        path_ = std::string(folder != nullptr ? folder : "/tmp") + "/tutti-store-XXXXXX";
        REQUIRE(::mkdtemp(path_.data()) != nullptr);
    }
    ~place() {
        ::unlink(file().c_str());
        ::rmdir(path_.c_str());
    }
    std::string file() const { return path_ + "/store"; }

private:
    std::string path_;
};

task<> count_up(store& mine, int times) {
    event_loop& loop = co_await this_loop;
    for (int i = 0; i < times; ++i) {
        result<std::int64_t> sum = co_await mine.add("count", 1, soon(loop));
        if (!sum) throw sum.failure();
    }
}
task<> expect(store& mine, std::string key, std::string value) {
    event_loop& loop = co_await this_loop;
    result<std::string> got = co_await mine.get(key, soon(loop));
    CHECK(got.value() == value);
}

}  // namespace

TEST_CASE("a store in a file keeps what stores promise") {
    event_loop loop(event_loop::virtual_time);
    const place here;
    const std::unique_ptr<store> mine = file_store(here.file()).value(), theirs = file_store(here.file()).value();
    run(loop, store_promises(*mine, *theirs));
    run(loop, store_limits(*mine));
    run(loop, missing_key(*mine, here.file()));
    run(loop, closing(*mine));
}

TEST_CASE("processes that add to one key at the same time lose nothing") {
    const place here;
    constexpr int processes = 4, times = 100;
    for (int i = 0; i < processes; ++i)
        if (::fork() == 0) {
            int code = 1;
            try {
                event_loop loop;
                const std::unique_ptr<store> mine = file_store(here.file()).value();
                run(loop, count_up(*mine, times));
                code = 0;
            } catch (const std::exception&) {}
            ::_exit(code);
        }
    for (int i = 0; i < processes; ++i) {
        int status = -1;
        ::wait(&status);
        CHECK(status == 0);
    }
    event_loop loop;
    const std::unique_ptr<store> mine = file_store(here.file()).value();
    run(loop, expect(*mine, "count", std::to_string(processes * times)));
}

TEST_CASE("what a process that died while writing has left is ignored and cut off") {
    const place here;
    event_loop loop(event_loop::virtual_time);
    const std::unique_ptr<store> mine = file_store(here.file()).value();
    run(loop, count_up(*mine, 1));
    std::ofstream(here.file(), std::ios::app | std::ios::binary) << std::string("\x20\0\0\0half of", 11);
    run(loop, expect(*mine, "count", "1"));
    run(loop, count_up(*mine, 1));
    const std::unique_ptr<store> fresh = file_store(here.file()).value();
    run(loop, expect(*fresh, "count", "2"));
}

TEST_CASE("a file that is not a store's is left alone") {
    const place here;
    std::ofstream(here.file()) << "precious data of somebody\n";
    event_loop loop(event_loop::virtual_time);
    const std::unique_ptr<store> mine = file_store(here.file()).value();
    CHECK_THROWS_WITH_AS(run(loop, count_up(*mine, 1)), doctest::Contains("is not a store's file"), failure);
    std::string text;
    std::getline(std::ifstream(here.file()), text);
    CHECK(text == "precious data of somebody");
}

TEST_CASE("a file that cannot be opened is told with its name") {
    result<std::unique_ptr<store>> mine = file_store("/nowhere/store");
    REQUIRE(!mine);
    CHECK(mine.failure().code() == error::system);
    CHECK(std::string(mine.failure().what()).find("/nowhere/store") != std::string::npos);
}

TEST_CASE("a lock held by another process ends a request at its deadline") {
    const place here;
    result<log_file> other = log_file::open(here.file());
    REQUIRE(other->try_lock(true).value());
    event_loop loop(event_loop::virtual_time);
    const std::unique_ptr<store> mine = file_store(here.file()).value();
    CHECK_THROWS_WITH_AS(run(loop, count_up(*mine, 1)), doctest::Contains("did not answer key count within 10 s"), failure);
    other->unlock();
    run(loop, count_up(*mine, 1));
}
