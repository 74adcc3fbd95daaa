// expect: the element types differ
#include <tutti/communicator.hpp>

#include <vector>

void call(tutti::communicator& world) {
    std::vector<float> weights(4), bias(4);
    std::vector<double> wide(4);
#ifdef RIGHT
    (void)world.all_reduce(tutti::buffers(weights, bias), tutti::sum);
#else
    (void)tutti::buffers(weights, wide);
#endif
}
