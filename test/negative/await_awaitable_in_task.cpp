// expect: a tutti::task cannot await this
#include <tutti/asio.hpp>

#include <boost/asio/awaitable.hpp>

#ifdef RIGHT
using work = tutti::task<>;
#else
using work = boost::asio::awaitable<void>;
#endif

tutti::task<> wait(work what) { co_await std::move(what); }
