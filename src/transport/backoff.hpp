// The pauses between attempts to connect: longer each time, up to a limit, with jitter so that ranks do not come all at once.
#pragma once

#include <tutti/types.hpp>

#include <algorithm>
#include <random>

namespace tutti {

class backoff {
public:
    static constexpr duration shortest = std::chrono::milliseconds{2};   // a peer that is about to listen is found soon
    static constexpr duration longest = std::chrono::milliseconds{250};  // a peer that comes late waits no longer than this

    explicit backoff(std::uint64_t seed) : random_(seed) {}

    /// Returns between half of the current length and all of it, and doubles the length.
    duration next() {
        const auto whole = length_;
        length_ = std::min(2 * length_, longest);
        return duration{std::uniform_int_distribution<duration::rep>(whole.count() / 2, whole.count())(random_)};
    }

private:
    std::mt19937_64 random_;
    duration length_ = shortest;
};

}  // namespace tutti
