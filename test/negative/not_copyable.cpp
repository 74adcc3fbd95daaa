// expect: not trivially copyable
#include <tutti/communicator.hpp>

#include <string>
#include <vector>

void call(tutti::communicator& world) {
    std::vector<std::string> words(2);
    std::vector<char> letters(2);
#ifdef RIGHT
    (void)world.all_gather(letters, letters);
#else
    (void)world.all_gather(letters, words);
#endif
}
