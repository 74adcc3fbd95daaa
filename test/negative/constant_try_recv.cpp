// expect: the output is const
#include <tutti/communicator.hpp>

#include <array>
#include <span>

void call(tutti::communicator& world) {
    std::array<int, 2> data{};
#ifdef RIGHT
    (void)world.try_recv(std::span<int>(data), 0);
#else
    (void)world.try_recv(std::span<const int>(data), 0);
#endif
}
