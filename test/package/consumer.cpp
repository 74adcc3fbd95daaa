// A stranger's first program, built with what pkg-config says.
#include "tutti_works.hpp"

#include <tutti/version.hpp>

#include <cstdio>
#include <string>

int main() {
    if (!tutti_works()) return 1;
    std::puts(("the installed copy of " + std::string(tutti::version) + " works").c_str());
}
