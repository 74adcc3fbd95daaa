// expect: this is no operator: pass tutti::sum
#include <tutti/communicator.hpp>

#include <vector>

void call(tutti::communicator& world) {
    std::vector<int> data(4);
    static const tutti::custom_op<int> first("first", tutti::commutes::no, [](int a, int) { return a; });
#ifdef RIGHT
    (void)world.exclusive_scan(data, first);
#else
    (void)world.exclusive_scan(data, [](int a, int) { return a; });
#endif
}
