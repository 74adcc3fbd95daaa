// Which of this host's addresses to use. These functions may ask the name service, and then they block.
#pragma once

#include <tutti/world.hpp>

#include <string>

namespace tutti {

/// Numeric: where rank 0 listens for the store. Never the wildcard.
result<std::string> store_address(const world& all);

}  // namespace tutti
