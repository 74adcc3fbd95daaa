// How a call of a communicator becomes a request. Each collective but monitored_barrier does three things, on the caller's thread:
//
//   make()    copies the arguments into a `request`; no memory is touched
//   check_*   (validation/arguments.hpp) finds what is wrong, before anything is sent
//   issue()   gives the request to engine::issue, which fixes its place in the order and returns a future
//
// A call with a wrong argument still goes through issue(): it fails the communicator, and its future ends with that.
#pragma once

#include <tutti/communicator.hpp>

#include "validation/arguments.hpp"

#include <string_view>

namespace tutti {
class engine;
}

namespace tutti::detail {

class group;

/// Makes a request of a kind. `shape` has the type and the count of the request; it is the input, or the output where only that counts.
request make(collective kind, const_buffer shape, const void* input, void* output, const call_options& options);
/// Takes the next reserved place that `what` names, if the place is of this engine.
complaint take_place(const engine& of, const request& what, std::uint64_t& place);
/// Issues `what`, or keeps it if the options have `keep` (a persistent call; the future is empty then). With a complaint it fails the
/// communicator. Any thread; it never blocks on a peer.
future<> issue(group& group, const request& what, complaint wrong);
/// Fails the communicator on all ranks because of a wrong call: the other ranks wait for it.
void refuse(group& group, std::string_view what, error code, std::string_view problem);
/// Returns the report of an abort() on rank `me`.
report aborted(rank me, std::string_view reason);

}  // namespace tutti::detail
