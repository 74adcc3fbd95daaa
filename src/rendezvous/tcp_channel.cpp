#include "runtime/asio.hpp"
#include "rendezvous/tcp_channel.hpp"

#include "base/descriptors.hpp"
#include "base/quiet_thread.hpp"
#include "rendezvous/bell.hpp"
#include "rendezvous/frame_socket.hpp"

#include <tutti/sleep.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <unordered_map>

namespace tutti {
namespace {

using asio::ip::tcp;
using namespace std::chrono_literals;

constexpr duration first_pause = 10ms, longest_pause = 1s;

/// One try to resolve and connect. Shared with Asio's handlers, which may outlive the task.
class attempt final : public std::enable_shared_from_this<attempt> {
public:
    attempt(event_loop& loop, bell& ended) : socket(executor_of(loop)), resolver_(executor_of(loop)), ended_(&ended) {}

    void start(const std::string& host, std::uint16_t port) {
        boost::system::error_code named;
        const asio::ip::address address = asio::ip::make_address(host, named);
        // Only a name needs the resolver and its thread.
        if (!named) return connect(tcp::resolver::results_type::create(tcp::endpoint(address, port), host, ""));
        const signals_blocked in_the_thread_it_starts;
        resolver_.async_resolve(host, std::to_string(port), tcp::resolver::numeric_service,
                                [self = shared_from_this()](boost::system::error_code wrong, const tcp::resolver::results_type& found) {
                                    if (wrong || self->ended_ == nullptr) return self->finish(wrong);
                                    self->connect(found);
                                });
    }
    /// Nobody waits any more. What is under way ends by itself.
    void leave() noexcept {
        ended_ = nullptr;
        resolver_.cancel();
        boost::system::error_code ignored;
        if (error) socket.close(ignored);
    }

    tcp::socket socket;
    boost::system::error_code error = asio::error::would_block;  // until it has ended

private:
    void connect(const tcp::resolver::results_type& found) {
        // A socket that cannot be opened would be told as one that was closed meanwhile.
        boost::system::error_code lacks;
        if (!found.empty() && socket.open(found.begin()->endpoint().protocol(), lacks)) return finish(lacks);
        asio::async_connect(socket, found,
                            [self = shared_from_this()](boost::system::error_code wrong, const tcp::endpoint&) { self->finish(wrong); });
    }
    void finish(const boost::system::error_code& wrong) {
        error = wrong;
        if (ended_ != nullptr) ended_->ring();
    }

    tcp::resolver resolver_;
    bell* ended_;  // null when nobody waits
};

/// The socket, or why not. The bell and the attempt part before either goes.
task<result<tcp::socket>> connect_once(std::string host, std::uint16_t port, time_point deadline) {
    event_loop& loop = co_await this_loop;
    bell ended(deadline);
    const auto trying = std::make_shared<attempt>(loop, ended);
    struct parting {
        explicit parting(attempt& from) : from_(from) {}
        ~parting() { from_.leave(); }
        attempt& from_;
    } const part(*trying);
    trying->start(host, port);
    const bool rung = co_await ended;
    if (!rung) co_return failure(error::timed_out, "no answer to the connection request");
    if (out_of_descriptors(trying->error)) {
        report why;
        why.code = trying->error;
        co_return failure(std::move(why));
    }
    if (trying->error) co_return failure(error::system, trying->error.message());
    co_return std::move(trying->socket);
}

class tcp_channel final : public request_channel, private frame_listener {
public:
    tcp_channel(tcp::socket socket, std::string name)
        : socket_(std::make_shared<frame_socket>(std::move(socket), static_cast<frame_listener&>(*this))),
          name_(std::move(name)) {}
    ~tcp_channel() override { socket_->close(); }

    task<result<>> greet(std::string hello, time_point deadline) {
        pending answer(*this, 0, deadline);
        socket_->send(std::string(protocol::mark));
        socket_->send(std::move(hello));
        socket_->start(0, protocol::max_frame_bytes);
        const bool rung = co_await answer.arrived;
        if (!rung) co_return failure(error::timed_out, "the connection was taken but nobody answered on it");
        if (!answer.answered) co_return failure(error::protocol_error, ended_);
        if (answer.reply.refused) co_return failure(error::refused, answer.reply.value);
        co_return result<>();
    }

