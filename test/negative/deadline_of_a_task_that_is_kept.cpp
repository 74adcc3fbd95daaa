// expect: this is awaited once: move it, as in std::move\(f\)
#include <tutti/when_all.hpp>

#include <chrono>
#include <utility>

tutti::task<int> wait(tutti::task<int> asked) {
#ifdef RIGHT
    co_return co_await tutti::with_deadline(std::move(asked), std::chrono::seconds(1));
#else
    co_return co_await tutti::with_deadline(asked, std::chrono::seconds(1));
#endif
}
