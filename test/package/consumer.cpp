// A stranger's first program: it sees nothing but the installed headers and what pkg-config says.
#include <tutti/error.hpp>
#include <tutti/result.hpp>
#include <tutti/types.hpp>

#include <cstdio>
#include <string>

int main() {
    const tutti::result<> answer = tutti::failure(tutti::error::timed_out, "nobody came");
    if (answer || std::string(answer.failure().what()) != "nobody came") return 1;
    if (static_cast<float>(tutti::float16(1.5f)) != 1.5f) return 1;
    std::puts("the installed copy works");
}
