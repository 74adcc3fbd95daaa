// An all-reduce without Tutti: floats, summed over ranks, with nothing but TCP sockets on loopback. Its time is the time that a simple
// program reaches on this machine. Small vectors are exchanged whole between ranks whose numbers differ in one bit, where the number of
// ranks allows it; all others go around a ring, a block of a rank at a time.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <span>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace raw_sockets {

inline constexpr std::size_t exchanged_bytes = 64 << 10;  // up to here whole vectors
inline constexpr std::size_t bounce_floats = 64 << 10;    // what has arrived is added from this much, while it is in cache
inline constexpr std::size_t bounce_bytes = bounce_floats * sizeof(float);
inline constexpr std::size_t stream_window = 1 << 20;           // a stream is never further ahead: more falls out of the caches
inline constexpr std::size_t most_at_once = 2 * stream_window;  // that one call receives of a stream

inline int checked(int value, const char* what) {
    if (value < 0) throw std::system_error(errno, std::system_category(), what);
    return value;
}

/// Two ends of a TCP connection; `choose` is called with both sockets before it stands.
inline std::array<int, 2> connected_pair(const std::function<void(int)>& choose) {
    const int listener = checked(::socket(AF_INET, SOCK_STREAM, 0), "socket"),
              caller = checked(::socket(AF_INET, SOCK_STREAM, 0), "socket");
    for (const int each : {listener, caller}) choose(each);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    checked(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), "bind");
    checked(::listen(listener, 1), "listen");
    checked(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
    checked(::connect(caller, reinterpret_cast<sockaddr*>(&address), size), "connect");
    const int called = checked(::accept(listener, nullptr, nullptr), "accept");
    ::close(listener);
    for (const int each : {caller, called}) {
        const int yes = 1;
        checked(::setsockopt(each, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes), "TCP_NODELAY");
        checked(::fcntl(each, F_SETFL, O_NONBLOCK), "O_NONBLOCK");
    }
    return {caller, called};
}

/// Tells the core that this thread only waits.
inline void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// How a rank waits while no byte can move.
enum class waiting { poll, yield, pause };

class group {
public:
    group(int me, std::vector<int> sockets, waiting how)
        : me_(me),
          size_(static_cast<int>(sockets.size())),
          how_(how),
          sockets_(std::move(sockets)),
          bounce_(bounce_floats),
          outgoing_(stream_window),
          incoming_(most_at_once) {}

    void all_reduce(std::span<float> data) {
        if ((size_ & (size_ - 1)) == 0 && data.size_bytes() <= exchanged_bytes) return exchange_all(data);
        const int next = (me_ + 1) % size_, before = (me_ + size_ - 1) % size_;
        for (int k = 0; k < size_ - 1; ++k) transfer(next, block(data, me_ - k), before, block(data, me_ - k - 1), true);
        for (int k = 0; k < size_ - 1; ++k) transfer(next, block(data, me_ + 1 - k), before, block(data, me_ - k), false);
    }
    /// As many bytes as the ring moves for `bytes`, each way at once, and no all-reduce can do with less: nothing is reduced, nothing waits
    /// for what has come, but for the window, and all memory stays in cache. The limit for large vectors that are in cache.
    void stream(std::size_t bytes) { stream(bytes, {}); }
    /// The same, but that one block comes out of `vector` and all others go into it: each byte of it is touched once, which is half of what
    /// an all-reduce has to do, since it must read and write it all. The limit for vectors that are larger than the caches.
    void stream_over(std::span<float> vector) { stream(vector.size_bytes(), std::as_writable_bytes(vector)); }
    /// Of 64 bytes, so that what is sent next begins on a line of the system's memory, too: some processors copy many times slower where the
    /// target lies a few bytes behind the source, but for whole pages.
    void barrier() {
        float nothing[16] = {};
        all_reduce(nothing);
    }

private:
    /// Blocks move in pieces, first the first of each, as in a ring that touches memory once. Blocks shorter than 64 KiB, for which memory does
    /// not matter, are not told apart.
    void stream(std::size_t bytes, std::span<std::byte> vector) {
        const auto ranks = static_cast<std::size_t>(size_);
        const int next = (me_ + 1) % size_, before = (me_ + size_ - 1) % size_;
        const std::size_t rounds = 2 * (ranks - 1), all = bytes * rounds / ranks;
        const std::size_t block = bytes / ranks, pieces = (block + stream_window - 1) / stream_window;
        const std::size_t piece = std::max(exchanged_bytes, pieces > 0 ? (block + pieces - 1) / pieces : 0);
        // Where byte `place` is, and what follows it there: from round `first` on in the blocks from `to` on, or else in cache.
        const auto at = [&](std::size_t place, std::span<std::byte> cache, std::size_t first, std::size_t last, std::size_t to) {
            if (vector.empty()) return cache;
            const std::size_t offset = place % piece, round = place / piece % rounds, segment = place / piece / rounds;
            if (round < first || round > last) return cache.subspan(offset, piece - offset);
            const auto rest = vector.subspan(((round - first + to) * block + segment * piece + offset) % bytes);
            return rest.first(std::min(piece - offset, rest.size()));
        };
        std::size_t out = all, in = all;
        while (out + in > 0) {
            const std::size_t ahead = in > out ? in - out : 0;
            const std::size_t may = std::min(out, stream_window - std::min(ahead, stream_window));
            const auto source = at(all - out, outgoing_, 0, 0, 0);
            const auto target = at(all - in, incoming_, ranks - 1, rounds, 1);
            const std::size_t sent =
                may == 0 ? 0 : moved(::send(socket_of(next), source.data(), std::min(may, source.size()), MSG_NOSIGNAL));
            const std::size_t received =
                in == 0 ? 0 : moved(::recv(socket_of(before), target.data(), std::min({in, most_at_once, target.size()}), 0));
            out -= sent;
            in -= received;
            if (sent + received == 0) wait(next, may > 0, before, in > 0);
        }
    }

