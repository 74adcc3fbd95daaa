#include "base/descriptors.hpp"

#include "base/file_descriptor.hpp"

#include <fmt/format.h>

#include <sys/eventfd.h>
#include <sys/resource.h>

namespace tutti {

std::string no_descriptor_left(std::string_view for_what, const std::error_code& why) {
    if (why == std::errc::too_many_files_open_in_system)
        return fmt::format("no descriptor left for {}: its system has as many files open as it may (fs.file-max)", for_what);
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return fmt::format("no descriptor left for {}: its limit is {} (ulimit -n)", for_what, limit.rlim_cur);
}

report without_descriptor(rank me, std::string_view for_what, const std::error_code& why) {
    report told;
    told.code = error::system;
    told.root = me;
    told.peers = {me};
    told.cause = fmt::format("rank {} has {}", me, no_descriptor_left(for_what, why));
    return told;
}

bool descriptors_are_scarce() noexcept {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const file_descriptor lowest(::eventfd(0, EFD_CLOEXEC));  // the system gives the lowest number that is free
    return !lowest || static_cast<rlim_t>(lowest.number()) >= limit.rlim_cur / 2;
}

}  // namespace tutti
