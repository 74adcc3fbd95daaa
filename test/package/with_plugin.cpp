// A program with Tutti that opens plugins with copies of their own.
#include "tutti_works.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <thread>

int main(int count, char** plugins) {
    bool well = tutti_works();
    for (int i = 1; i < count; ++i) {
        void* opened = dlopen(plugins[i], RTLD_NOW | RTLD_GLOBAL);
        if (!opened) return std::fprintf(stderr, "%s\n", dlerror()), 1;
        const auto plugin_works = reinterpret_cast<bool (*)()>(dlsym(opened, "plugin_works"));
        bool plugin_well = plugin_works != nullptr;
        std::thread inside([&] {
            for (int turn = 0; turn < 10; ++turn) plugin_well = plugin_works && plugin_works() && plugin_well;
        });
        for (int turn = 0; turn < 10; ++turn) well = tutti_works() && well;
        inside.join();
        well = well && plugin_well;
    }
    if (!well) return 1;
    std::puts("all copies work");
}
