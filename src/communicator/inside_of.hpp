// Gives other sources of the library the group of a communicator; the class is its friend.
#pragma once

#include "group/group.hpp"

#include <tutti/communicator.hpp>

namespace tutti::detail {

class [[gnu::visibility("hidden")]] inside_of {
public:
    static group& get(communicator& which) noexcept { return *which.group_; }
};

}  // namespace tutti::detail
