// expect: a task is awaited once: move it, as in co_await std::move\(t\)
#include <tutti/task.hpp>

#include <utility>

tutti::task<int> answer();

tutti::task<int> wait() {
    auto asked = answer();
#ifdef RIGHT
    co_return co_await std::move(asked);
#else
    co_return co_await asked;
#endif
}
