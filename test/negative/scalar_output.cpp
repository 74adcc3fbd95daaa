// expect: for a single value, pass std::span\(&value, 1\)
#include <tutti/communicator.hpp>

#include <span>

void call(tutti::communicator& world) {
    float loss = 1, all = 0;
#ifdef RIGHT
    (void)world.all_reduce(std::span(&loss, 1), std::span(&all, 1), tutti::sum);
#else
    (void)world.all_reduce(std::span(&loss, 1), all, tutti::sum);
#endif
}
