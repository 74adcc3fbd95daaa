// expect: include <tutti/asio.hpp>: without it .* no boost::asio::awaitable can await it
#ifdef RIGHT
#include <tutti/asio.hpp>
#endif
#include <tutti/task.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>

boost::asio::awaitable<void> wait(tutti::task<> t) { co_await std::move(t); }
