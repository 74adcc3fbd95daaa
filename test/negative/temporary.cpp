// expect: would be gone before the operation ends: give it a name
#include <tutti/communicator.hpp>

#include <vector>

void call(tutti::communicator& world) {
    std::vector<float> data{1, 2};
#ifdef RIGHT
    (void)world.all_reduce(data, tutti::sum);
#else
    (void)world.all_reduce(std::vector<float>{1, 2}, tutti::sum);
#endif
}
