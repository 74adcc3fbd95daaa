#include "transport/local_socket.hpp"

#include "base/refused_by_system.hpp"

#include <fmt/format.h>

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>

namespace tutti {
namespace {

constexpr int backlog = 512;  // connections that wait to be accepted

/// An address whose name begins with a zero byte, and is therefore in no file system.
struct abstract_address {
    explicit abstract_address(std::string_view name) noexcept {
        where.sun_family = AF_UNIX;
        const std::size_t length = std::min(name.size(), sizeof where.sun_path - 1);
        std::memcpy(where.sun_path + 1, name.data(), length);
        bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
    }
    const sockaddr* address() const noexcept { return reinterpret_cast<const sockaddr*>(&where); }
    sockaddr_un where{};
    socklen_t bytes = 0;
};

result<file_descriptor> new_socket() {
    file_descriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made) return refused_by_system("no local socket");
    return made;
}

bool credentials_at(int handle, ucred& who) noexcept {
    socklen_t bytes = sizeof who;
    return ::getsockopt(handle, SOL_SOCKET, SO_PEERCRED, &who, &bytes) == 0;
}

}  // namespace

result<std::string> host_identity(int played) {
    std::string boot;
    errno = 0;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    char network[64];
    const auto length = ::readlink("/proc/self/ns/net", network, sizeof network);
    if (boot.empty() || length <= 0) {
        if (errno == EMFILE || errno == ENFILE) return refused_by_system("/proc does not say which host this is");
        return failure(error::system, "/proc does not say which host this is");
    }
    const std::string_view space(network, static_cast<std::size_t>(length));
    return played == 0 ? fmt::format("{}.{}", boot, space) : fmt::format("{}.{}.{}", boot, space, played);
}

result<file_descriptor> listen_locally(std::string& name) {
    std::random_device random;
    name = fmt::format("tutti-{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
    auto made = new_socket();
    if (!made) return made;
    const abstract_address here(name);
    if (::bind(made->number(), here.address(), here.bytes) != 0 || ::listen(made->number(), backlog) != 0)
        return refused_by_system("no local socket");
    return made;
}

result<file_descriptor> connect_locally(std::string_view name) {
    auto made = new_socket();
    if (!made) return made;
    const abstract_address there(name);
    if (::connect(made->number(), there.address(), there.bytes) != 0) {
        if (errno == ECONNREFUSED) return failure(error::refused, "nobody listens there");
        if (errno == EAGAIN) {
            report full;
            full.code = std::make_error_code(std::errc::resource_unavailable_try_again);
            full.cause = "more wait to be accepted there than its queue holds";
            return failure(std::move(full));
        }
        return refused_by_system("no local connection");
    }
    if (!same_user(made->number())) return failure(error::refused, "a process of another user listens there");
    return made;
}

bool same_user(int handle) noexcept {
    ucred who{};
    return credentials_at(handle, who) && who.uid == ::geteuid();
}

int process_at(int handle) noexcept {
    ucred who{};
    return credentials_at(handle, who) ? who.pid : 0;
}

bool hung_up(int handle) noexcept {
    pollfd end{handle, POLLRDHUP, 0};
    return ::poll(&end, 1, 0) > 0;
}

bool process_gone(int handle) noexcept {
    const int number = process_at(handle);
    if (number <= 0) return false;
#ifdef SYS_pidfd_open
    const file_descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, number, 0)));
    if (process) {
        pollfd end{process.number(), POLLIN, 0};
        return ::poll(&end, 1, 0) > 0;
    }
#endif
    return ::kill(number, 0) < 0 && errno == ESRCH;  // an older kernel: true only when its parent has waited for it
}

bool send_byte(int handle, char what, const file_descriptor* with) noexcept {
    iovec text{&what, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
    msghdr message{};
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    if (with != nullptr) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr* const head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        const int number = with->number();
        std::memcpy(CMSG_DATA(head), &number, sizeof number);
    }
    ssize_t sent;
    do sent = ::sendmsg(handle, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == 1;
}

result<> hand_over(int handle, char what, const file_descriptor& file) {
    if (send_byte(handle, what, &file)) return {};
    const int told = errno;
    // The system limits how many files of a user are on their way, until their receivers take them.
    const bool crowded = told == ETOOMANYREFS || told == ENOBUFS || told == EAGAIN;
    report why;
    why.code = crowded ? std::make_error_code(std::errc::resource_unavailable_try_again) : make_error_code(error::system);
    why.cause = fmt::format("shared memory could not be handed over: {}", std::generic_category().message(told));
    return failure(std::move(why));
}

local_news hear_news(int handle) noexcept {
    char text[64];
    iovec place{text, sizeof text};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
    msghdr message{};
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t came;
    do came = ::recvmsg(handle, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (came < 0 && errno == EINTR);
    local_news news;
    if (came < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return news;
    if (came <= 0) {
        news.code = error::peer_died;
        return news;
    }
    news.bytes = static_cast<std::size_t>(came);
    for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head))
        if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
            // A peer may send more than one: each next one closes the one before.
            for (std::size_t at = 0; at + sizeof(int) <= head->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
                int number = -1;
                std::memcpy(&number, CMSG_DATA(head) + at, sizeof number);
                news.file = file_descriptor(number);
            }
        }
    if ((message.msg_flags & MSG_CTRUNC) != 0) news.code = std::make_error_code(std::errc::too_many_files_open);
    return news;
}

result<local_protocol::socket> local_socket(event_loop& loop, file_descriptor from) {
    local_protocol::socket made(io_of(loop));
    boost::system::error_code code;
    made.assign(local_protocol(), from.number(), code);
    if (code) return failure(error::system, fmt::format("no event loop takes a socket of this host: {}", code.message()));
    from.release();
    return made;
}

}  // namespace tutti
