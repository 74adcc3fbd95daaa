// The table of launchers, with the environment variables of each.
#pragma once

#include <tutti/world.hpp>

#include <span>

namespace tutti {

/// Names of environment variables. Alternatives are separated by a space, the preferred one first. Empty: the launcher sets none.
struct launcher {
    const char* name;
    bool (*applies)(const environment&) = nullptr;  // null: whenever its rank or size is set
    const char* rank;
    const char* size;
    const char* local_rank = "";
    const char* local_size = "";
    const char* job = "";
    const char* epoch = "";
    /// Launchers are started inside one another. A launcher may contradict another one of a lower level, which is then around it.
    int level;
    bool tells_master = false;  // it sets MASTER_ADDR and MASTER_PORT
};

/// Most trusted first.
std::span<const launcher> known_launchers() noexcept;

/// Returns the number of ranks that Slurm has put on this node: entry `node` of a list like "2(x3),1"; 0 if the list does not say.
int slurm_tasks_on_node(const std::string& list, int node) noexcept;

}  // namespace tutti
