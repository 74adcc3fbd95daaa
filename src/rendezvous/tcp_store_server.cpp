#include "rendezvous/tcp_store_server.hpp"

#include "base/close_on_exec.hpp"
#include "base/descriptors.hpp"
#include "rendezvous/address.hpp"
#include "rendezvous/dropout.hpp"
#include "rendezvous/timed_event.hpp"
#include "runtime/connecting.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <poll.h>

#include <algorithm>
#include <map>

namespace tutti {

using asio::ip::tcp;

/// The listening socket; shared with the handler Asio holds. After an error (no more files, say) it pauses before it tries again.
class tcp_store_server::listener final : public std::enable_shared_from_this<listener> {
public:
    static constexpr std::chrono::milliseconds pause{50};

    explicit listener(tcp_store_server& owner) : socket(io_of(owner.loop_)), owner_(&owner), loop_(owner.loop_) {}

    void accept() noexcept {
        socket.async_accept([self = shared_from_this()](boost::system::error_code error, tcp::socket fresh) {
            if (self->owner_ == nullptr) return;
            self->owner_->look_for_lack(error, self->socket.native_handle());
            if (error) return self->loop_.start_timer(self->again_, self->loop_.now() + pause);
            self->owner_->accepted(std::move(fresh));
            self->accept();
        });
    }
    void close() noexcept {
        owner_ = nullptr;
        loop_.stop_timer(again_);
        boost::system::error_code ignored;
        socket.close(ignored);
    }

    tcp::acceptor socket;

private:
    tcp_store_server* owner_;  // null once closed
    event_loop& loop_;
    detail::alarm<&listener::accept> again_{*this};
};

namespace {

failure cannot_listen(const std::string& where, const boost::system::error_code& error) {
    if (out_of_descriptors(error)) {
        report why;
        why.code = error;
        return failure(std::move(why));
    }
    return failure(tutti::error::system, fmt::format("cannot keep the store at {}: {}", where, error.message()));
}

void listen_at(tcp::acceptor& socket, const tcp::endpoint& where, boost::system::error_code& error) {
    error = open_unshared(socket, where.protocol());
    // Another run's closed connections may linger on the port; another run's listener still keeps us out.
    if (!error) socket.set_option(tcp::acceptor::reuse_address(true), error);
    if (const int no = 0; !error && where.address().is_v6())
        ::setsockopt(socket.native_handle(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    if (!error) socket.bind(where, error);
    if (!error) socket.listen(tcp::acceptor::max_listen_connections, error);
}

/// Listens on all addresses: IPv6 and IPv4 together, or IPv4 alone where the host has no IPv6.
void listen_to_all(tcp::acceptor& socket, std::uint16_t port, boost::system::error_code& error) {
    listen_at(socket, {tcp::v6(), port}, error);
    if (error != asio::error::address_family_not_supported && error != boost::system::errc::address_not_available) return;
    boost::system::error_code ignored;
    socket.close(ignored);
    listen_at(socket, {tcp::v4(), port}, error);
}

}  // namespace

result<std::unique_ptr<tcp_store_server>> tcp_store_server::listen(event_loop& loop, memory_table& table, const protocol::hello& job,
                                                                   const std::string& address, std::uint16_t port) {
    std::unique_ptr<tcp_store_server> server(new tcp_store_server(loop, table, job));
    auto listening = std::make_shared<listener>(*server);
    boost::system::error_code error;
    if (address.empty()) {
        listen_to_all(listening->socket, port, error);
    } else {
        const tcp::endpoint endpoint(asio::ip::make_address(address, error), port);
        if (!error) listen_at(listening->socket, endpoint, error);
    }
    if (error) return cannot_listen(place_of(address, port), error);
    if (result<> begun = server->begin(std::move(listening)); !begun) return begun.failure();
    return server;
}

result<std::unique_ptr<tcp_store_server>> tcp_store_server::adopt(event_loop& loop, memory_table& table, const protocol::hello& job,
                                                                  int descriptor) {
    const std::string where = fmt::format("inherited descriptor {}", descriptor);
    sockaddr_storage about{};
    socklen_t size = sizeof about;
    int listens = 0;
    socklen_t listens_size = sizeof listens;
    boost::system::error_code error;
    if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&about), &size) != 0 ||
        ::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size) != 0)
        error.assign(errno, boost::system::system_category());
    else if (listens == 0 || (about.ss_family != AF_INET && about.ss_family != AF_INET6)) error = asio::error::invalid_argument;
    if (error) return cannot_listen(where, error);
    std::unique_ptr<tcp_store_server> server(new tcp_store_server(loop, table, job));
    auto listening = std::make_shared<listener>(*server);
    listening->socket.assign(about.ss_family == AF_INET ? tcp::v4() : tcp::v6(), descriptor, error);
    if (error) return cannot_listen(where, error);
    if (result<> begun = server->begin(std::move(listening)); !begun) return begun.failure();
    return server;
}

result<> tcp_store_server::begin(std::shared_ptr<listener> listening) {
    boost::system::error_code error;
    const tcp::endpoint bound = listening->socket.local_endpoint(error);
    if (error) return cannot_listen("its own address", error);
    close_on_exec(listening->socket.native_handle());
    port_ = bound.port();
    address_ = place_of(bound.address().is_unspecified() ? "" : bound.address().to_string(), port_);
    listener_ = std::move(listening);
    listener_->accept();
    return {};
}

