// expect: this is awaited once: move it, as in std::move\(f\)
#include <tutti/future.hpp>
#include <tutti/when_all.hpp>

#include <utility>

tutti::task<> wait(tutti::future<> f) {
#ifdef RIGHT
    co_await tutti::when_all(std::move(f), tutti::yield());
#else
    co_await tutti::when_all(f, tutti::yield());
#endif
}
