// expect: combines elements of another type
#include <tutti/communicator.hpp>

#include <vector>

void call(tutti::communicator& world) {
    std::vector<float> data(4);
    static const tutti::custom_op<int> of_int("largest", tutti::commutes::yes, [](int a, int b) { return a > b ? a : b; });
    static const tutti::custom_op<float> of_float("largest", tutti::commutes::yes, [](float a, float b) { return a > b ? a : b; });
#ifdef RIGHT
    (void)world.all_reduce(data, of_float);
#else
    (void)world.all_reduce(data, of_int);
#endif
}
