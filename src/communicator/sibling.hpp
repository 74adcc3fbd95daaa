// Sibling communicators: the same ranks as another communicator, made without a call on that one. And how every child forms.
#pragma once

#include "group/group.hpp"

#include <tutti/communicator.hpp>
#include <tutti/future.hpp>

#include <memory>
#include <string_view>

namespace tutti::detail {

/// Returns the membership of a sibling, with `what` added to the name. It takes a number among the children of `which`, so all ranks call
/// it in the same order.
membership sibling(group& which, std::string_view what);

/// Forms a group on the loop of `context`. The future ends when all ranks have come, or fails with error::rendezvous_timeout. If `parent`,
/// the watch of a parent, fails before, the future fails with the same cause. A rank that has no descriptors for the child's links fails
/// `above`, the parent's engine, because it has no other way to reach the other ranks.
future<std::unique_ptr<communicator>> form(const std::shared_ptr<context_state>& context, membership who, future<> parent = {},
                                           std::shared_ptr<engine> above = {});

}  // namespace tutti::detail
