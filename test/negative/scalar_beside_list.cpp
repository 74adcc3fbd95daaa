// expect: for a single value, pass std::span\(&value, 1\)
#include <tutti/communicator.hpp>

#include <span>
#include <vector>

void call(tutti::communicator& world) {
    float loss = 1;
    std::vector<float> one(1), two(1);
#ifdef RIGHT
    (void)world.all_gather(std::span(&loss, 1), tutti::buffers(one, two));
#else
    (void)world.all_gather(loss, tutti::buffers(one, two));
#endif
}
