#include "runtime/name_question.hpp"

#include "base/quiet_thread.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

namespace tutti {
namespace {

using asio::ip::tcp;

/// Returns the endpoints in the order of the system.
std::vector<tcp::endpoint> endpoints_in(const addrinfo* all) {
    std::vector<tcp::endpoint> found;
    for (const addrinfo* each = all; each; each = each->ai_next) {
        tcp::endpoint one;
        if (each->ai_addrlen > one.capacity()) continue;
        one.resize(each->ai_addrlen);
        std::memcpy(one.data(), each->ai_addr, each->ai_addrlen);
        found.push_back(one);
    }
    return found;
}

}  // namespace

struct name_question::address_of_asker {
    std::mutex guard;
    name_question* where;  // null when it does not listen any more
};

name_question::name_question(event_loop& loop, const std::string& host, std::uint16_t port, detail::runnable& answered)
    : loop_(loop),
      answered_(answered),
      asker_(std::make_shared<address_of_asker>()) {
    asker_->where = this;
    quiet_thread([asker = asker_, host, service = std::to_string(port)] {
        addrinfo wanted{};
        wanted.ai_socktype = SOCK_STREAM;
        wanted.ai_flags = AI_NUMERICSERV;
        addrinfo* all = nullptr;
        const int code = ::getaddrinfo(host.c_str(), service.c_str(), &wanted, &all);
        const std::error_code of_system = code == EAI_SYSTEM ? std::error_code(errno, std::system_category()) : std::error_code();
        std::string reason = of_system ? of_system.message() : code != 0 ? ::gai_strerror(code) : std::string();
        std::vector<tcp::endpoint> found = endpoints_in(all);
        if (all) ::freeaddrinfo(all);
        const std::lock_guard lock(asker->guard);
        if (asker->where) asker->where->hear(std::move(found), std::move(reason), of_system);
    }).detach();
}

name_question::~name_question() {
    {
        const std::lock_guard lock(asker_->guard);
        asker_->where = nullptr;
    }
    loop_.withdraw(*this);
}

void name_question::hear(std::vector<tcp::endpoint> found, std::string reason, std::error_code code) {
    found_ = std::move(found);
    reason_ = std::move(reason);
    code_ = code;
    loop_.post(*this);
}

}  // namespace tutti
