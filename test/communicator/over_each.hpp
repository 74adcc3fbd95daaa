// Ranks with a context and a thread each, over all transports there are.
#pragma once

#include "support/rank_threads.hpp"

namespace tutti::test {

/// How ranks in threads of their own are joined.
struct over {
    const char* name;
    transport_kind kind;
    int lanes = 1;
    bool helped = false;  // by the rank's loop
    int threads = 1;
    std::size_t cache_bytes = 0;
};
inline constexpr over transports[] = {{"auto", transport_kind::automatic},
                                      {"tcp", transport_kind::tcp},
                                      {"shm", transport_kind::shm},
                                      {"tcp, 4 lanes", transport_kind::tcp, 4},
                                      {"shm, 3 lanes", transport_kind::shm, 3},
                                      {"tcp, helped", transport_kind::tcp, 1, true},
                                      {"shm, helped", transport_kind::shm, 1, true},
                                      {"shm, a cache of a byte", transport_kind::shm, 1, false, 1, 1},
                                      {"shm, 2 lanes, 2 threads, a cache of a byte", transport_kind::shm, 2, false, 2, 1},
                                      {"tcp, 3 lanes, 2 threads", transport_kind::tcp, 3, false, 2},
                                      {"shm, 2 lanes, 2 threads, helped", transport_kind::shm, 2, true, 2},
                                      {"auto, 4 lanes, 3 threads", transport_kind::automatic, 4, false, 3},
                                      {"auto, 1 lane, 3 threads", transport_kind::automatic, 1, false, 3}};

inline void run_over(const over& how, int size, const rank_body& body, int ranks_per_host = 1 << 20) {
    const auto options = [&](rank me) {
        context_options each;
        each.transport = how.kind;
        each.lanes = how.lanes;
        each.threads = how.threads;
        each.cache_bytes = how.cache_bytes;
        each.host = me / ranks_per_host;
        return each;
    };
    run_ranks_on_threads(size, body, options, how.helped);
}

inline void run_over_each(int size, const rank_body& body) {
    for (const over& each : transports) {
        CAPTURE(each.name);
        run_over(each, size, body);
    }
}

}  // namespace tutti::test
