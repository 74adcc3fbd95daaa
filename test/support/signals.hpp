// Which signals the threads of this process take, as the system knows it.
#pragma once

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tutti::test {

/// Signals that a thread causes itself; the program's handlers are to see them.
inline constexpr int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

/// The masks of blocked signals, bit 0 for signal 1, of all threads but the calling one.
inline std::vector<std::uint64_t> blocked_by_others() {
    std::vector<std::uint64_t> masks;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/task")) {
        if (each.path().filename() == std::to_string(::gettid())) continue;
        std::ifstream status(each.path() / "status");
        for (std::string word; status >> word;)
            if (word == "SigBlk:" && status >> word) masks.push_back(std::stoull(word, nullptr, 16));
    }
    return masks;
}

/// Returns whether a thread with such a mask takes no signal but its own faults.
inline bool takes_none(std::uint64_t mask) {
    for (const int each : faults) mask |= std::uint64_t{1} << (each - 1);
    for (const int never : {SIGKILL, SIGSTOP, 32, 33}) mask |= std::uint64_t{1} << (never - 1);  // 32 and 33 are the C library's own
    return ~mask == 0;
}

}  // namespace tutti::test
