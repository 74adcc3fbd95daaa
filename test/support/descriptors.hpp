// What this process has open.
#pragma once

#include <fcntl.h>

#include <filesystem>
#include <set>
#include <string>

namespace tutti::test {

inline std::set<int> open_descriptors() {
    std::set<int> found;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) found.insert(std::stoi(each.path().filename().string()));
    return found;
}

/// Those opened since, which a program would inherit that this process starts.
inline std::set<int> inherited_since(const std::set<int>& before) {
    std::set<int> found;
    for (const int each : open_descriptors())
        if (const int flags = ::fcntl(each, F_GETFD); !before.contains(each) && flags >= 0 && (flags & FD_CLOEXEC) == 0) found.insert(each);
    return found;
}

}  // namespace tutti::test
