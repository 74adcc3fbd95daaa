#include "rendezvous/tcp_channel.hpp"
#include "runtime/asio.hpp"

#include "base/descriptors.hpp"
#include "rendezvous/address.hpp"
#include "rendezvous/dial.hpp"
#include "rendezvous/frame_socket.hpp"
#include "rendezvous/timed_event.hpp"
#include "runtime/connecting.hpp"

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

class tcp_channel final : public request_channel, private frame_listener {
public:
    tcp_channel(tcp::socket socket, std::string name)
        : local_address_(local_address_of(socket)),
          socket_(std::make_shared<frame_socket>(std::move(socket), static_cast<frame_listener&>(*this))),
          name_(std::move(name)) {}
    ~tcp_channel() override {
        leave();
        socket_->close();
    }

    task<result<>> greet(std::string hello, time_point deadline) {
        pending answer(*this, 0, deadline);
        socket_->send(std::string(protocol::mark));
        socket_->send(std::move(hello));
        socket_->start(0, protocol::max_frame_bytes);
        const bool came = co_await answer.arrived;
        if (!came) co_return failure(error::timed_out, "the connection was taken but nobody answered on it");
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
        const bool came = co_await answer.arrived;
        answer.forget_remote = answer.forget_remote && !came;
        if (!came) co_return failure(error::timed_out, "");
        if (!answer.answered) co_return gone();
        co_return std::move(answer.reply);
    }

    task<result<>> close(time_point deadline) override {
        event_loop& loop = co_await this_loop;
        leave();
        // The process, and its loop before that, may end right after this.
        while (ended_.empty() && !socket_->flushed() && loop.now() < deadline) co_await sleep_for(1ms);
        ended_ = "the connection was closed";
        socket_->close();
        co_return result<>();
    }
    std::string name() const override { return name_; }
    std::string local_address() const override { return local_address_; }

private:
    /// A request under way; it is in the channel's list while it lives.
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
        timed_event arrived;
        store_reply reply;
        bool answered = false;
        bool forget_remote = false;
    };

    /// Says leave: a connection that ends without it counts as the death of this process.
    void leave() {
        if (ended_.empty()) socket_->send(protocol::frame(++last_id_, store_request(store_op::leave, "")));
    }

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
        found->second->arrived.set();
    }
    void ended(const std::string& why) override {
        ended_ = why;
        for (const auto& [id, question] : pending_) question->arrived.set();
    }

    failure gone() const {
        report what;
        what.code = make_error_code(error::peer_died);
        what.peers = {0};
        what.cause = fmt::format("{} (rank 0) is gone: {}", name_, ended_);
        return failure(std::move(what));
    }

    const std::string local_address_;
    std::shared_ptr<frame_socket> socket_;
    std::string name_;
    std::string ended_;  // why the connection is no more
    std::uint64_t last_id_ = 0;
    std::unordered_map<std::uint64_t, pending*> pending_;
};

/// The common part of all connect retries.
struct search {
    std::string host;
    std::uint16_t port;
    std::string name;
    std::string hello;
    time_point deadline;
    store_patience each;
};

task<result<std::unique_ptr<request_channel>>> try_address(const search& what, tcp::endpoint where) {
    event_loop& loop = co_await this_loop;
    result<tcp::socket> socket = co_await dial(where, std::min(what.deadline, later(loop.now(), what.each.connect)));
    if (!socket) co_return socket.failure();
    auto channel = std::make_unique<tcp_channel>(std::move(*socket), what.name);
    result<> greeted = co_await channel->greet(what.hello, std::min(what.deadline, later(loop.now(), what.each.answer)));
    if (!greeted) co_return greeted.failure();
    std::unique_ptr<request_channel> ready = std::move(channel);
    co_return std::move(ready);
}

/// Tries the addresses one after the other. If none is the store's, the failure says why for each; error::invalid_argument if that is
/// final.
task<result<std::unique_ptr<request_channel>>> try_all(const search& what, name_service& names) {
    event_loop& loop = co_await this_loop;
    result<std::vector<tcp::endpoint>> found = co_await names.look_up(what.host, what.port, what.deadline);
    if (!found) co_return found.failure();
    bool final = !found->empty();
    std::string obstacles;
    for (const tcp::endpoint& where : *found) {
        result<std::unique_ptr<request_channel>> ready = co_await try_address(what, where);
        if (ready || ready.failure().code() == error::refused || out_of_descriptors(ready.failure().code())) co_return ready;
        final = final && ready.failure().code() == error::invalid_argument;
        const std::string address = where.address().to_string();
        const std::string which = found->size() > 1 || address != what.host ? address + ": " : "";
        obstacles += fmt::format("{}{}{}", obstacles.empty() ? "" : "; ", which, ready.failure().details().cause);
        if (loop.now() >= what.deadline) break;
    }
    co_return failure(final ? error::invalid_argument : error::system, obstacles.empty() ? "it has no address" : obstacles);
}

/// Spreads the retries of a thousand ranks whose server comes late.
duration jittered(duration pause, std::minstd_rand& random) {
    return pause / 2 + duration(std::uniform_int_distribution<duration::rep>(0, pause.count() / 2)(random));
}

}  // namespace

const store_patience usual_patience{connect_try_limit, 10s};

task<result<std::unique_ptr<request_channel>>> connect_store(std::string host, std::uint16_t port, protocol::hello who,
                                                             time_point deadline) {
    system_names names;
    auto connecting = connect_store(std::move(host), port, std::move(who), deadline, names, usual_patience);
    co_return co_await std::move(connecting);
}

task<result<std::unique_ptr<request_channel>>> connect_store(std::string host, std::uint16_t port, protocol::hello who, time_point deadline,
                                                             name_service& names, store_patience each) {
    event_loop& loop = co_await this_loop;
    const time_point begin = loop.now();
    const std::string name = "store at " + place_of(host, port);
    who.ticket = std::random_device{}();
    const search what{host, port, name, protocol::frame(who), deadline, each};
    std::minstd_rand random(static_cast<unsigned>(who.me + 1));
    std::string obstacle;
    for (duration pause = first_pause;; pause = std::min(2 * pause, longest_pause)) {
        result<std::unique_ptr<request_channel>> ready = co_await try_all(what, names);
        if (ready) co_return ready;
        const failure& why = ready.failure();
        obstacle = why.details().cause;
        if (out_of_descriptors(why.code()))
            co_return failure(error::system, fmt::format("rank {} has {}", who.me, no_descriptor_left(fmt::format("the {}", name), why.code())));
        if (why.code() == error::refused) co_return failure(error::refused, fmt::format("the {} refused: {}", name, obstacle));
        if (why.code() == error::invalid_argument)
            co_return failure(error::bad_launch, fmt::format("there is no way to the {}: {}", name, obstacle));
        if (loop.now() >= deadline) break;
        co_await sleep_until(std::min(loop.now() + jittered(pause, random), deadline));
        if (loop.now() >= deadline) break;
    }
    const double seconds = std::chrono::duration<double>(loop.now() - begin).count();
    report why;
    why.code = make_error_code(error::rendezvous_timeout);
    why.peers = {0};
    why.cause = fmt::format("the {} was not reached within {:.3g} s: {}", name, seconds, obstacle);
    co_return failure(std::move(why));
}

}  // namespace tutti
