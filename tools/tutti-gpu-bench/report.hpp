// Results as lines for people and as JSON.
#pragma once

#include "call_cost.hpp"
#include "latency.hpp"
#include "steps.hpp"

#include <string>
#include <vector>

namespace gpu_bench {

/// Where and when the numbers of a report were measured.
struct circumstances {
    std::string device, engine, host, date;
    int ranks = 1, cores = 1;
};
/// Of this host, now.
circumstances circumstances_of(const tutti::gpu::device* card, std::string engine, int ranks);
std::string line_of(const circumstances& where);

std::string table_of(const std::vector<latency_row>& rows);
std::string table_of(const std::vector<overlap_row>& rows);
std::string table_of(const std::vector<call_row>& rows);

/// All of a file, in JSON.
std::string document(const circumstances& where, const std::vector<latency_row>& rows);
std::string document(const circumstances& where, const std::vector<overlap_row>& rows);
std::string document(const circumstances& where, const std::vector<call_row>& rows);

}  // namespace gpu_bench
