// A store whose keys ride on a communicator.
#pragma once

#include <tutti/detail/compiler.hpp>
#include <tutti/communicator.hpp>
#include <tutti/store.hpp>

#include <memory>

namespace [[gnu::visibility("default")]] tutti {

/// For ranks that are joined already, and want to leave each other values out of turn, or to join others: no server, port or file of its own. All
/// ranks of `ranks` call it, in the order of its splits: the keys' messages travel on a child of it, which may outlive it. Rank 0 keeps the
/// keys, and its context answers, on its progress loop, whatever the rank itself does. When a rank dies, every operation of the others ends with
/// error::peer_died. Used like any store, on one loop.
TUTTI_API task<std::unique_ptr<store>> store_over(communicator& ranks);

}  // namespace tutti
