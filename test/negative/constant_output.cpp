// expect: the output is const
#include <tutti/communicator.hpp>

#include <vector>

void call(tutti::communicator& world) {
    std::vector<float> from(4), to(4);
    const auto& result = to;
#ifdef RIGHT
    (void)world.scan(from, to, tutti::sum);
#else
    (void)world.scan(from, result, tutti::sum);
#endif
}
