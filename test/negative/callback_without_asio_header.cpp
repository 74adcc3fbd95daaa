// expect: include <tutti/asio.hpp>: without it this takes no completion token
#ifdef RIGHT
#include <tutti/asio.hpp>
#endif
#include <tutti/future.hpp>

#include <exception>

void wait(tutti::future<int> f) {
    f([](std::exception_ptr, int) {});
}
