// This process's rank and job, as the launcher gives them. Nothing is guessed, and nothing is read before the call.
#pragma once

#include <tutti/detail/compiler.hpp>
#include <tutti/result.hpp>

#include <functional>
#include <optional>
#include <string>

namespace [[gnu::visibility("default")]] tutti {

/// This process's place in its job, as the launcher gives it.
struct world {
    rank me = 0;
    int size = 1;
    rank local_rank = -1;                // among the ranks of this host; -1: unknown to the launcher
    int local_size = 0;                  // ranks on this host; 0: unknown to the launcher
    std::string master_address{};        // where rank 0 can be reached; empty: unknown to the launcher
    std::uint16_t master_port = 0;       // where rank 0 keeps the store; 0: unknown to the launcher
    int store_descriptor = -1;           // rank 0: a listening socket that tutti-run has bound to master_port; -1: none
    std::string store_path{};            // use this file as the store, for ranks of one host
    std::string job{};                   // separates this job's keys in a store from another job's
    std::uint32_t epoch = 0;             // how often the launcher has restarted the job
    std::string source = "one process";  // the launcher whose variables were read
};

/// Returns the value of an environment variable, if it is set.
using environment = std::function<std::optional<std::string>(const std::string& variable)>;

/// Reads the variables of tutti-run, torchrun, Open MPI, MPICH and Intel MPI (Hydra), Flux, Slurm (in a step), an indexed Kubernetes job,
/// or plain RANK and WORLD_SIZE. A launcher started inside another one takes precedence. Without any of them: rank 0 of 1.
/// error::bad_launch if variables contradict each other, or a required one is missing or not a number.
TUTTI_API result<world> world_from(const environment& variables);
TUTTI_API result<world> world_from_environment();

/// Returns whether all ranks are on this host, as far as the launcher tells.
TUTTI_API bool on_one_host(const world& all) noexcept;

/// Returns the address to listen on for peers when no connection gives one (store::local_address). It is loopback if all ranks are on this
/// host, otherwise the address from which this host reaches the master. If the master's name is unknown, or means only this host, it is the
/// first address that is not for this host alone; empty if there is none. Blocks during the name look-up.
TUTTI_API std::string listen_address(const world& all);

}  // namespace tutti
