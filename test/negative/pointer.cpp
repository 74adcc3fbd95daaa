// expect: pass std::span\(pointer, count\)
#include <tutti/communicator.hpp>

#include <span>

void call(tutti::communicator& world) {
    float data[4] = {};
    float* pointer = data;
#ifdef RIGHT
    (void)world.broadcast(std::span(pointer, 4), 0);
#else
    (void)world.broadcast(pointer, 0);
#endif
}
