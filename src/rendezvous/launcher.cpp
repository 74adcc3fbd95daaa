#include "rendezvous/launcher.hpp"

#include <charconv>

namespace tutti {
namespace {

constexpr int cluster = 0, mpi = 1, inner = 2;

bool from_torchrun(const environment& variables) { return variables("TORCHELASTIC_RUN_ID").has_value(); }

/// Inside sbatch and salloc Slurm's variables exist too, but there is one process: only a real step counts, not the reserved numbers of
/// the batch script and the interactive shell.
bool in_slurm_step(const environment& variables) {
    constexpr std::uint64_t first_reserved = 0xfffffff0;
    std::optional<std::string> step = variables("SLURM_STEP_ID");
    if (!step) step = variables("SLURM_STEPID");
    if (!step || !variables("SLURM_PROCID")) return false;
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(step->data(), step->data() + step->size(), number);
    return error == std::errc() && end == step->data() + step->size() && number < first_reserved;
}

/// The index counts pods. A variable of another launcher that counts ranks is better knowledge.
bool only_indexed_by_kubernetes(const environment& variables) { return variables("JOB_COMPLETION_INDEX") && !variables("RANK"); }

// After the launchers' own documentation and sources.
constexpr launcher launchers[] = {
    {"tutti-run", nullptr, "TUTTI_RANK", "TUTTI_WORLD_SIZE", "TUTTI_LOCAL_RANK", "TUTTI_LOCAL_WORLD_SIZE", "TUTTI_JOB", "TUTTI_EPOCH",
     inner, true},
    {"torchrun", from_torchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT",
     inner, true},
    {"Open MPI", nullptr, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
     "PMIX_NAMESPACE", "", mpi, false},
    {"Hydra", nullptr, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID PMI_LOCAL_RANK", "MPI_LOCALNRANKS PMI_LOCAL_SIZE", "PMI_JOBID", "", mpi,
     false},
    {"Flux", nullptr, "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", "", "FLUX_JOB_ID", "", cluster, false},
    {"Slurm", in_slurm_step, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS SLURM_NTASKS SLURM_NPROCS", "SLURM_LOCALID", "",
     "SLURM_JOB_ID SLURM_JOBID", "SLURM_RESTART_COUNT", cluster, false},
    {"an indexed Kubernetes job", only_indexed_by_kubernetes, "JOB_COMPLETION_INDEX", "WORLD_SIZE", "", "", "", "", cluster, false},
    {"the plain environment", nullptr, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "", "", inner, true},
};

}  // namespace

std::span<const launcher> known_launchers() noexcept { return launchers; }

int slurm_tasks_on_node(const std::string& list, int node) noexcept {
    const char* at = list.data();
    const char* const end = at + list.size();
    while (at < end) {
        int tasks = 0, repeated = 1;
        auto [rest, error] = std::from_chars(at, end, tasks);
        if (error != std::errc() || tasks < 1) return 0;
        if (rest != end && *rest == '(') {
            if (end - rest < 4 || rest[1] != 'x') return 0;
            const auto [closing, wrong] = std::from_chars(rest + 2, end, repeated);
            if (wrong != std::errc() || repeated < 1 || closing == end || *closing != ')') return 0;
            rest = closing + 1;
        }
        if (node < repeated) return tasks;
        node -= repeated;
        if (rest != end && *rest != ',') return 0;
        at = rest == end ? end : rest + 1;
    }
    return 0;
}

}  // namespace tutti
