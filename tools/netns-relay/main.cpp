// A network for tools/netns-check: carries packets between TUN devices, which the caller moves into the namespaces of the ranks. Each device
// stands for a card that sends and receives at most RATE bits per second; between two cards a packet takes DELAY, or is lost by chance.
//
//     netns-relay RATE DELAY_US LOSS_PERCENT DEVICE...
//
// Device k belongs to 10.77.0.(k + 1). Says "ready" when the devices are there, and ends when its standard input does.
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <queue>
#include <random>
#include <vector>

namespace {

using nanoseconds = std::int64_t;

constexpr std::size_t longest_packet = 16 * 1024;
constexpr std::size_t most_underway = 100'000;     // packets; then the devices' own queues fill
constexpr nanoseconds burst = 500'000;             // how far a card may be ahead: timers are no better
constexpr nanoseconds receive_queue = 50'000'000;  // a card that has more than this to receive loses packets

nanoseconds now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct packet {
    nanoseconds due;
    std::uint64_t number;  // of two that are due at once the first comes first
    std::size_t to;
    std::vector<char> bytes;
    bool operator>(const packet& other) const { return due != other.due ? due > other.due : number > other.number; }
};

/// One rank's end.
struct card {
    int device;
    nanoseconds sent_until = 0, received_until = 0;
};

int open_device(const char* name) {
    const int device = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    ifreq asked{};
    asked.ifr_flags = IFF_TUN | IFF_NO_PI;
    std::strncpy(asked.ifr_name, name, IFNAMSIZ - 1);
    if (device < 0 || ::ioctl(device, TUNSETIFF, &asked) != 0) {
        std::perror("netns-relay: cannot make a TUN device");
        std::exit(1);
    }
    return device;
}

class relay {
public:
    relay(double rate, double delay_us, double loss_percent, std::vector<card> cards)
        : ns_per_byte_(8e9 / rate),
          delay_(static_cast<nanoseconds>(delay_us * 1e3)),
          lost_(loss_percent / 100),
          cards_(std::move(cards)) {}

    void run() {
        std::vector<pollfd> asked(cards_.size() + 1);
        do {
            const nanoseconds at = now();
            deliver(at);
            nanoseconds wake = underway_.empty() ? at + 1'000'000'000 : underway_.top().due;
            asked.back() = {STDIN_FILENO, POLLIN, 0};
            for (std::size_t each = 0; each < cards_.size(); ++each) {
                const bool free = cards_[each].sent_until <= at + burst && underway_.size() < most_underway;
                asked[each] = {cards_[each].device, static_cast<short>(free ? POLLIN : 0), 0};
                if (cards_[each].sent_until > at + burst) wake = std::min(wake, cards_[each].sent_until - burst);
            }
            const nanoseconds left = std::max<nanoseconds>(0, wake - now());
            const timespec time{left / 1'000'000'000, left % 1'000'000'000};
            ::ppoll(asked.data(), asked.size(), &time, nullptr);
            for (std::size_t each = 0; each < cards_.size(); ++each)
                if (asked[each].revents & POLLIN) take(cards_[each]);
        } while (asked.back().revents == 0);
    }

private:
    nanoseconds time_of(std::size_t bytes) const { return static_cast<nanoseconds>(static_cast<double>(bytes) * ns_per_byte_); }

    /// Takes the packets that a card sends, as far as its rate allows.
    void take(card& from) {
        std::array<char, longest_packet> bytes;
        while (from.sent_until <= now() + burst) {
            const ssize_t length = ::read(from.device, bytes.data(), bytes.size());
            if (length < 20) return;
            const auto to = static_cast<std::size_t>(static_cast<unsigned char>(bytes[19])) - 1;  // the last byte of the IPv4 destination
            if ((bytes[0] >> 4 & 0xf) != 4 || to >= cards_.size()) continue;
            const auto takes = time_of(static_cast<std::size_t>(length));
            from.sent_until = std::max(from.sent_until, now()) + takes;
            card& target = cards_[to];
            const nanoseconds arrives = std::max(from.sent_until + delay_, target.received_until + takes);
            if (chance_(random_) < lost_ || arrives - from.sent_until - delay_ > receive_queue) continue;
            target.received_until = arrives;
            underway_.push({arrives, ++packets_, to, {bytes.data(), bytes.data() + length}});
        }
    }
    void deliver(nanoseconds at) {
        for (; !underway_.empty() && underway_.top().due <= at; underway_.pop()) {
            const packet& next = underway_.top();
            if (::write(cards_[next.to].device, next.bytes.data(), next.bytes.size()) < 0) continue;  // the device is not up: lost
        }
    }

    const double ns_per_byte_;
    const nanoseconds delay_;
    const double lost_;
    std::vector<card> cards_;
    std::priority_queue<packet, std::vector<packet>, std::greater<>> underway_;
    std::uint64_t packets_ = 0;
    std::mt19937_64 random_{1};
    std::uniform_real_distribution<double> chance_{0, 1};
};

}  // namespace

int main(int argc, char** argv) {
    const double rate = argc > 4 ? std::atof(argv[1]) : 0;
    if (rate <= 0 || argc > 4 + 200) {
        std::fputs("usage: netns-relay RATE DELAY_US LOSS_PERCENT DEVICE...\n", stderr);
        return 2;
    }
    std::vector<card> cards;
    for (int each = 4; each < argc; ++each) cards.push_back({open_device(argv[each])});
    std::puts("ready");
    std::fflush(stdout);
    relay(rate, std::atof(argv[2]), std::atof(argv[3]), std::move(cards)).run();
}
