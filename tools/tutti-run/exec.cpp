#include "exec.hpp"

#include "child.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace launch {
namespace {

using namespace std::string_literals;

std::vector<std::string> variables_of(const job& run, int rank) {
    const std::string me = std::to_string(rank), size = std::to_string(run.wanted.ranks);
    std::vector<std::string> ours = {// As torchrun names them, for any program.
                                     "RANK=" + me, "WORLD_SIZE=" + size, "LOCAL_RANK=" + me, "LOCAL_WORLD_SIZE=" + size,
                                     "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + std::to_string(run.port),
                                     // Our own names, which win over those of a batch system around us.
                                     "TUTTI_RANK=" + me, "TUTTI_WORLD_SIZE=" + size, "TUTTI_LOCAL_RANK=" + me,
                                     "TUTTI_LOCAL_WORLD_SIZE=" + size, "TUTTI_JOB=" + run.id};
    if (rank == 0) ours.push_back("TUTTI_STORE_FD=" + std::to_string(run.listener.number()));
    return ours;
}

/// Variables of a launcher around us, which would tell our ranks something about another job.
constexpr std::string_view not_inherited[] = {"TUTTI_STORE_FD",      "TUTTI_STORE_PORT",
                                              "TUTTI_EPOCH",         "TORCHELASTIC_USE_AGENT_STORE",
                                              "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"};

std::string_view name_of(std::string_view variable) { return variable.substr(0, variable.find('=')); }

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> all;
    for (std::string& word : words) all.push_back(word.data());
    all.push_back(nullptr);
    return all;
}

/// Where each core has the same number of ranks, but more than one, ranks must not move. For a tenth of a second or so a rank that moves
/// leaves another rank a core of its own, and the others, for which that rank waits, share the rest.
tutti::core_set cores_of(const job& run, int rank) {
    tutti::core_set own;
    const tutti::core_set all = tutti::core_set::of_this_thread();
    const int count = all.count(), ranks = run.wanted.ranks;
    if (run.wanted.bind && count > 0 && ranks > count && ranks % count == 0) own.add(all.at(rank / (ranks / count)));
    return own;
}

bool executable(const std::string& path) {
    struct stat about {};
    if (::stat(path.c_str(), &about) != 0) return false;
    if (!S_ISREG(about.st_mode)) return errno = EACCES, false;
    return ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

exec_plan::exec_plan(const job& run, int rank)
    : program_(run.program),
      environment_(variables_of(run, rank)),
      listener_(rank == 0 ? run.listener.number() : -1),
      cores_(cores_of(run, rank)),
      keeps_input_(rank == 0 && ::isatty(STDIN_FILENO) == 0) {
    std::vector<std::string_view> replaced(std::begin(not_inherited), std::end(not_inherited));
    const std::size_t count = environment_.size();
    for (std::size_t i = 0; i < count; ++i) replaced.push_back(name_of(environment_[i]));
    std::vector<std::string> inherited;
    for (char** variable = ::environ; *variable != nullptr; ++variable)
        if (std::find(replaced.begin(), replaced.end(), name_of(*variable)) == replaced.end()) inherited.emplace_back(*variable);
    environment_.insert(environment_.end(), inherited.begin(), inherited.end());
    variables_ = pointers(environment_);
    // exec promises not to write to its arguments; its signature is older than const.
    for (const std::string& word : run.wanted.command) arguments_.push_back(const_cast<char*>(word.c_str()));
    arguments_.push_back(nullptr);
}

void become(const exec_plan& plan, pid_t parent, int out, int err, int status) noexcept {
    ::setpgid(0, 0);
    // A launcher that is killed takes its ranks along; it may have died before this line.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    if (!plan.keeps_input_) {
        const int nothing = ::open("/dev/null", O_RDONLY);
        if (nothing != STDIN_FILENO) ::dup2(nothing, STDIN_FILENO), ::close(nothing);
    }
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    if (plan.cores_.count() > 0) plan.cores_.bind_this_thread();  // if the system refuses they run anywhere
    if (plan.listener_ >= 0) ::fcntl(plan.listener_, F_SETFD, 0);
    ::execvpe(plan.program_.c_str(), plan.arguments_.data(), plan.variables_.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t written = ::write(status, &error, sizeof error);
    ::_exit(127);
}

std::string find_program(const std::string& name) {
    if (name.find('/') != std::string::npos) return executable(name) ? name : "";
    const char* path = std::getenv("PATH");
    std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
    int error = ENOENT;
    for (std::string folder; std::getline(folders, folder, ':');) {
        std::string candidate = (folder.empty() ? "."s : folder) + "/" + name;
        if (executable(candidate)) return candidate;
        if (errno == EACCES) error = EACCES;
    }
    errno = error;
    return "";
}

}  // namespace launch
