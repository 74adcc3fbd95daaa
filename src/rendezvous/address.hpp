// The addresses of a rank and of the store, from the launcher's variables and from connections that exist already.
#pragma once

#include <tutti/world.hpp>

#include <optional>
#include <string>

namespace tutti {

/// Returns whether the launcher says that there are several hosts; false where it does not say.
bool on_several_hosts(const world& all) noexcept;
/// Returns whether an address is one that each host uses for itself.
bool names_loopback(const std::string& host);

/// Returns where the other ranks look for the store, as a name or a number. Loopback if all ranks are on this host.
std::string store_host(const world& all);
/// Returns where a rank listens for its peers. It is connected with the store by the address `reached` of this host (empty: unknown).
/// Nothing if that is loopback and there may be other hosts: only rank 0 knows by which address those reach this host.
std::optional<std::string> address_for_peers(const world& all, const std::string& reached);
/// Returns the numeric address on which rank 0 listens for the store; empty for all addresses. Rank 0 cannot know by which one the other
/// ranks find it: a name may mean different things on different hosts, and a number may be that of a gateway.
std::string store_bind_address(const world& all);
/// "127.0.0.1:29500", "[::1]:29500"; "*:29500" for all addresses.
std::string place_of(const std::string& host, std::uint16_t port);

}  // namespace tutti
