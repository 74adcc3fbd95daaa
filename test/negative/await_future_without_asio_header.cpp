// expect: include <tutti/asio.hpp>: without it .* no boost::asio::awaitable can await it
#ifdef RIGHT
#include <tutti/asio.hpp>
#endif
#include <tutti/future.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>

boost::asio::awaitable<void> wait(tutti::future<> f) { co_await std::move(f); }
