// tutti-plan choose: which algorithm is taken for how many bytes, and what each would cost where the choice changes.
#pragma once

#include <string>

namespace plan {

struct choose_options {
    std::string kind;
    int size = 4;
    std::string bytes = "4..1GiB";
    std::string costs, hosts, tuning;
    bool deterministic = false;
};

void choose(const choose_options& given);

}  // namespace plan
