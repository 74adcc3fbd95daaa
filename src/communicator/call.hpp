// How a call of a communicator becomes a request, and what becomes of one that cannot be right.
#pragma once

#include <tutti/communicator.hpp>

#include "validation/arguments.hpp"

#include <string_view>

namespace tutti {
class engine;
}

namespace tutti::detail {

class group;

/// `shape` is the memory that has as many elements as the request counts.
request make(collective kind, const_buffer shape, const void* input, void* output, const call_options& options);
/// The next of the places that were reserved on this engine for such calls as `what`.
complaint take_place(const engine& of, const request& what, std::uint64_t& place);
/// Issues `what`, or keeps it for later. With a complaint it fails the communicator.
future<> issue(group& group, const request& what, complaint wrong);
/// A call that cannot be right fails the communicator, because the other ranks wait for it.
void refuse(group& group, std::string_view what, error code, std::string_view problem);

}  // namespace tutti::detail
