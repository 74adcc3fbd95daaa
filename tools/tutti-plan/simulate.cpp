#include "simulate.hpp"

#include "../standard_output.hpp"
#include "names.hpp"
#include "proof/bound.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <chrono>

namespace plan {
namespace {

using namespace tutti;

network network_of(const simulate_words& given) {
    network over;
    over.latency = seconds_in("--latency", given.latency);
    over.bandwidth = rate_in("--bandwidth", given.bandwidth);
    over.overhead = seconds_in("--overhead", given.overhead);
    if (!given.reduce_bandwidth.empty()) over.reduce_bandwidth = rate_in("--reduce-bandwidth", given.reduce_bandwidth);
    if (over.bandwidth <= 0) throw bad_input("--bandwidth takes more than nothing");
    if (!given.reduce_bandwidth.empty() && over.reduce_bandwidth <= 0) throw bad_input("--reduce-bandwidth takes more than nothing");
    return over;
}

/// Several lines where it is refused would be hard to read in a table, so the reason follows the name.
void print_row(const algorithm& entry, const simulated& found, double bound, double took) {
    if (!found.refused.empty()) {
        fmt::print("{:<19} not simulated: {}", entry.name, found.refused);
        if (found.coarser_slice_bytes > 0) fmt::print("; --slice {} would do", size_text(found.coarser_slice_bytes));
        fmt::print("\n");
        return;
    }
    fmt::print("{:<19} {:>14.6g} {:>14.6g} {:>8} {:>7} {:>7} {:>11} {:>7.1f}\n", entry.name, found.seconds * 1e3, bound * 1e3,
               bound > 0 ? fmt::format("{:.2f}", found.seconds / bound) : "-", found.slices, found.roles, found.transfers, took);
    flush_output();
}

}  // namespace

void simulate(const simulate_words& given) {
    const collective kind = collective_named(given.kind);
    if (given.name != "all") {
        const algorithm& only = algorithm_named(given.kind, given.name);
        if (!serves(only, given.size)) throw bad_input(fmt::format("{} {} does not serve {} ranks", given.kind, given.name, given.size));
    }
    const network over = network_of(given);
    const double bytes = kind == collective::barrier ? 0 : bytes_in("--bytes", given.bytes);
    simulate_options how;
    how.slice_bytes = bytes_in("--slice", given.slice);
    how.segment = 16;  // as between hosts
    if (how.slice_bytes < 1) throw bad_input("--slice takes one byte or more");
    fmt::print("{} of {}, {} ranks; latency {}, {} each way, {} a message, {}; slices of {}\n", given.kind, size_text(bytes), given.size,
               given.latency, given.bandwidth, given.overhead,
               given.reduce_bandwidth.empty() ? "reduced in no time" : "reduced at " + given.reduce_bandwidth, given.slice);
    fmt::print("{:<19} {:>14} {:>14} {:>8} {:>7} {:>7} {:>11} {:>7}\n", "algorithm", "ms", "bound ms", "x bound", "slices", "roles",
               "transfers", "took s");
    // Plans of large worlds are built and thrown away by the thousand: their memory is not worth a system call each time.
    ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
    ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
    const double bound = lower_bound_seconds(kind, given.size, bytes, over);
    for (const algorithm& entry : catalogue()) {
        if (entry.kind != kind || !serves(entry, given.size) || (given.name != "all" && entry.name != given.name)) continue;
        const auto began = std::chrono::steady_clock::now();
        const auto build = [&](rank me) { return entry.build({me, given.size, 0}); };
        const simulated found = simulate(given.size, build, bytes, over, how);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
        print_row(entry, found, bound, took.count());
    }
}

}  // namespace plan
