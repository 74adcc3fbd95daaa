#include <tutti/store.hpp>
#include <tutti/world.hpp>

#include "rendezvous/launcher.hpp"

#include <doctest/doctest.h>

#include <map>

using namespace tutti;

namespace {

using variables = std::map<std::string, std::string>;

result<world> read(const variables& all) {
    return world_from([&all](const std::string& name) -> std::optional<std::string> {
        const auto found = all.find(name);
        return found != all.end() ? std::optional<std::string>(found->second) : std::nullopt;
    });
}

struct row {
    const char* name;
    variables set;
    int me, size, local_rank, local_size;
    const char* source;
};

const variables slurm_step = {{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "7"},
                              {"SLURM_LOCALID", "1"}, {"SLURM_NODEID", "1"}, {"SLURM_STEP_TASKS_PER_NODE", "2(x3),1"},
                              {"SLURM_JOB_ID", "77"}};

variables with(variables base, const variables& more) {
    for (const auto& [name, value] : more) base[name] = value;
    return base;
}

const variables plain_launch = {{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}};
const variables torchrun = with(plain_launch, {{"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}, {"TORCHELASTIC_RUN_ID", "abc"}});
const variables open_mpi = {{"OMPI_COMM_WORLD_RANK", "2"},
                            {"OMPI_COMM_WORLD_SIZE", "3"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"},
                            {"PMIX_RANK", "2"},
                            {"PMIX_NAMESPACE", "prterun-7"}};
const variables hydra = {{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "2"}, {"MPI_LOCALNRANKS", "3"}, {"PMI_FD", "6"}};

const row launches[] = {
    {"nothing is set", {}, 0, 1, 0, 1, "one process"},
    {"an unrelated environment", {{"HOME", "/root"}, {"MASTER_ADDR", "left over"}}, 0, 1, 0, 1, "one process"},
    {"plain", plain_launch, 1, 4, -1, 0, "the plain environment"},
    {"torchrun", torchrun, 1, 4, 1, 2, "torchrun"},
    {"tutti-run", with(plain_launch, {{"TUTTI_RANK", "1"}, {"TUTTI_WORLD_SIZE", "4"}, {"TUTTI_LOCAL_RANK", "1"}, {"TUTTI_LOCAL_WORLD_SIZE", "4"}}),
     1, 4, 1, 4, "tutti-run"},
    {"Open MPI", open_mpi, 2, 3, 0, 1, "Open MPI"},
    {"Hydra", hydra, 2, 3, 2, 3, "Hydra"},
    {"Cray", {{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"PMI_LOCAL_RANK", "0"}, {"PMI_LOCAL_SIZE", "1"}}, 2, 3, 0, 1, "Hydra"},
    {"Flux", {{"FLUX_TASK_RANK", "2"}, {"FLUX_JOB_SIZE", "3"}, {"FLUX_TASK_LOCAL_ID", "0"}}, 2, 3, 0, 0, "Flux"},
    {"Slurm step", slurm_step, 3, 7, 1, 2, "Slurm"},
    {"indexed Kubernetes job", {{"JOB_COMPLETION_INDEX", "2"}, {"WORLD_SIZE", "3"}}, 2, 3, -1, 0, "an indexed Kubernetes job"},
    {"sbatch's own script", {{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}, 0, 1, 0, 1, "one process"},
    {"the batch step", with(slurm_step, {{"SLURM_STEP_ID", "4294967291"}}), 0, 1, 0, 1, "one process"},
    {"the interactive step", with(slurm_step, {{"SLURM_STEP_ID", "4294967290"}}), 0, 1, 0, 1, "one process"},
    {"a site without SLURM_NTASKS", {{"SLURM_STEPID", "1"}, {"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}}, 3, 4, -1, 0, "Slurm"},
    {"mpirun in a Slurm allocation", with(slurm_step, open_mpi), 2, 3, 0, 1, "Open MPI"},
    {"torchrun in a Slurm step", with(slurm_step, torchrun), 1, 4, 1, 2, "torchrun"},
    {"srun with pmi2", with(slurm_step, {{"PMI_RANK", "3"}, {"PMI_SIZE", "7"}}), 3, 7, -1, 0, "Hydra"},
    {"RANK counts nodes, one rank each", plain_launch, 1, 4, -1, 0, "the plain environment"},
    {"ranks that know better than their pod's index", with(plain_launch, {{"JOB_COMPLETION_INDEX", "0"}}), 1, 4, -1, 0, "the plain environment"},
    {"RANK set from Slurm's by hand", with(slurm_step, with(plain_launch, {{"RANK", "3"}, {"WORLD_SIZE", "7"}})), 3, 7, 1, 2, "Slurm"},
};

struct wrong_row {
    variables set;
    std::vector<const char*> told;
};

const wrong_row wrong[] = {
    {with(plain_launch, {{"RANK", "4"}}), {"RANK=4", "WORLD_SIZE=4"}},
    {with(plain_launch, {{"RANK", "-1"}}), {"RANK=-1"}},
    {with(plain_launch, {{"RANK", "one"}}), {"RANK=one", "not a whole number"}},
    {with(plain_launch, {{"RANK", "1x"}}), {"RANK=1x", "not a whole number"}},
    {with(plain_launch, {{"RANK", ""}}), {"RANK=", "not a whole number"}},
    {with(plain_launch, {{"RANK", "99999999999999"}}), {"RANK=99999999999999"}},
    {with(plain_launch, {{"WORLD_SIZE", "0"}}), {"WORLD_SIZE=0"}},
    {with(plain_launch, {{"MASTER_PORT", "70000"}}), {"MASTER_PORT=70000"}},
    {{{"RANK", "1"}}, {"WORLD_SIZE is not set", "RANK=1"}},
    {{{"WORLD_SIZE", "2"}}, {"RANK is not set", "WORLD_SIZE=2"}},
    {{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "1"}}, {"MASTER_ADDR is not set"}},
    {{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}, {"MASTER_PORT is not set"}},
    {{{"JOB_COMPLETION_INDEX", "2"}}, {"WORLD_SIZE is not set", "JOB_COMPLETION_INDEX=2"}},
    {{{"OMPI_COMM_WORLD_SIZE", "2"}}, {"OMPI_COMM_WORLD_RANK is not set", "Open MPI"}},
    {with(plain_launch, {{"LOCAL_RANK", "2"}, {"LOCAL_WORLD_SIZE", "2"}}), {"LOCAL_RANK=2", "LOCAL_WORLD_SIZE=2"}},
    {with(plain_launch, {{"LOCAL_WORLD_SIZE", "5"}}), {"LOCAL_WORLD_SIZE=5", "4 ranks"}},
    {with(plain_launch, open_mpi), {"Open MPI says rank 2", "OMPI_COMM_WORLD_RANK=2", "RANK=1"}},
    {with(with(plain_launch, {{"RANK", "2"}}), open_mpi), {"size 3", "OMPI_COMM_WORLD_SIZE=3", "WORLD_SIZE=4"}},
    {with(hydra, with(open_mpi, {{"PMI_RANK", "0"}})), {"OMPI_COMM_WORLD_RANK=2", "PMI_RANK=0"}},
    {with(plain_launch, slurm_step), {"SLURM_PROCID=3", "RANK=1"}},
    {with(plain_launch, {{"TUTTI_RANK", "0"}, {"TUTTI_WORLD_SIZE", "4"}}), {"TUTTI_RANK=0", "RANK=1"}},
    {with(open_mpi, {{"MASTER_PORT", "5"}}), {"MASTER_ADDR is not set"}},
    {with(plain_launch, {{"TUTTI_STORE", "http://x"}}), {"TUTTI_STORE=http://x"}},
    {with(plain_launch, {{"TUTTI_STORE", "file:/tmp/x"}}), {"TUTTI_STORE=file:/tmp/x", "TUTTI_JOB"}},
};

}  // namespace

TEST_CASE("each launcher's variables are understood, and the inner of two launchers wins") {
    for (const row& one : launches) {
        CAPTURE(one.name);
        result<world> all = read(one.set);
        if (!all) FAIL(all.failure().what());
        const world& told = *all;
        CHECK(told.me == one.me);
        CHECK(told.size == one.size);
        CHECK(told.local_rank == one.local_rank);
        CHECK(told.local_size == one.local_size);
        CHECK(told.source == one.source);
    }
}

TEST_CASE("a contradictory or incomplete launch is bad_launch and names the variables") {
    for (const wrong_row& one : wrong) {
        const result<world> all = read(one.set);
        CAPTURE(one.told.front());
        REQUIRE(!all);
        const std::string text = all.failure().what();
        CAPTURE(text);
        CHECK(all.failure().code() == error::bad_launch);
        for (const char* part : one.told) CHECK(text.find(part) != std::string::npos);
    }
}

TEST_CASE("the meeting point is read with the ranks") {
    world all = read(torchrun).value();
    CHECK(all.master_address == "node7");
    CHECK(all.master_port == 29500);
    CHECK(all.job == "abc");
    CHECK(all.store_descriptor == -1);
    all = read(with(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"TORCHELASTIC_RESTART_COUNT", "2"}})).value();
    CHECK(all.master_port == 29501);
    CHECK(all.epoch == 2);
    all = read(with(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"TUTTI_STORE_PORT", "4000"}})).value();
    CHECK(all.master_port == 4000);
    all = read(with(plain_launch, {{"RANK", "0"}, {"TUTTI_STORE_FD", "5"}})).value();
    CHECK(all.store_descriptor == 5);
    all = read(with(plain_launch, {{"TUTTI_STORE", "file:/tmp/x"}, {"TUTTI_JOB", "third"}, {"TUTTI_EPOCH", "1"}})).value();
    CHECK(all.store_path == "/tmp/x");
    CHECK(store_prefix(all) == "third/1");
}

TEST_CASE("Slurm's list of tasks per node is expanded") {
    struct {
        const char* list;
        int node, tasks;
    } const rows[] = {{"4", 0, 4},       {"4", 1, 0},     {"2(x3),1", 0, 2}, {"2(x3),1", 2, 2}, {"2(x3),1", 3, 1},
                      {"2(x3),1", 4, 0}, {"1,2,3", 1, 2}, {"", 0, 0},        {"x", 0, 0},       {"2(x", 0, 0},
                      {"2(x3", 0, 0},    {"2;3", 1, 0},   {"0", 0, 0},       {"2(x0)", 0, 0}};
    for (const auto& one : rows) {
        CAPTURE(one.list);
        CAPTURE(one.node);
        CHECK(slurm_tasks_on_node(one.list, one.node) == one.tasks);
    }
}
