// The checking mode: calls that look, beside what they do, for mistakes in the use of memory, threads and futures.
#pragma once

#include "group/group.hpp"
#include "engine/message.hpp"
#include "engine/request.hpp"

#include <tutti/future.hpp>

#include <span>

namespace tutti::detail {

/// Whether the group's calls are to be made by these. Each is given what is right otherwise, and begins it on a copy of its memory.
bool checks(group& of) noexcept;
/// `place`: reserved; 0: the next.
future<> checked(group& of, const request& what, duration default_deadline, std::uint64_t place);
/// Who has awaited it has looked at the end of all calls before.
future<> checked_sync(group& of);
future<> checked_send(group& of, const message_call& what, duration default_deadline);
future<received> checked_recv(group& of, const message_call& what, duration default_deadline);
future<> checked_exchange(group& of, std::span<const transfer> parts, const message_call& whole, duration default_deadline);

}  // namespace tutti::detail
