// Opens the store of a job, from the variables of its launcher: a file, a server at rank 0, or a connection to that server.
#include "base/descriptors.hpp"
#include "rendezvous/address.hpp"
#include "rendezvous/channel.hpp"
#include "rendezvous/key_table.hpp"
#include "rendezvous/tcp_channel.hpp"
#include "rendezvous/tcp_store_server.hpp"

#include <tutti/sleep.hpp>
#include <tutti/when_all.hpp>

#include <fmt/format.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>

namespace tutti {
namespace {

/// Rank 0: keeps the keys, and a server for the other ranks.
class channel_of_host final : public request_channel {
public:
    channel_of_host(std::unique_ptr<memory_table> table, std::unique_ptr<tcp_store_server> server)
        : table_(std::move(table)),
          server_(std::move(server)),
          own_(memory_channel(table_->inner())) {}

    task<result<store_reply>> ask(store_request request, time_point deadline) override {
        if (!server_ || request.op != store_op::get) return own_->ask(std::move(request), deadline);
        return wait_for_others(std::move(request), deadline);
    }
    task<result<>> close(time_point deadline) override {
        if (server_) {
            result<> gone = co_await server_->all_gone(deadline);
            server_.reset();
            co_return gone;
        }
        co_return result<>();
    }
    std::string name() const override { return server_ ? "store at " + server_->address() : "store in memory"; }
    std::string local_address() const override { return server_ ? server_->reached_at() : ""; }

private:
    /// The rank that would set the key may wait for its connection, for which there is no descriptor: get() then fails instead of waiting.
    task<result<store_reply>> wait_for_others(store_request request, time_point deadline) {
        auto either = when_any(own_->ask(std::move(request), deadline), server_->lack());
        auto first = co_await std::move(either);
        if (first.index() == 0) co_return std::get<0>(std::move(first));
        report why;
        why.code = std::get<1>(first);
        co_return failure(std::move(why));
    }

    std::unique_ptr<memory_table> table_;
    std::unique_ptr<tcp_store_server> server_;  // null for a job of one rank
    std::unique_ptr<request_channel> own_;
};

protocol::hello hello_of(const world& all) {
    protocol::hello who;
    who.job = all.job;
    who.epoch = all.epoch;
    who.me = all.me;
    who.size = all.size;
    return who;
}

failure about_opening(const world& all, const failure& why) {
    report what = why.details();
    if (out_of_descriptors(what.code)) {
        what.cause = fmt::format("rank {} has {}", all.me, no_descriptor_left("the store", what.code));
        what.code = error::system;
    }
    what.operation = "opening the store";
    what.local = all.me;
    return failure(std::move(what));
}

std::unique_ptr<store> ready(const world& all, std::unique_ptr<request_channel> channel) {
    return prefixed(asking_store(std::move(channel), all.me), store_prefix(all));
}

bool listens_at(int descriptor, std::uint16_t port) noexcept {
    sockaddr_in6 bound{};  // long enough for IPv4, whose port is at the same place
    socklen_t size = sizeof bound, listens_size = sizeof(int);
    int listens = 0;
    return ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &size) == 0 && ntohs(bound.sin6_port) == port &&
           ::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size) == 0 && listens != 0;
}

/// Returns whether the launcher's socket is there. A store closes it at its end, so a second join opens its own listener there.
bool inherits_socket(const world& all) noexcept {
    static std::atomic<int> last{-1};
    if (all.store_descriptor < 0) return false;
    const bool used = last.exchange(all.store_descriptor) == all.store_descriptor;
    return !used || listens_at(all.store_descriptor, all.master_port);
}

result<std::unique_ptr<store>> host_store(event_loop& loop, const world& all) {
    auto table = std::make_unique<memory_table>();
    std::unique_ptr<tcp_store_server> server;
    if (all.size > 1) {
        const protocol::hello job = hello_of(all);
        const bool inherits = inherits_socket(all);
        result<std::unique_ptr<tcp_store_server>> listening =
            inherits ? tcp_store_server::adopt(loop, *table, job, all.store_descriptor)
                     : tcp_store_server::listen(loop, *table, job, store_bind_address(all), all.master_port);
        if (!listening) return about_opening(all, listening.failure());
        server = std::move(*listening);
    }
    return ready(all, std::make_unique<channel_of_host>(std::move(table), std::move(server)));
}

}  // namespace

task<result<std::unique_ptr<store>>> open_store(const world& all, time_point deadline) {
    event_loop& loop = co_await this_loop;
    if (all.job.size() > protocol::max_job_bytes)
        co_return about_opening(all, failure(error::bad_launch, fmt::format("the job's name has {} bytes, more than {}", all.job.size(),
                                                                            protocol::max_job_bytes)));
    if (!all.store_path.empty()) {
        result<std::unique_ptr<request_channel>> file = file_channel(all.store_path);
        if (!file) co_return about_opening(all, file.failure());
        co_return ready(all, std::move(*file));
    }
    if (all.size > 1 && (all.master_address.empty() || all.master_port == 0))
        co_return about_opening(all,
                                failure(error::bad_launch, fmt::format("{} does not tell where rank 0 is: set MASTER_ADDR and MASTER_PORT "
                                                                       "(or, on one host, TUTTI_STORE=file:PATH)",
                                                                       all.source)));
    if (all.size > 1 && names_loopback(all.master_address) && on_several_hosts(all))
        co_return about_opening(
            all, failure(error::bad_launch, fmt::format("MASTER_ADDR={} means this host on every host, and {} says that only {} "
                                                        "of {} ranks are on this one: name the host of rank 0",
                                                        all.master_address, all.source, all.local_size, all.size)));
    if (all.me == 0) co_return host_store(loop, all);
    const protocol::hello who = hello_of(all);
    result<std::unique_ptr<request_channel>> channel = co_await connect_store(store_host(all), all.master_port, who, deadline);
    if (!channel) co_return about_opening(all, channel.failure());
    co_return ready(all, std::move(*channel));
}

}  // namespace tutti
