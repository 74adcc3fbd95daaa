// A program with an Asio of its own beside Tutti, both at work at once.
#include "tutti_works.hpp"

#include <cstdio>
#include <thread>

int main() {
    bool well = true;
    std::thread other([&well] {
        for (int i = 0; i < 20; ++i) well = own_asio_works() && well;
    });
    bool tutti_well = true;
    for (int i = 0; i < 20; ++i) tutti_well = tutti_works() && tutti_well;
    other.join();
    if (!well || !tutti_well) return 1;
    std::puts("both work");
}
