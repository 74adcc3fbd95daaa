#include "transport/memory_transport.hpp"

#include "transport/memory_link.hpp"

namespace tutti {

memory_transport::memory_transport(event_loop& loop, memory_network& network)
    : loop_(loop),
      network_(network),
      accepting_(loop),
      address_(network.board().open(accepting_)) {}

task<result<std::unique_ptr<link>>> memory_transport::connect(std::string address, time_point deadline) {
    connect_retry tries{loop_, connecting_, address, deadline, 0};
    while (tries.open()) {
        std::unique_ptr<link> mine;
        auto reason = open_link(address, mine);
        if (reason.empty()) co_return mine;
        co_await tries.again(std::move(reason), true);
    }
    co_return tries.why();
}

std::string memory_transport::open_link(const std::string& address, std::unique_ptr<link>& mine) {
    return network_.board().offer(address, [&](event_loop& their_loop) {
        auto [near, far] = make_memory_links({loop_, address_}, {their_loop, address}, network_.capacity_bytes());
        mine = std::move(near);
        return std::move(far);
    });
}

void memory_transport::close() noexcept {
    network_.board().close(address_);
    accepting_.close();
    connecting_.close();
}

}  // namespace tutti
