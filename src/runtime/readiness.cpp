#include "runtime/readiness.hpp"

#include "base/descriptors.hpp"

#include <tutti/error.hpp>

#include <boost/asio/detail/reactor.hpp>
#include <boost/system/system_error.hpp>

#include <string>
#include <type_traits>

namespace tutti::detail {
namespace {

using boost::asio::detail::epoll_reactor;
static_assert(std::is_same_v<boost::asio::detail::reactor, epoll_reactor>, "guest loops need Asio's epoll");

// Asio keeps the descriptor to itself, and libraries that are loops inside of loops want it (libuv and libev give theirs away). The names in
// an explicit instantiation are not checked for access ([temp.spec.general]/6), and a friend defined there can be called.
int descriptor_of(epoll_reactor& reactor);
template <int epoll_reactor::*Member>
struct shown {
    friend int descriptor_of(epoll_reactor& reactor) { return reactor.*Member; }
};
template struct shown<&epoll_reactor::epoll_fd_>;

}  // namespace

int readiness_of(asio::io_context& io) {
    try {
        auto& reactor = asio::use_service<epoll_reactor>(io);
        reactor.init_task();  // as the first socket would
        return descriptor_of(reactor);
    } catch (const boost::system::system_error& why) {
        const std::error_code code = why.code();
        throw failure(error::system, out_of_descriptors(code) ? "this process has " + no_descriptor_left("an event loop", code)
                                                              : std::string("there can be no event loop: ") + why.what());
    }
}

}  // namespace tutti::detail
