// How much of a communication hides behind a computation, and how much could.
#pragma once

#include <string>

namespace perf {

/// A fixed amount of arithmetic in registers. Measured once; what it takes later tells what got in its way.
class computation {
public:
    /// Takes about `seconds` beside whatever else runs now: ranks should make theirs at the same time.
    explicit computation(double seconds);
    void operator()() const noexcept;

private:
    long turns_;
};

/// Of one turn, on one rank.
struct effort {
    double seconds;
    double cpu_seconds;
};

struct overlap {
    double alone, computing, both;  // seconds
    double least;                   // what `both` can be at best: the longer of the two, and the work of all ranks spread over the cores
    double hidden;                  // part of the shorter one that cost no time; 1 is all
    double of_possible;             // part of what `least` would hide; NaN where that is nothing
};
overlap overlap_of(effort communication, effort computing, double both, int local_ranks, int cores) noexcept;

/// One line for people.
std::string to_text(const overlap& found);

}  // namespace perf
