#include "transport/shm_transport.hpp"

#include "base/descriptors.hpp"
#include "transport/shm_link.hpp"

#include <fmt/format.h>

#include <random>

namespace tutti {

result<std::unique_ptr<shm_transport>> shm_transport::listen(event_loop& loop, std::shared_ptr<arena> mine, int played) {
    auto host = host_identity(played);
    if (!host) return host.failure();
    std::string name;
    auto file = listen_locally(name);
    if (!file) return file.failure();
    local_protocol::acceptor acceptor(io_of(loop));
    boost::system::error_code code;
    if (acceptor.assign(local_protocol(), file->number(), code)) return failure(error::system, code.message());
    file->release();
    acceptor.non_blocking(true, code);
    return std::unique_ptr<shm_transport>(
        new shm_transport(loop, fmt::format("{}{}/", shm_scheme, *host), std::move(name), std::move(acceptor), std::move(mine)));
}

shm_transport::shm_transport(event_loop& loop, std::string here, std::string name, local_protocol::acceptor acceptor,
                             std::shared_ptr<arena> mine)
    : loop_(loop),
      here_(std::move(here)),
      address_(here_ + name),
      mine_(std::move(mine)),
      door_(loop, std::move(acceptor),
            [this](event_loop& on, local_protocol::socket came) { return accept_shm_link(on, std::move(came), mine_); }),
      entrance_(loop, {&door_}) {}

result<std::unique_ptr<link>> shm_transport::try_connect(const std::string& address) {
    auto connected = connect_locally(std::string_view(address).substr(here_.size()));
    if (!connected) return connected.failure();
    return open_shm_link(loop_, std::move(*connected), address, mine_);
}

task<result<std::unique_ptr<link>>> shm_transport::connect(std::string address, time_point deadline) {
    if (!reaches(address))
        co_return failure(error::invalid_argument, fmt::format("\"{}\" shares no memory with this host, {}", address, here_));
    connect_retry tries{loop_, connecting_, address, deadline, std::random_device{}()};
    while (tries.open()) {
        auto made = try_connect(address);
        if (made) co_return std::move(*made);
        if (out_of_descriptors(made.failure().code())) co_return made;
        co_await tries.again(made.failure().details().cause, made.failure().code() == error::refused);
    }
    co_return tries.why();
}

task<result<std::unique_ptr<link>>> shm_transport::queue_up(std::string address, time_point deadline) {
    connect_retry tries{loop_, connecting_, address, deadline, std::random_device{}()};
    while (tries.open()) {
        auto made = try_connect(address);
        if (made || made.failure().code() != std::errc::resource_unavailable_try_again) co_return made;
        co_await tries.again(made.failure().details().cause, false);
    }
    co_return tries.why();
}

void shm_transport::close() noexcept {
    connecting_.close();
    entrance_.close();
}

}  // namespace tutti
