// Who this process is among the ranks of its job, as the launcher tells it. Nothing is guessed, and nothing is read unless asked.
#pragma once

#include <tutti/detail/compiler.hpp>
#include <tutti/result.hpp>

#include <functional>
#include <optional>
#include <string>

namespace [[gnu::visibility("default")]] tutti {

struct world {
    rank me = 0;
    int size = 1;
    rank local_rank = -1;                // among the ranks of this host; -1: the launcher does not tell
    int local_size = 0;                  // ranks on this host; 0: the launcher does not tell
    std::string master_address{};        // where rank 0 can be reached; empty: the launcher does not tell
    std::uint16_t master_port = 0;       // where rank 0 keeps the store; 0: the launcher does not tell
    int store_descriptor = -1;           // rank 0: a listening socket that tutti-run has bound to master_port
    std::string store_path{};            // a file store instead, for ranks of one host
    std::string job{};                   // tells this job's keys in a store from another's
    std::uint32_t epoch = 0;             // how often the launcher has started the job again
    std::string source = "one process";  // whose variables said so
};

/// The value of an environment variable, if it is set.
using environment = std::function<std::optional<std::string>(const std::string& variable)>;

/// Reads the variables of tutti-run, torchrun, Open MPI, MPICH and Intel MPI (Hydra), Flux, Slurm (in a step), an indexed Kubernetes
/// job, or plain RANK and WORLD_SIZE; a launcher started inside another one wins. Without any of them: one process, rank 0 of 1.
/// error::bad_launch when they contradict each other, or when one that is needed is missing or is not a number.
TUTTI_API result<world> world_from(const environment& variables);
TUTTI_API result<world> world_from_environment();

/// Whether all ranks are on this host, as far as the launcher tells.
TUTTI_API bool on_one_host(const world& all) noexcept;

/// The address this rank should listen on for its peers, when no connection tells (store::local_address): loopback when all ranks are on this
/// host, otherwise the one from which this host reaches the master, or, where its name means nothing or only this host, the first one that is
/// not for this host alone. Empty when there is none. Blocks while the name is looked up.
TUTTI_API std::string listen_address(const world& all);

}  // namespace tutti
