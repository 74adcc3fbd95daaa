// expect: operator is a temporary, which would be gone before the operation ends: give it a name
#include <tutti/communicator.hpp>

#include <vector>

void call(tutti::communicator& world) {
    std::vector<int> data(4);
    static const tutti::custom_op<int> first("first", tutti::commutes::no, [](int a, int) { return a; });
#ifdef RIGHT
    (void)world.all_reduce(data, first);
#else
    (void)world.all_reduce(data, tutti::custom_op<int>("first", tutti::commutes::no, [](int a, int) { return a; }));
#endif
}