tcp_store_server::~tcp_store_server() {
    if (listener_) listener_->close();
}

void tcp_store_server::accepted(tcp::socket socket) {
    const auto unproven = [](const auto& one) { return one->peer() < 0; };
    if (static_cast<std::size_t>(std::count_if(connections_.begin(), connections_.end(), unproven)) >= max_unproven)
        connections_.erase(std::find_if(connections_.begin(), connections_.end(), unproven));
    connections_.push_back(
        std::make_unique<store_connection>(static_cast<connection_owner&>(*this), loop_, table_.inner(), std::move(socket)));
}

/// The system reports a lack of descriptors even if no connection waits to be accepted.
void tcp_store_server::look_for_lack(const std::error_code& why, int door) {
    pollfd somebody{door, POLLIN, 0};
    if (!out_of_descriptors(why) || ::poll(&somebody, 1, 0) == 0) {
        lacks_since_ = no_deadline;
        return;
    }
    lacks_since_ = std::min(lacks_since_, loop_.now());
    if (loop_.now() - lacks_since_ < std::chrono::seconds(1)) return;
    lack_ = why;
    lacks_.set();
}

task<std::error_code> tcp_store_server::lack() {
    co_await lacks_.wait();
    co_return lack_;
}

std::string tcp_store_server::judge(const protocol::hello& who) {
    if (who.job != job_.job || who.epoch != job_.epoch)
        return fmt::format("this is the store of job '{}' (start {}), not of job '{}' (start {})", job_.job, job_.epoch, who.job,
                           who.epoch);
    if (who.size != job_.size) return fmt::format("rank 0 was told of {} ranks, rank {} of {}", job_.size, who.me, who.size);
    if (who.me <= 0 || who.me >= job_.size) return fmt::format("there is no rank {} among the {} that may come here", who.me, job_.size);
    const auto same = std::find_if(connections_.begin(), connections_.end(), [&who](const auto& one) { return one->peer() == who.me; });
    if (same != connections_.end() && (*same)->ticket() != who.ticket) return fmt::format("rank {} is here already", who.me);
    if (same != connections_.end()) connections_.erase(same);  // it has given that connection up
    seen_[static_cast<std::size_t>(who.me)] = true;
    return "";
}

/// Only the first dropout counts: later ones may be its consequences.
void tcp_store_server::lost(rank who, const std::string& why) noexcept {
    report what;
    what.code = make_error_code(error::peer_died);
    what.root = who;
    what.peers = {who};
    what.cause =
        fmt::format("rank {} died while the ranks were joining: its connection to the store ended without a goodbye ({})", who, why);
    world all;
    all.job = job_.job;
    all.epoch = job_.epoch;
    store_request told(store_op::compare_set, fmt::format("{}/{}", store_prefix(all), dropout_key));
    told.value = write_dropout(what);
    table_.inner().apply(told);
}

void tcp_store_server::remove(store_connection& gone) noexcept {
    std::erase_if(connections_, [&gone](const auto& one) { return one.get() == &gone; });
    if (gone_ != nullptr && awaited().empty()) gone_->set();
}

std::string tcp_store_server::reached_at() const {
    std::map<std::string, int> clients;
    std::string most;
    int best = 0;
    for (const auto& one : connections_) {
        const std::string& here = one->local_address();
        boost::system::error_code error;
        const auto number = asio::ip::make_address(here, error);
        if (one->peer() <= 0 || error) continue;
        const int count = ++clients[here] - (number.is_loopback() ? job_.size : 0);  // the last choice: it is of use on this host only
        if (most.empty() || count > best) most = here, best = count;
    }
    return most;
}

/// Returns the ranks that have not been here, or have not left.
std::vector<rank> tcp_store_server::awaited() const {
    std::vector<bool> waits(seen_);
    waits.flip();
    for (const auto& one : connections_)
        if (one->peer() > 0) waits[static_cast<std::size_t>(one->peer())] = true;
    std::vector<rank> all;
    for (rank other = 1; other < job_.size; ++other)
        if (waits[static_cast<std::size_t>(other)]) all.push_back(other);
    return all;
}

task<result<>> tcp_store_server::all_gone(time_point deadline) {
    timed_event gone(deadline);
    if (awaited().empty()) co_return result<>();
    struct registration {
        registration(timed_event*& where, timed_event& which) : where_(where) { where_ = &which; }
        ~registration() { where_ = nullptr; }
        timed_event*& where_;
    } const registered(gone_, gone);
    const bool came = co_await gone;
    if (came) co_return result<>();
    report what;
    what.code = make_error_code(error::timed_out);
    what.peers = awaited();
    constexpr std::size_t most_named = 16;
    const bool many = what.peers.size() > most_named;
    const auto last = what.peers.begin() + static_cast<std::ptrdiff_t>(std::min(what.peers.size(), most_named));
    what.cause = fmt::format("the store at {} was not left by rank {}{} in time", address_, fmt::join(what.peers.begin(), last, ", "),
                             many ? ", ..." : "");
    co_return failure(std::move(what));
}

}  // namespace tutti
