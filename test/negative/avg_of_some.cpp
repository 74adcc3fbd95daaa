// expect: there is no avg of the ranks up to this one
#include <tutti/communicator.hpp>

#include <vector>

void call(tutti::communicator& world) {
    std::vector<float> data(4);
#ifdef RIGHT
    (void)world.scan(data, tutti::sum);
#else
    (void)world.scan(data, tutti::avg);
#endif
}
