// expect: the function of then\(\) returns a value: where one operation follows another, write a task
#include <tutti/future.hpp>

tutti::future<> next();

void go_on(tutti::future<> f) {
#ifdef RIGHT
    auto after = f.then([] { return 1; });
#else
    auto after = f.then([] { return next(); });
#endif
}