    std::span<float> block(std::span<float> data, int which) const {
        const auto index = static_cast<std::size_t>((which + 2 * size_) % size_), parts = static_cast<std::size_t>(size_);
        const std::size_t begin = data.size() * index / parts;
        return data.subspan(begin, data.size() * (index + 1) / parts - begin);
    }

    void exchange_all(std::span<float> data) {
        kept_.resize(std::max(kept_.size(), data.size()));
        for (int bit = 1; bit < size_; bit *= 2) {
            std::copy(data.begin(), data.end(), kept_.begin());  // what arrives is added while this is still being sent
            transfer(me_ ^ bit, std::span(kept_).first(data.size()), me_ ^ bit, data, true);
        }
    }

    /// Sends `out` and receives as many floats as `in` has, both at once; adds them to `in`, or puts them there.
    void transfer(int target, std::span<const float> out, int source, std::span<float> in, bool add) {
        auto sending = std::as_bytes(out);
        std::size_t landed = 0;  // bytes since the last addition
        while (!sending.empty() || !in.empty()) {
            const std::size_t sent = sending.empty() ? 0 : moved(::send(socket_of(target), sending.data(), sending.size(), MSG_NOSIGNAL));
            sending = sending.subspan(sent);
            const std::size_t chunk = std::min(in.size_bytes(), add ? bounce_bytes : in.size_bytes());
            char* place = reinterpret_cast<char*>(add ? bounce_.data() : in.data()) + landed;
            const std::size_t received = in.empty() ? 0 : moved(::recv(socket_of(source), place, chunk - landed, 0));
            landed += received;
            if (landed == chunk) {
                const std::size_t floats = chunk / sizeof(float);
                if (add)
                    std::transform(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(floats), bounce_.begin(), in.begin(),
                                   std::plus<>());
                in = in.subspan(floats);
                landed = 0;
            }
            if (sent == 0 && received == 0 && (!sending.empty() || !in.empty())) wait(target, !sending.empty(), source, !in.empty());
        }
    }

    static std::size_t moved(ssize_t bytes) {
        if (bytes > 0) return static_cast<std::size_t>(bytes);
        if (bytes == 0) throw std::runtime_error("a peer has gone");
        if (errno != EAGAIN && errno != EINTR) checked(-1, "a socket");
        return 0;
    }
    void wait(int target, bool sends, int source, bool receives) {
        if (how_ == waiting::pause) return pause();
        if (how_ == waiting::yield) return static_cast<void>(::sched_yield());
        pollfd both[] = {{sends ? socket_of(target) : -1, POLLOUT, 0}, {receives ? socket_of(source) : -1, POLLIN, 0}};
        if (::poll(both, 2, -1) < 0 && errno != EINTR) checked(-1, "poll");
    }
    int socket_of(int rank) const { return sockets_[static_cast<std::size_t>(rank)]; }

    int me_, size_;
    waiting how_;
    std::vector<int> sockets_;  // by rank
    std::vector<float> bounce_, kept_;
    std::vector<std::byte> outgoing_, incoming_;  // of streams
};

}  // namespace raw_sockets
