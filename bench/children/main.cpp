// How long it takes to split a communicator and to close the child again, and what a child costs while it lives. One rank of several; the
// script beside this file starts them. Takes the number of children and a name for the row.
#include <tutti/tutti.hpp>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace tutti;
using steady = std::chrono::steady_clock;

double us_since(steady::time_point began, int count) {
    return std::chrono::duration<double, std::micro>(steady::now() - began).count() / count;
}

double resident_kib() {
    std::ifstream file("/proc/self/statm");
    double pages = 0;
    file >> pages >> pages;
    return pages * 4;
}

task<std::unique_ptr<communicator>> split(communicator& world) {
    auto splitting = world.split(0, world.rank());
    co_return co_await std::move(splitting);
}

/// One after the other, then all at once, each with an all-reduce of 40 bytes.
task<> measure(communicator& world, int count, const char* name) {
    co_await world.barrier();
    auto began = steady::now();
    for (int each = 0; each < count; ++each) {
        const auto child = co_await split(world);
        co_await child->close();
    }
    const double pair_us = us_since(began, count);

    std::vector<std::unique_ptr<communicator>> children;
    const double before = resident_kib();
    began = steady::now();
    for (int each = 0; each < count; ++each) children.push_back(co_await split(world));
    const double split_us = us_since(began, count), formed = (resident_kib() - before) / count;
    for (const auto& child : children) {
        std::vector<int> ones(10, 1);
        co_await child->all_reduce(ones, sum);
        if (ones.back() != world.size()) throw std::runtime_error("the sum is wrong");
    }
    const double used = (resident_kib() - before) / count;
    began = steady::now();
    for (const auto& child : children) co_await child->close();
    if (world.rank() == 0)
        std::printf("%-14s %5d %8d %13.1f %9.1f %9.1f %11.1f %9.1f\n", name, world.size(), count, pair_us, split_us, us_since(began, count), formed, used);
}

}  // namespace

int main(int argc, char** argv) {
    int count = 0;
    if (argc != 3 || std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), count).ec != std::errc() || count < 1) {
        std::fputs("usage: children-rank COUNT NAME\n", stderr);
        return 2;
    }
    return run([&](communicator& world) { return measure(world, count, argv[2]); });
}
