#include "launcher.hpp"

#include "exec.hpp"

#include <sys/signalfd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <system_error>
#include <utility>

namespace launch {
namespace {

/// The exit code of a rank that has saved its state, and wants to be started again (EX_TEMPFAIL of sysexits.h).
constexpr int try_again_code = 75;

constexpr int unwritten_code = 1, timeout_code = 124, not_executable_code = 126, not_found_code = 127;

/// How long what a rank has left behind may go on printing.
constexpr milliseconds last_words{500};

/// Between the first failing exit and the verdict on who failed first.
constexpr milliseconds afterthought{100};

/// After the time limit or a signal: how long a reader of our output may stall before it loses the rest. Until then it is waited for
/// without limit, as by any program that writes to a pipe.
constexpr milliseconds reader_patience{2000};

/// The time in which a second signal is taken for the first: timeout, for example, sends it to us and to our group.
constexpr milliseconds one_signal{1000};

/// The ranks get them and are to end; the others they just get.
constexpr int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT}, others[] = {SIGUSR1, SIGUSR2};

bool ends(int signal) { return std::find(std::begin(ending_signals), std::end(ending_signals), signal) != std::end(ending_signals); }

/// A signal that our parent has had ignored, as nohup does, stays ignored.
void add_unless_ignored(sigset_t& set, int signal) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) ::sigaddset(&set, signal);
}

std::string seconds(milliseconds time) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", std::chrono::duration<double>(time).count());
    return text;
}

std::string signal_name(int signal) { return "signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")"; }

}  // namespace

launcher::launcher(job run) : run_(std::move(run)) {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int signal : ending_signals) add_unless_ignored(set, signal);
    for (const int signal : others) add_unless_ignored(set, signal);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    signals_ = tutti::file_descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_) throw std::system_error(errno, std::generic_category(), "cannot receive signals");
    if (run_.wanted.timeout) timeout_ = clock::now() + *run_.wanted.timeout;
}

int launcher::run() {
    if (start_all()) {
        while (any_running()) turn();
        drain();
    }
    if (all_others_try_again()) exit_code_ = try_again_code;
    deliver();
    return exit_code_.value_or(0);
}

bool launcher::all_others_try_again() const {
    return culprit_ != nullptr && children_.size() > 1 && std::all_of(children_.begin(), children_.end(), [this](const child& one) {
        return &one == culprit_ || (one.how().signal == 0 && one.how().code == try_again_code);
    });
}

bool launcher::start_all() {
    children_.reserve(static_cast<std::size_t>(run_.wanted.ranks));
    for (int rank = 0; rank < run_.wanted.ranks; ++rank) {
        child& next = children_.emplace_back(rank, run_, output_);
        const int error = next.start(run_);
        if (rank == 0) run_.listener.close();  // rank 0 holds it now: when rank 0 ends, the others are refused at once
        if (rank == 0 && next.no_terminal() != 0)
            say(std::string("no pseudo-terminals (") + std::strerror(next.no_terminal()) + "): what ranks print may come late, and be lost when they are killed");
        if (error == 0) continue;
        say("cannot start rank " + std::to_string(rank) + " (" + run_.program + "): " + std::strerror(error));
        exit_code_ = error == ENOENT ? not_found_code : not_executable_code;
        children_.clear();
        return false;
    }
    return true;
}

bool launcher::any_running() const {
    return std::any_of(children_.begin(), children_.end(), [](const child& one) { return one.running(); });
}

bool launcher::any_speaking() const {
    return std::any_of(children_.begin(), children_.end(), [](const child& one) { return !one.silent(); });
}

std::vector<pollfd> launcher::watched() const {
    std::vector<pollfd> all{{signals_.number(), POLLIN, 0}};
    if (!output_.empty()) all.push_back({output_.descriptor(), POLLOUT, 0});
    for (const child& one : children_) {
        if (one.running()) all.push_back({one.process(), POLLIN, 0});
        if (output_.full()) continue;
        if (one.out() >= 0) all.push_back({one.out(), POLLIN, 0});
        if (one.err() >= 0) all.push_back({one.err(), POLLIN, 0});
    }
    return all;
}

