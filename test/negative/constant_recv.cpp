// expect: the output is const
#include <tutti/communicator.hpp>

#include <array>

void call(tutti::communicator& world) {
    std::array<int, 2> data{};
    const auto& other = data;
#ifdef RIGHT
    (void)world.recv(data, 0);
#else
    (void)world.recv(other, 0);
#endif
}
