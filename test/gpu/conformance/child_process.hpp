// This very program, started again as one rank of several, under a time limit.
#pragma once

#include <sys/types.h>
#include <string>
#include <vector>

namespace tutti::test {

/// The orders of a started rank, read from the environment.
struct rank_orders {
    int me = -1;  // -1: this process was not started as a rank
    int size = 0;
    std::string engine;  // "nccl" or "staged"
    std::string store;   // a file

    static rank_orders of_this_process();
};

class child_process {
public:
    /// Runs the test case of this name, with more variables ("NAME=value").
    child_process(const rank_orders& orders, const std::string& test_case, const std::vector<std::string>& variables);
    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;
    /// Kills it if it has not ended.
    ~child_process();

    /// Its exit code when it has ended, 128 + N when a signal ended it; else -1.
    int ended();

private:
    pid_t id_ = -1;
    int code_ = -1;
};

}  // namespace tutti::test
