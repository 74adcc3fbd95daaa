// The smallest program: every rank contributes a number, and every rank prints the sum.
#include <tutti/tutti.hpp>

#include <cstdio>
#include <vector>

tutti::task<> hello(tutti::communicator& world) {
    std::vector<float> numbers(1000, static_cast<float>(world.rank() + 1));
    co_await world.all_reduce(numbers, tutti::sum);
    std::printf("rank %d of %d: the sum is %g\n", world.rank(), world.size(), static_cast<double>(numbers[0]));
}

int main() { return tutti::run(hello); }
