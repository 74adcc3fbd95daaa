// expect: for a single value, pass std::span\(&value, 1\)
#include <tutti/communicator.hpp>

#include <span>

void call(tutti::communicator& world) {
    int number = 1;
#ifdef RIGHT
    (void)world.send(std::span(&number, 1), 1);
#else
    (void)world.send(number, 1);
#endif
}
