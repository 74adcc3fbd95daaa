#include "command.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <utility>

namespace {

constexpr std::chrono::milliseconds patience{60'000};

/// False at its end.
bool read_into(int& from, std::string& to) {
    char buffer[64 * 1024];
    const ssize_t count = ::read(from, buffer, sizeof buffer);
    if (count > 0) return to.append(buffer, static_cast<std::size_t>(count)), true;
    if (count < 0 && errno == EINTR) return true;
    ::close(std::exchange(from, -1));
    return false;
}

}  // namespace

command::command(const std::vector<std::string>& words, const std::string& input) : begin_(std::chrono::steady_clock::now()) {
    int in[2], out[2], err[2];
    REQUIRE(::pipe2(in, O_CLOEXEC) == 0);
    REQUIRE(::pipe2(out, O_CLOEXEC) == 0);
    REQUIRE(::pipe2(err, O_CLOEXEC) == 0);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
        ::dup2(in[0], STDIN_FILENO);
        ::dup2(out[1], STDOUT_FILENO);
        ::dup2(err[1], STDERR_FILENO);
        // The program that started the tests may ignore them, as nohup does, and a shell cannot trap a signal that it was born to ignore.
        for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2}) ::signal(signal, SIG_DFL);
        ::execv(arguments[0], arguments.data());
        ::_exit(99);
    }
    for (const int end : {in[0], out[1], err[1]}) ::close(end);
    CHECK(::write(in[1], input.data(), input.size()) == static_cast<ssize_t>(input.size()));
    ::close(in[1]);
    out_ = out[0];
    err_ = err[0];
}

command::~command() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    for (const int end : {out_, err_})
        if (end >= 0) ::close(end);
}

bool command::read_some() {
    pollfd ends[] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
    const auto left = patience - std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin_);
    const int ready = ::poll(ends, 2, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready == 0) return false;
    if (ends[0].revents != 0) read_into(out_, outcome_.out);
    if (ends[1].revents != 0) read_into(err_, outcome_.err);
    return out_ >= 0 || err_ >= 0;
}

bool command::printed(const std::string& text) {
    while (outcome_.out.find(text) == std::string::npos)
        if (!read_some()) return outcome_.out.find(text) != std::string::npos;
    return true;
}

const outcome& command::wait() {
    if (pid_ < 0) return outcome_;
    while (read_some()) {}
    REQUIRE_MESSAGE((out_ < 0 && err_ < 0), "the program did not end");
    int status = 0;
    REQUIRE(::waitpid(pid_, &status, 0) == pid_);
    pid_ = -1;
    outcome_.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    outcome_.took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin_);
    return outcome_;
}

const outcome& command::wait_unread() {
    pollfd process{static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)), POLLIN, 0};
    REQUIRE(process.fd >= 0);
    const int ended = ::poll(&process, 1, static_cast<int>(patience.count()));
    ::close(process.fd);
    REQUIRE_MESSAGE(ended == 1, "the program did not end");
    return wait();
}

std::vector<std::string> tutti_run_words(std::vector<std::string> arguments) {
    const char* program = std::getenv("TUTTI_TEST_RUN");
    REQUIRE_MESSAGE(program != nullptr, "TUTTI_TEST_RUN names the launcher under test");
    arguments.insert(arguments.begin(), program);
    return arguments;
}

outcome tutti_run(std::vector<std::string> arguments, const std::string& input) {
    command started(tutti_run_words(std::move(arguments)), input);
    return started.wait();
}

std::vector<std::string> with_option(const std::string& option, std::vector<std::string> words) {
    words.insert(words.begin() + 2, option);
    return words;
}

std::vector<std::string> shells(int ranks, const std::string& script) {
    return {"-n", std::to_string(ranks), "--", "/bin/sh", "-c", script};
}

std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> all;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) all.push_back(line);
    return all;
}
