// Watches the ranks of one run until all have ended: what they print, how they end, signals to us, time.
#pragma once

#include "child.hpp"

#include <poll.h>
#include <chrono>
#include <optional>
#include <vector>

namespace launch {

class launcher {
public:
    explicit launcher(job run);

    /// Starts all ranks, waits for all, returns the exit code.
    int run();

private:
    using clock = std::chrono::steady_clock;
    /// Each stage after the first has a time at which the next begins.
    enum class stage { running, leaving, terminated, killed };

    /// False, and none runs, when one could not be started.
    bool start_all();
    /// Waits for the next event, or until `latest`, and does what is due.
    void turn(clock::time_point latest = clock::time_point::max());
    std::vector<pollfd> watched() const;
    int wait_ms(clock::time_point latest) const;
    void read_signals();
    void heed(int signal);
    void handle(const pollfd& event);
    void note_endings();
    void look_at_clock();
    /// Reports the ranks that still run, and begins the next stage.
    void end_stage();
    /// "rank 1", "ranks 0, 2", with a limit.
    std::string running_ranks() const;
    /// Returns whether a rank failed and all others have saved their state.
    bool all_others_try_again() const;
    void next_stage(stage to);
    void send_all(int signal);
    void fail(int code, const std::string& why);
    void call_off(int code);
    void drain();
    /// Hands on what is left of the output.
    void deliver();
    void give_up();
    void say(const std::string& line);
    bool any_running() const;
    bool any_speaking() const;

    job run_;
    output output_;
    tutti::file_descriptor signals_;
    std::vector<child> children_;
    stage stage_ = stage::running;
    std::optional<clock::time_point> stage_end_, timeout_, verdict_;
    const child* culprit_ = nullptr;  // the rank that failed first
    const child* suspect_ = nullptr;  // the first that failed by itself, until the verdict
    std::optional<int> exit_code_;  // of the first failure
    std::optional<int> called_off_;  // by the time limit or a signal: the exit code if output is lost then
    clock::time_point taken_;        // when a reader last took some output
    int heeded_ = 0;                 // the last signal that is to end us
    clock::time_point heeded_at_;
};

}  // namespace launch
