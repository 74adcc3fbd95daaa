// A forked process, for tests of what ends a process.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>

namespace tutti::test {

struct forked_end {
    int code = -1;  // 128 + signal when one ended it
    std::string err;
};

/// Runs `body` in a process of its own, which ends with 0 when it returns, and by SIGALRM after 30 seconds. No other threads may run here.
inline forked_end in_a_fork(const std::function<void()>& body) {
    int ends[2];
    if (::pipe(ends) != 0) return {};
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(ends[1], STDERR_FILENO);
        ::signal(SIGABRT, SIG_DFL);  // not the test program's
        ::alarm(30);
        int code = 0;
        try {
            body();
        } catch (const std::exception& why) {
            std::fprintf(stderr, "%s\n", why.what());
            code = 1;
        }
        ::_exit(code);
    }
    ::close(ends[1]);
    forked_end end;
    char text[4096];
    for (ssize_t count = 0; (count = ::read(ends[0], text, sizeof text)) > 0;) end.err.append(text, static_cast<std::size_t>(count));
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    end.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return end;
}

}  // namespace tutti::test
