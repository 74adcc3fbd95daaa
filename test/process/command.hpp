// A program started by a test: what it printed, how it ended, and how long it took.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

struct outcome {
    int code = -1;  // 128 + signal when one killed it
    std::string out, err;
    std::chrono::milliseconds took{0};
};

class command {
public:
    /// Starts it. Its standard input is `input`.
    explicit command(const std::vector<std::string>& words, const std::string& input = "");
    command(const command&) = delete;
    command& operator=(const command&) = delete;
    /// Kills what still runs.
    ~command();

    pid_t pid() const noexcept { return pid_; }
    /// Until `text` has been seen on stdout; false when it ended, or a minute passed, without them.
    bool printed(const std::string& text);
    const outcome& so_far() const noexcept { return outcome_; }
    /// Until it has ended and its output is closed.
    const outcome& wait();
    /// The same, but nothing is read until it has ended.
    const outcome& wait_unread();

private:
    bool read_some();

    std::chrono::steady_clock::time_point begin_;
    pid_t pid_ = -1;
    int out_ = -1, err_ = -1;
    outcome outcome_;
};

/// Runs the launcher under test (named by the environment variable TUTTI_TEST_RUN) to its end.
outcome tutti_run(std::vector<std::string> arguments, const std::string& input = "");
std::vector<std::string> tutti_run_words(std::vector<std::string> arguments);
/// With an option before the `--`.
std::vector<std::string> with_option(const std::string& option, std::vector<std::string> words);
/// `-n ranks -- /bin/sh -c script`
std::vector<std::string> shells(int ranks, const std::string& script);

std::vector<std::string> lines(const std::string& text);
