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
    {.name = "tutti-run",
     .rank = "TUTTI_RANK",
     .size = "TUTTI_WORLD_SIZE",
     .local_rank = "TUTTI_LOCAL_RANK",
     .local_size = "TUTTI_LOCAL_WORLD_SIZE",
     .job = "TUTTI_JOB",
     .epoch = "TUTTI_EPOCH",
     .level = inner,
     .tells_master = true},
    {.name = "torchrun",
     .applies = from_torchrun,
     .rank = "RANK",
     .size = "WORLD_SIZE",
     .local_rank = "LOCAL_RANK",
     .local_size = "LOCAL_WORLD_SIZE",
     .job = "TORCHELASTIC_RUN_ID",
     .epoch = "TORCHELASTIC_RESTART_COUNT",
     .level = inner,
     .tells_master = true},
    {.name = "Open MPI",
     .rank = "OMPI_COMM_WORLD_RANK",
     .size = "OMPI_COMM_WORLD_SIZE",
     .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
     .local_size = "OMPI_COMM_WORLD_LOCAL_SIZE",
     .job = "PMIX_NAMESPACE",
     .level = mpi},
    {.name = "Hydra",
     .rank = "PMI_RANK",
     .size = "PMI_SIZE",
     .local_rank = "MPI_LOCALRANKID PMI_LOCAL_RANK",
     .local_size = "MPI_LOCALNRANKS PMI_LOCAL_SIZE",
     .job = "PMI_JOBID",
     .level = mpi},
    {.name = "Flux",
     .rank = "FLUX_TASK_RANK",
     .size = "FLUX_JOB_SIZE",
     .local_rank = "FLUX_TASK_LOCAL_ID",
     .job = "FLUX_JOB_ID",
     .level = cluster},
    {.name = "Slurm",
     .applies = in_slurm_step,
     .rank = "SLURM_PROCID",
     .size = "SLURM_STEP_NUM_TASKS SLURM_NTASKS SLURM_NPROCS",
     .local_rank = "SLURM_LOCALID",
     .job = "SLURM_JOB_ID SLURM_JOBID",
     .epoch = "SLURM_RESTART_COUNT",
     .level = cluster},
    {.name = "an indexed Kubernetes job",
     .applies = only_indexed_by_kubernetes,
     .rank = "JOB_COMPLETION_INDEX",
     .size = "WORLD_SIZE",
     .level = cluster},
    {.name = "the plain environment",
     .rank = "RANK",
     .size = "WORLD_SIZE",
     .local_rank = "LOCAL_RANK",
     .local_size = "LOCAL_WORLD_SIZE",
     .level = inner,
     .tells_master = true},
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
