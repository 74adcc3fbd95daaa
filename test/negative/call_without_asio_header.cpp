// expect: include <tutti/asio.hpp>: without it this takes no completion token
#ifdef RIGHT
#include <tutti/asio.hpp>
#endif
#include <tutti/future.hpp>

#include <boost/asio/use_future.hpp>

void wait(tutti::future<> f) { f(boost::asio::use_future).get(); }
