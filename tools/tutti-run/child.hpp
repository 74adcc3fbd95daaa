// One rank as a process of ours: how it is started, what it prints, how it ended.
#pragma once

#include "options.hpp"
#include "output.hpp"

#include "base/file_descriptor.hpp"

#include <sys/types.h>

#include <string>

namespace launch {

/// The data that all ranks of a run share.
struct job {
    const options& wanted;
    std::string program;  // found in PATH
    std::string id;       // tells this run's keys in a store from those of any other run
    tutti::file_descriptor listener;  // where rank 0 will answer the others; bound before a rank starts, so no other run can take its port
    int port = 0;
};

/// Throws std::system_error.
void open_listener(job& run);

/// How a rank ended. It failed unless it exited with 0.
struct ending {
    int code = 0;
    int signal = 0;

    bool failed() const noexcept { return code != 0 || signal != 0; }
    int exit_code() const noexcept { return signal != 0 ? 128 + signal : code; }
};

/// "exited with code 3", "was killed by signal 9 (Killed)".
std::string to_string(const ending& how);

class child {
public:
    child(int rank, const job& run, output& to);
    child(child&&) = default;
    /// Ends everything the rank has left behind.
    ~child();

    /// 0, or the errno of the step that failed. Ranks start in order.
    int start(const job& run);

    /// 0, or why its output is a pipe, so that what it prints comes when its buffer is full: the errno of the terminal that could not be had.
    int no_terminal() const noexcept { return no_terminal_; }
    bool running() const noexcept { return running_; }
    int rank() const noexcept { return rank_; }
    const ending& how() const noexcept { return how_; }

    /// Readable when the process has ended.
    int process() const noexcept { return process_.number(); }
    int out() const noexcept { return out_.number(); }
    int err() const noexcept { return err_.number(); }
    bool silent() const noexcept { return !out_ && !err_; }

    /// When `process()` is readable: notes how it ended. The pid stays ours until the destructor, so a later signal cannot hit a stranger.
    void note_end();
    void read_out() { read(out_, out_lines_); }
    void read_err() { read(err_, err_lines_); }
    /// Takes what is in the pipes, and stops listening to what it left behind.
    void stop_reading();
    /// To the rank and everything it has started.
    void send(int signal) noexcept;

private:
    /// How many bytes there were.
    static std::size_t read(tutti::file_descriptor& from, line_collector& to);
    static void read_rest(tutti::file_descriptor& from, line_collector& to);

    int rank_;
    pid_t pid_ = -1;
    bool running_ = false;
    int no_terminal_ = 0;
    ending how_;
    tutti::file_descriptor process_, out_, err_;
    line_collector out_lines_, err_lines_;
};

}  // namespace launch
