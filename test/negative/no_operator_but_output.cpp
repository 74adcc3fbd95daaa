// expect: this is no operator: pass tutti::sum
#include <tutti/communicator.hpp>

#include <vector>

void call(tutti::communicator& world) {
    std::vector<int> from(4), to(4);
#ifdef RIGHT
    (void)world.all_reduce(from, to, tutti::sum);
#else
    (void)world.all_reduce(from, to);
#endif
}
