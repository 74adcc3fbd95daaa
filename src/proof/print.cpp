#include "proof/print.hpp"

namespace tutti {

std::string_view name(space where) noexcept {
    constexpr std::string_view names[] = {"input", "output", "scratch"};
    return names[static_cast<int>(where)];
}

std::string to_string(const blocks& which) {
    std::string text(name(which.where));
    text += "[" + std::to_string(which.first);
    if (which.count == 1) return text + "]";
    return text + ".." + std::to_string(which.first + which.count) + ")";
}

std::string to_string(const step& line) {
    switch (line.what) {
        case action::send: return "send to " + std::to_string(line.peer) + " " + to_string(line.here);
        case action::recv: return "recv from " + std::to_string(line.peer) + " " + to_string(line.here);
        case action::recv_reduce: return "recv_reduce from " + std::to_string(line.peer) + " " + to_string(line.here);
        case action::copy: break;
    }
    return "copy " + to_string(line.from) + " to " + to_string(line.here);
}

std::string to_string(const schedule& plan) {
    std::string text;
    for (int round = 0; round < plan.rounds(); ++round)
        for (const step& line : plan.round(round)) text += "round " + std::to_string(round) + ": " + to_string(line) + "\n";
    return text;
}

}  // namespace tutti
