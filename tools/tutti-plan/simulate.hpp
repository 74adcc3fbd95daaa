// tutti-plan simulate: how long each algorithm would take on a network on paper.
#pragma once

#include <string>

namespace plan {

struct simulate_words {
    std::string kind = "all_reduce", name = "all";
    int size = 4;
    std::string bytes, latency, bandwidth, overhead = "0us", reduce_bandwidth, slice = "512KiB";
};

void simulate(const simulate_words& given);

}  // namespace plan
