// The words for a lack of descriptors for sockets and files.
#pragma once

#include <tutti/error.hpp>

#include <string>
#include <string_view>
#include <system_error>

namespace tutti {

/// Returns whether a call failed because this process, or the whole system, has as many files open as it may.
inline bool out_of_descriptors(const std::error_code& why) noexcept {
    return why == std::errc::too_many_files_open || why == std::errc::too_many_files_open_in_system;
}

/// Returns whether this process has more than half of the descriptors open that it may have.
bool descriptors_are_scarce() noexcept;

/// "no descriptor left for a link: its limit is 1024 (ulimit -n)", to stand behind the name of the rank or process.
std::string no_descriptor_left(std::string_view for_what, const std::error_code& why);

/// Returns the report of a rank that lacks a descriptor for its part of a group: error::system, for which it blames itself.
report without_descriptor(rank me, std::string_view for_what, const std::error_code& why);

}  // namespace tutti
