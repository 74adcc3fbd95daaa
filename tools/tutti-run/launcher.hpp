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

    int start_all();
    void turn();
    std::vector<pollfd> watched() const;
    int wait_ms() const;
    void read_signals();
    void handle(const pollfd& event);
    void note_endings();
    void look_at_clock();
    void next_stage(stage to);
    void send_all(int signal);
    void fail(int code, const std::string& why);
    void drain();
    void say(const std::string& line);
    bool any_running() const;
    bool any_speaking() const;

    job run_;
    output output_;
    tutti::file_descriptor signals_;
    std::vector<child> children_;
    stage stage_ = stage::running;
    std::optional<clock::time_point> stage_end_, timeout_, verdict_;
    const child* suspect_ = nullptr;  // the first that failed by itself, until the verdict
    std::optional<int> exit_code_;  // of the first failure
    int signals_received_ = 0;
};

}  // namespace launch
