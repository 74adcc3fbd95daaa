// A machine for a test: at its end nothing may have been wrong.
#pragma once

#include "gpu/sim/machine.hpp"

#include <doctest/doctest.h>

namespace tutti::gpu::sim {

class checked_machine : public machine {
public:
    explicit checked_machine(options how = {}) : machine(std::move(how)) {}
    ~checked_machine() {
        const std::string wrong = end();
        CHECK(wrong == "");
    }
};

}  // namespace tutti::gpu::sim
