// A program for tests: every rank leaves its number in the job's store, waits for everybody's, and goes.
#include <tutti/sleep.hpp>
#include <tutti/store.hpp>

#include <chrono>
#include <cstdio>

namespace {

using namespace tutti;

task<> meet(const world& all) {
    event_loop& loop = co_await this_loop;
    const time_point deadline = loop.now() + std::chrono::seconds(20);
    result<std::unique_ptr<store>> opened = co_await open_store(all, deadline);
    store& mine = *opened.value();
    result<> done = co_await mine.set(std::to_string(all.me), all.job, deadline);
    done.value();
    for (rank other = 0; other < all.size; ++other) {
        result<std::string> job = co_await mine.get(std::to_string(other), deadline);
        if (job.value() != all.job) throw failure(error::mismatch, "another job's rank is here");
    }
    done = co_await mine.close(deadline);
    done.value();
}

}  // namespace

int main() {
    try {
        result<world> all = world_from_environment();
        event_loop loop;
        run(loop, meet(all.value()));
        std::printf("rank %d of %d met all, said %s\n", all->me, all->size, all->source.c_str());
        return 0;
    } catch (const std::exception& wrong) {
        std::fprintf(stderr, "%s\n", wrong.what());
        return 2;
    }
}
