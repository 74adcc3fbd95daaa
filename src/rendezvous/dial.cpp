#include "rendezvous/dial.hpp"

#include "base/descriptors.hpp"
#include "rendezvous/timed_event.hpp"
#include "runtime/connecting.hpp"

#include <tutti/sleep.hpp>

#include <memory>

namespace tutti {
namespace {

using asio::ip::tcp;

/// Shared with Asio's handler, which may outlive the task.
struct attempt {
    attempt(event_loop& loop, timed_event& end) : socket(io_of(loop)), ended(&end) {}
    tcp::socket socket;
    timed_event* ended;  // null when nothing waits any more
};

failure refused(const boost::system::error_code& code, const tcp::endpoint& where) {
    report why;
    if (out_of_descriptors(code)) why.code = code;
    else why.code = is_final(code) ? error::invalid_argument : error::system;
    why.cause = explain(code, where);
    return failure(std::move(why));
}

void wait(const std::shared_ptr<attempt>& trying) {
    trying->socket.async_wait(tcp::socket::wait_write, [trying](const boost::system::error_code&) {
        if (trying->ended != nullptr) trying->ended->set();
    });
}

}  // namespace

task<result<tcp::socket>> dial(tcp::endpoint where, time_point deadline) {
    event_loop& loop = co_await this_loop;
    timed_event ended(deadline);
    const auto trying = std::make_shared<attempt>(loop, ended);
    struct parting {
        explicit parting(attempt& from) : from_(from) {}
        ~parting() {
            from_.ended = nullptr;
            boost::system::error_code ignored;
            if (from_.socket.is_open()) from_.socket.close(ignored);
        }
        attempt& from_;
    } const part(*trying);
    boost::system::error_code code = open_to_connect(trying->socket, where.protocol());
    if (!code) code = start_to_connect(trying->socket, where);
    if (code) co_return refused(code, where);
    wait(trying);
    const bool came = co_await ended;
    if (!came) co_return failure(error::timed_out, "no answer to the connection request");
    if ((code = end_of_connect(trying->socket))) co_return refused(code, where);
    co_return std::move(trying->socket);
}

std::string local_address_of(const tcp::socket& socket) {
    boost::system::error_code error;
    const tcp::endpoint here = socket.local_endpoint(error);
    return error ? "" : plain(here.address()).to_string();
}

}  // namespace tutti
