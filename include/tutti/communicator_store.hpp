// A store whose keys travel over a communicator.
#pragma once

#include <tutti/detail/compiler.hpp>
#include <tutti/communicator.hpp>
#include <tutti/store.hpp>

#include <memory>

namespace [[gnu::visibility("default")]] tutti {

/// Makes a store for ranks that are joined already, to exchange values outside the order of calls or to join others. It needs no server,
/// port or file. All ranks of `ranks` call it, in the order of their splits: its messages use a child of `ranks`, which may outlive it.
/// Rank 0 keeps the keys; its context answers on its progress loop, whatever the rank itself does. When a rank dies, every operation of the
/// others ends with error::peer_died. Used like any store, on one loop.
TUTTI_API task<std::unique_ptr<store>> store_over(communicator& ranks);

}  // namespace tutti
