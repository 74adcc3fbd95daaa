#include "transport/tcp_transport.hpp"

#include "base/descriptors.hpp"
#include "runtime/connecting.hpp"
#include "transport/congestion_control.hpp"
#include "transport/tcp_address.hpp"
#include "transport/tcp_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace tutti {
namespace {

using asio::ip::tcp;

failure refused_by_system(const std::string& what, const boost::system::error_code& code) {
    report why;
    why.code = out_of_descriptors(code) ? std::error_code(code) : make_error_code(error::system);
    why.operation = "listen";
    why.cause = fmt::format("{}: {}", what, code.message());
    return failure(std::move(why));
}

/// Starts to connect without waiting. Returns false when that has failed already.
bool begin_connect(tcp::socket& socket, const tcp::endpoint& where, boost::system::error_code& code) {
    if ((code = open_to_connect(socket, where.protocol()))) return false;
    choose_host_congestion_control(socket.native_handle());
    code = start_to_connect(socket, where);
    return !code;
}

}  // namespace

result<std::unique_ptr<tcp_transport>> tcp_transport::listen(event_loop& loop, const tcp_options& options) {
    boost::system::error_code code;
    const auto host = asio::ip::make_address(options.bind_host, code);
    if (code) return failure(error::invalid_argument, fmt::format("\"{}\" is not an IP address to listen on", options.bind_host));
    const tcp::endpoint where(host, options.port);
    tcp::acceptor acceptor(io_of(loop));
    if ((code = open_unshared(acceptor, where.protocol()))) return refused_by_system(to_string(where), code);
    std::string usual_congestion_control = congestion_control_of(acceptor.native_handle());
    choose_host_congestion_control(acceptor.native_handle());
    acceptor.set_option(tcp::acceptor::reuse_address(true), code);
    if (acceptor.bind(where, code) || acceptor.listen(options.backlog, code) || acceptor.non_blocking(true, code))
        return refused_by_system(to_string(where), code);
    return std::unique_ptr<tcp_transport>(new tcp_transport(loop, std::move(acceptor), std::move(usual_congestion_control)));
}

tcp_transport::tcp_transport(event_loop& loop, tcp::acceptor acceptor, std::string usual_congestion_control)
    : loop_(loop),
      address_(to_string(acceptor.local_endpoint())),
      zone_(zone_of(acceptor.local_endpoint().address())),
      usual_congestion_control_(std::move(usual_congestion_control)),
      door_(loop, std::move(acceptor),
            [this](event_loop& on, tcp::socket came) { return make_tcp_link(on, std::move(came), usual_congestion_control_); }),
      entrance_(loop, {&door_}) {}

task<result<std::unique_ptr<link>>> tcp_transport::connect(std::string address, time_point deadline) {
    address.resize(std::min(address.size(), address.find(' ')));  // the part behind a space is for shared memory
    const auto target = parse_address(address);
    if (!target) co_return failure(error::invalid_argument, fmt::format("\"{}\" is not host:port", address));
    connect_retry tries{loop_, connecting_, address, deadline, std::random_device{}()};
    while (tries.open()) {
        lookup host;
        host.start(loop_, *target, zone_, tries.work());
        if (!co_await tries.worked(deadline)) break;
        std::string reason = host.reason();
        bool refused = false, final = !host.endpoints().empty();
        for (const auto& where : host.endpoints()) {
            tcp::socket socket(io_of(loop_));
            boost::system::error_code code;
            if (begin_connect(socket, where, code)) {
                socket_wait<tcp::socket> connected{loop_, socket, tcp::socket::wait_write};
                connected.start(tries.work());
                const bool ended = co_await tries.worked(later(loop_.now(), connect_try_limit));
                if (!tries.open()) co_return tries.why();
                code = ended ? end_of_connect(socket) : asio::error::timed_out;
            }
            if (!code) co_return make_tcp_link(loop_, std::move(socket), usual_congestion_control_);
            if (out_of_descriptors(code)) {
                report why;
                why.code = code;
                why.cause = code.message();
                co_return failure(std::move(why));
            }
            reason = code == asio::error::timed_out ? "no answer" : explain(code, where);
            refused = code == asio::error::connection_refused;
            final = final && is_final(code);
        }
        if (final) tries.give_up(std::move(reason));
        else co_await tries.again(std::move(reason), refused);
    }
    co_return tries.why();
}

task<result<std::unique_ptr<link>>> tcp_transport::accept() { return entrance_.accept(); }

void tcp_transport::close() noexcept {
    connecting_.close();
    entrance_.close();
}

}  // namespace tutti
