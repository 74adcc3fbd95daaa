// expect: pointers, views or buffers, which mean nothing on another rank
#include <tutti/communicator.hpp>

#include <span>
#include <vector>

void call(tutti::communicator& world) {
    std::vector<float> one(4);
    std::vector<std::span<float>> all{one};
#ifdef RIGHT
    (void)world.all_reduce(tutti::buffers(all[0]), tutti::sum);
#else
    (void)world.all_reduce(all, tutti::sum);
#endif
}
