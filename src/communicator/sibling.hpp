// A communicator of the same ranks beside another one, made without a call on that.
#pragma once

#include "group/group.hpp"

#include <tutti/communicator.hpp>
#include <tutti/future.hpp>

#include <memory>
#include <string_view>

namespace tutti::detail {

/// Takes its place among the children of `which`, so all ranks call it in the same order. `what` is added to the name.
membership sibling(group& which, std::string_view what);

/// On the loop of `context`. Ends when all ranks have come, or fails with error::rendezvous_timeout. When the watch of a parent is given and
/// the parent fails before, it fails with that instead. A rank that has no descriptors for its links fails `above`, the parent's engine, because
/// it cannot reach the others otherwise.
future<std::unique_ptr<communicator>> form(const std::shared_ptr<context_state>& context, membership who, future<> parent = {},
                                           std::shared_ptr<engine> above = {});

}  // namespace tutti::detail
