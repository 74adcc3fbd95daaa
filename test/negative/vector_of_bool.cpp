// expect: use a std::vector<char> or an array of bool
#include <tutti/communicator.hpp>

#include <vector>

void call(tutti::communicator& world) {
    std::vector<bool> flags(4);
    std::vector<char> bytes(4);
#ifdef RIGHT
    (void)world.broadcast(bytes, 0);
#else
    (void)world.broadcast(flags, 0);
#endif
}
