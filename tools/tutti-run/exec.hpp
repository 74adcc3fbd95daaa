// The child's steps between fork and exec: everything that allocates is prepared before, the rest is plain system calls.
#pragma once

#include "base/core_set.hpp"

#include <sys/types.h>
#include <string>
#include <vector>

namespace launch {

struct job;

class exec_plan;

/// In the new process. Writes the errno to `status` when the program cannot be started.
[[noreturn]] void become(const exec_plan& plan, pid_t parent, int out, int err, int status) noexcept;

/// The program, its arguments and its environment, ready for exec.
class exec_plan {
public:
    exec_plan(const job& run, int rank);

private:
    friend void become(const exec_plan& plan, pid_t parent, int out, int err, int status) noexcept;

    std::string program_;
    std::vector<std::string> environment_;
    std::vector<char*> arguments_;  // null-terminated, as exec wants them
    std::vector<char*> variables_;
    int listener_;  // -1: not for this rank
    tutti::core_set cores_;  // none: all that there are
    bool keeps_input_;
};

/// Where `name` is, as the shell would find it; empty, and errno says why, when there is none.
std::string find_program(const std::string& name);

}  // namespace launch
