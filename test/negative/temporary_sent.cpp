// expect: would be gone before the operation ends: give it a name
#include <tutti/communicator.hpp>

#include <string>

void call(tutti::communicator& world) {
    std::string text = "hello";
#ifdef RIGHT
    (void)world.send(text, 1);
#else
    (void)world.send(std::string("hello"), 1);
#endif
}
