// expect: pointers, views or buffers, which mean nothing on another rank
#include <tutti/communicator.hpp>

#include <array>

void call(tutti::communicator& world) {
    int number = 1;
    std::array<int*, 1> pointers{&number};
    std::array<int, 1> numbers{1};
#ifdef RIGHT
    (void)world.broadcast(numbers, 0);
#else
    (void)world.broadcast(pointers, 0);
#endif
}
