// expect: this can be awaited only where it is made: write a task that does so, and give that
#include <tutti/future.hpp>
#include <tutti/when_all.hpp>

#include <chrono>
#include <utility>

tutti::task<> wait(tutti::future<> f) {
#ifdef RIGHT
    co_await tutti::with_deadline(std::move(f), std::chrono::seconds(1));
#else
    co_await tutti::with_deadline(tutti::as_result(f), std::chrono::seconds(1));
#endif
}
