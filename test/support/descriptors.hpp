// The descriptors that this process has open.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

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

/// While it lives this process gets no new descriptor.
class no_descriptors {
public:
    no_descriptors() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const int lowest = ::fcntl(0, F_DUPFD, 0);  // that is free: the next one would get it
        ::close(lowest);
        now_ = before_;
        now_.rlim_cur = static_cast<rlim_t>(lowest);
        ::setrlimit(RLIMIT_NOFILE, &now_);
    }
    std::string limit() const { return std::to_string(now_.rlim_cur); }
    ~no_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{}, now_{};
};

}  // namespace tutti::test
