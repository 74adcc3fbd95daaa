// expect: for a single value, pass std::span\(&value, 1\)
#include <tutti/communicator.hpp>

#include <span>
#include <vector>

void call(tutti::communicator& world) {
    const std::vector<std::size_t> counts{1, 1};
    std::vector<int> to(2);
    int from = 1;
#ifdef RIGHT
    (void)world.gather_v(std::span(&from, 1), to, counts, 0);
#else
    (void)world.gather_v(from, to, counts, 0);
#endif
}
