// Which addresses a rank and the store have, from what the launcher says, and from connections that are there.
#pragma once

#include <tutti/world.hpp>

#include <optional>
#include <string>

namespace tutti {

/// Whether the launcher says so; false where it does not tell.
bool on_several_hosts(const world& all) noexcept;
/// Whether that is an address which each host uses for itself.
bool names_loopback(const std::string& host);

/// Where the other ranks look for the store: a name or a number. Loopback where all ranks are on this host.
std::string store_host(const world& all);
/// Where a rank listens for its peers, when it is connected with the store by the address `reached` of this host (empty: not known). None
/// where that is loopback and there may be other hosts: only rank 0 can tell by which address those reach this one.
std::optional<std::string> address_for_peers(const world& all, const std::string& reached);
/// Numeric: where rank 0 listens for the store. Empty for all of its addresses, because it cannot know by which of them the others find it:
/// what a name means may differ from host to host, and a number may be that of a gateway.
std::string store_bind_address(const world& all);
/// "127.0.0.1:29500", "[::1]:29500"; "*:29500" for all addresses.
std::string place_of(const std::string& host, std::uint16_t port);

}  // namespace tutti
