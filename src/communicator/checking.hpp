// The checking mode (context_options::check): its calls also find mistakes in the use of memory, threads and futures.
#pragma once

#include "engine/message.hpp"
#include "engine/request.hpp"
#include "group/group.hpp"

#include <tutti/future.hpp>

#include <span>

namespace tutti::detail {

/// Returns whether the group's calls go through the functions below. Each takes a call with right arguments and issues it on a copy of its
/// memory.
bool checks(group& of) noexcept;
/// `place`: a reserved place in the order; 0: the next one.
future<> checked(group& of, const request& what, duration default_deadline, std::uint64_t place);
/// Once it has ended, no earlier call is reported as never awaited.
future<> checked_sync(group& of);
future<> checked_send(group& of, const message_call& what, duration default_deadline);
future<received> checked_recv(group& of, const message_call& what, duration default_deadline);
future<> checked_exchange(group& of, std::span<const transfer> parts, const message_call& whole, duration default_deadline);

}  // namespace tutti::detail