    task<result<store_reply>> ask(store_request request, time_point deadline) override {
        if (!ended_.empty()) co_return gone();
        pending answer(*this, ++last_id_, deadline);
        const bool waits = request.op == store_op::get;
        socket_->send(protocol::frame(answer.id, request));
        if (waits) answer.forget_remote = true;
        const bool rung = co_await answer.arrived;
        answer.forget_remote = answer.forget_remote && !rung;
        if (!rung) co_return failure(error::timed_out, "");
        if (!answer.answered) co_return gone();
        co_return std::move(answer.reply);
    }

    task<result<>> close(time_point) override {
        ended_ = "the connection was closed";
        socket_->close();
        co_return result<>();
    }
    std::string name() const override { return name_; }

private:
    /// A question under way; known to the channel while it lives.
    struct pending {
        pending(tcp_channel& from, std::uint64_t number, time_point deadline) : channel(from), id(number), arrived(deadline) {
            channel.pending_.emplace(id, this);
        }
        ~pending() {
            channel.pending_.erase(id);
            if (forget_remote && channel.ended_.empty()) channel.forget(id);
        }
        tcp_channel& channel;
        std::uint64_t id;
        bell arrived;
        store_reply reply;
        bool answered = false;
        bool forget_remote = false;
    };

    void forget(std::uint64_t id) {
        store_request request(store_op::forget, "");
        request.delta = static_cast<std::int64_t>(id);
        socket_->send(protocol::frame(++last_id_, request));
    }

    void arrived(std::string_view body) override {
        std::optional<protocol::numbered_reply> told = protocol::parse_reply(body);
        if (!told) {
            socket_->close();
            return ended("it sent what no store sends");
        }
        const auto found = pending_.find(told->id);
        if (found == pending_.end()) return;  // the answer to a get that came too late
        found->second->reply = std::move(told->reply);
        found->second->answered = true;
        found->second->arrived.ring();
    }
    void ended(const std::string& why) override {
        ended_ = why;
        for (const auto& [id, question] : pending_) question->arrived.ring();
    }

    failure gone() const {
        report what;
        what.code = make_error_code(error::peer_died);
        what.peers = {0};
        what.cause = fmt::format("{} (rank 0) is gone: {}", name_, ended_);
        return failure(std::move(what));
    }

    std::shared_ptr<frame_socket> socket_;
    std::string name_;
    std::string ended_;  // why the connection is no more
    std::uint64_t last_id_ = 0;
    std::unordered_map<std::uint64_t, pending*> pending_;
};

task<result<std::unique_ptr<request_channel>>> try_store(std::string host, std::uint16_t port, std::string name, std::string hello,
                                                         time_point deadline) {
    result<tcp::socket> socket = co_await connect_once(host, port, deadline);
    if (!socket) co_return socket.failure();
    auto channel = std::make_unique<tcp_channel>(std::move(*socket), std::move(name));
    result<> greeted = co_await channel->greet(std::move(hello), deadline);
    if (!greeted) co_return greeted.failure();
    std::unique_ptr<request_channel> ready = std::move(channel);
    co_return std::move(ready);
}

/// So that a thousand ranks whose server comes late do not all knock at the same moment.
duration jittered(duration pause, std::minstd_rand& random) {
    return pause / 2 + duration(std::uniform_int_distribution<duration::rep>(0, pause.count() / 2)(random));
}

}  // namespace

task<result<std::unique_ptr<request_channel>>> connect_store(std::string host, std::uint16_t port, const protocol::hello& who,
                                                             time_point deadline) {
    event_loop& loop = co_await this_loop;
    const time_point begin = loop.now();
    const std::string name = fmt::format("store at {}:{}", host, port), hello = protocol::frame(who);
    std::minstd_rand random(static_cast<unsigned>(who.me + 1));
    std::string obstacle;
    for (duration pause = first_pause;; pause = std::min(2 * pause, longest_pause)) {
        result<std::unique_ptr<request_channel>> ready = co_await try_store(host, port, name, hello, deadline);
        if (ready) co_return ready;
        const failure& why = ready.failure();
        obstacle = why.details().cause;
        if (out_of_descriptors(why.code()))
            co_return failure(error::system, fmt::format("rank {} has {}", who.me, no_descriptor_left(fmt::format("the {}", name), why.code())));
        if (why.code() == error::refused) co_return failure(error::refused, fmt::format("the {} refused: {}", name, obstacle));
        if (loop.now() >= deadline) break;
        co_await sleep_until(std::min(loop.now() + jittered(pause, random), deadline));
        if (loop.now() >= deadline) break;
    }
    const double seconds = std::chrono::duration<double>(loop.now() - begin).count();
    co_return failure(error::rendezvous_timeout, fmt::format("the {} was not reached within {:.3g} s: {}", name, seconds, obstacle));
}

}  // namespace tutti
