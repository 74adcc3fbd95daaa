// expect: the element types differ
#include <tutti/communicator.hpp>

#include <vector>

void call(tutti::communicator& world) {
    std::vector<int> from(4), to(8);
    std::vector<unsigned> other(8);
#ifdef RIGHT
    (void)world.all_gather(from, to);
#else
    (void)world.all_gather(from, other);
#endif
}