int launcher::wait_ms(clock::time_point latest) const {
    clock::time_point next = latest;
    if (stage_end_) next = std::min(next, *stage_end_);
    if (timeout_) next = std::min(next, *timeout_);
    if (verdict_) next = std::min(next, *verdict_);
    if (next == clock::time_point::max()) return -1;
    const auto left = std::chrono::ceil<milliseconds>(next - clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

void launcher::turn(clock::time_point latest) {
    std::vector<pollfd> events = watched();
    if (::poll(events.data(), events.size(), wait_ms(latest)) > 0)
        for (const pollfd& event : events)
            if (event.revents != 0) handle(event);
    note_endings();
    look_at_clock();
}

void launcher::handle(const pollfd& event) {
    if (event.fd == signals_.number()) return read_signals();
    if ((event.events & POLLOUT) != 0) {
        const std::size_t before = output_.bytes();
        const int error = output_.write_some();
        if (output_.bytes() < before) taken_ = clock::now();
        if (error == EPIPE) fail(128 + SIGPIPE, "nobody reads the output any more");
        else if (error != 0) fail(unwritten_code, std::string("cannot write the output: ") + std::strerror(error));
        return;
    }
    for (child& one : children_) {
        if (event.fd == one.out()) return one.read_out();
        if (event.fd == one.err()) return one.read_err();
        if (event.fd == one.process()) return one.note_end();
    }
}

void launcher::note_endings() {
    if (exit_code_) return verdict_.reset();
    // The system tells of a killed process a little later than its connections tell its peers, and then it is the cause of their ends.
    const child* culprit = nullptr;
    for (const child& one : children_) {
        if (one.running() || !one.how().failed()) continue;
        if (one.how().signal != 0 && culprit == nullptr) culprit = &one;
        if (suspect_ == nullptr) {
            suspect_ = &one;
            verdict_ = clock::now() + afterthought;
        }
    }
    if (culprit == nullptr && suspect_ != nullptr && (clock::now() >= *verdict_ || !any_running())) culprit = suspect_;
    if (culprit == nullptr) return;
    verdict_.reset();
    culprit_ = culprit;
    fail(culprit->how().exit_code(), "rank " + std::to_string(culprit->rank()) + " " + to_string(culprit->how()));
}

void launcher::fail(int code, const std::string& why) {
    if (exit_code_) return;
    exit_code_ = code;
    say(why + (any_running() ? "; ending the others" : ""));
    if (stage_ == stage::running) next_stage(stage::leaving);
}

void launcher::next_stage(stage to) {
    stage_ = to;
    stage_end_ = clock::now() + run_.wanted.grace;
    if (to == stage::terminated) send_all(SIGTERM), send_all(SIGCONT);
    if (to != stage::killed) return;
    stage_end_.reset();
    send_all(SIGKILL);
}

void launcher::look_at_clock() {
    const auto now = clock::now();
    if (timeout_ && now >= *timeout_) {
        timeout_.reset();
        call_off(timeout_code);
        if (any_running()) {
            say("the time limit of " + seconds(*run_.wanted.timeout) + " s has passed; ending all ranks");
            exit_code_ = timeout_code;
            next_stage(stage::terminated);
        }
    }
    if (stage_end_ && now >= *stage_end_) end_stage();
}

void launcher::end_stage() {
    const bool leaving = stage_ == stage::leaving;
    const std::string within = " within " + seconds(run_.wanted.grace) + " s (--grace): ";
    if (any_running()) say(running_ranks() + (leaving ? " did not end" : " did not obey SIGTERM") + within + (leaving ? "SIGTERM is sent" : "killed"));
    next_stage(leaving ? stage::terminated : stage::killed);
}

std::string launcher::running_ranks() const {
    constexpr int told = 16;
    std::string names;
    int count = 0;
    for (const child& one : children_)
        if (one.running() && ++count <= told) names += (count > 1 ? ", " : "") + std::to_string(one.rank());
    if (count > told) names += " and " + std::to_string(count - told) + " more";
    return (count == 1 ? "rank " : "ranks ") + names;
}

void launcher::read_signals() {
    signalfd_siginfo info;
    while (::read(signals_.number(), &info, sizeof info) == sizeof info) {
        const int signal = static_cast<int>(info.ssi_signo);
        if (!ends(signal)) send_all(signal);
        else heed(signal);
    }
}

/// The first one is passed on, the next one kills.
void launcher::heed(int signal) {
    const auto now = clock::now();
    if (signal == heeded_ && now < heeded_at_ + one_signal) return;
    const bool first = std::exchange(heeded_, signal) == 0;
    heeded_at_ = now;
    call_off(128 + signal);
    if (first) {
        say("received " + signal_name(signal) + (any_running() ? "; passing it on to all ranks" : ""));
        send_all(signal);
        send_all(SIGCONT);  // a rank that is stopped could not end
        return;
    }
    say("received " + signal_name(signal) + ", too; killing all ranks");
    if (!exit_code_) exit_code_ = 128 + signal;
    next_stage(stage::killed);
}

void launcher::send_all(int signal) {
    for (child& one : children_)
        if (one.running()) one.send(signal);
}

void launcher::call_off(int code) {
    if (!called_off_) called_off_ = code;
}

void launcher::drain() {
    const auto end = clock::now() + last_words;
    while (any_speaking() && clock::now() < end) turn(end);
    for (child& one : children_) one.stop_reading();
}

void launcher::deliver() {
    taken_ = clock::now();
    while (!output_.empty()) {
        turn(called_off_ ? taken_ + reader_patience : clock::time_point::max());
        if (!output_.empty() && called_off_ && clock::now() >= taken_ + reader_patience) give_up();
    }
}

void launcher::give_up() {
    if (!exit_code_) exit_code_ = *called_off_;
    const int stalled = output_.descriptor();
    const std::size_t lost = output_.drop(stalled);
    if (stalled == STDERR_FILENO) return;
    say("nobody has read the output for " + seconds(reader_patience) + " s; its last " + std::to_string(lost) + " bytes are lost");
}

void launcher::say(const std::string& line) { output_.put(STDERR_FILENO, "tutti-run: " + line + "\n"); }

}  // namespace launch
