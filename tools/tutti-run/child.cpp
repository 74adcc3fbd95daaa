#include "child.hpp"

#include "exec.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace launch {
namespace {

std::string prefix(const job& run, int rank) { return run.wanted.prefix ? "[" + std::to_string(rank) + "] " : ""; }

int open_pipe(tutti::file_descriptor& reading, tutti::file_descriptor& writing) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
    reading = tutti::file_descriptor(ends[0]);
    writing = tutti::file_descriptor(ends[1]);
    return 0;
}

/// As a pipe that its writer takes for a terminal, and so hands over line by line: a program that writes to a pipe keeps kilobytes to itself, which
/// are lost when it is killed. Raw, so bytes pass as they are; and of no session, so it sends no signals.
int open_terminal(tutti::file_descriptor& reading, tutti::file_descriptor& writing) {
    reading = tutti::file_descriptor(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    char name[64];
    if (!reading || ::grantpt(reading.number()) != 0 || ::unlockpt(reading.number()) != 0 || ::ptsname_r(reading.number(), name, sizeof name) != 0)
        return errno;
    writing = tutti::file_descriptor(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
    termios as_they_are{};
    if (!writing || ::tcgetattr(writing.number(), &as_they_are) != 0) return errno;
    ::cfmakeraw(&as_they_are);
    return ::tcsetattr(writing.number(), TCSANOW, &as_they_are) == 0 ? 0 : errno;
}

/// The errno of a program that could not be started; 0 when it runs (the pipe closed itself).
int exec_error(const tutti::file_descriptor& status) {
    int error = 0;
    ssize_t count;
    do count = ::read(status.number(), &error, sizeof error);
    while (count < 0 && errno == EINTR);
    return count == sizeof error ? error : 0;
}

}  // namespace

void open_listener(job& run) {
    run.listener = tutti::file_descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (!run.listener || ::bind(run.listener.number(), generic, size) != 0 || ::listen(run.listener.number(), SOMAXCONN) != 0 ||
        ::getsockname(run.listener.number(), generic, &size) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot listen on 127.0.0.1");
    run.port = ntohs(address.sin_port);
}

std::string to_string(const ending& how) {
    if (how.signal == 0) return "exited with code " + std::to_string(how.code);
    return "was killed by signal " + std::to_string(how.signal) + " (" + ::strsignal(how.signal) + ")";
}

child::child(int rank, const job& run, output& to)
    : rank_(rank),
      out_lines_(to, STDOUT_FILENO, prefix(run, rank)),
      err_lines_(to, STDERR_FILENO, prefix(run, rank)) {}

child::~child() {
    if (pid_ <= 0) return;
    send(SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
}

int child::start(const job& run) {
    tutti::file_descriptor out, err, status, told;
    no_terminal_ = open_terminal(out_, out);
    if (no_terminal_ != 0) {
        if (const int error = open_pipe(out_, out)) return error;
    }
    if (const int error = open_pipe(err_, err)) return error;
    if (const int error = open_pipe(told, status)) return error;
    ::fcntl(out_.number(), F_SETFL, O_NONBLOCK);
    ::fcntl(err_.number(), F_SETFL, O_NONBLOCK);
    const exec_plan plan(run, rank_);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) return errno;
    if (pid_ == 0) become(plan, parent, out.number(), err.number(), status.number());
    running_ = true;
    ::setpgid(pid_, pid_);  // the rank does it too, as either may come first
    status.close();
    process_ = tutti::file_descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    if (!process_) return errno;
    return exec_error(told);
}

void child::note_end() {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != pid_) return;
    running_ = false;
    (info.si_code == CLD_EXITED ? how_.code : how_.signal) = info.si_status;
    process_.close();
}

std::size_t child::read(tutti::file_descriptor& from, line_collector& to) {
    char buffer[64 * 1024];
    const ssize_t count = ::read(from.number(), buffer, sizeof buffer);
    if (count > 0) to.add({buffer, static_cast<std::size_t>(count)});
    if (count > 0) return static_cast<std::size_t>(count);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    to.finish();
    from.close();
    return 0;
}

void child::read_rest(tutti::file_descriptor& from, line_collector& to) {
    // Not to its end: what the rank left behind may print for ever.
    int left = 0;
    if (!from || ::ioctl(from.number(), FIONREAD, &left) != 0) left = 0;
    while (left > 0) {
        const std::size_t count = read(from, to);
        if (count == 0) break;
        left -= static_cast<int>(count);
    }
    to.finish();
    from.close();
}

void child::stop_reading() {
    read_rest(out_, out_lines_);
    read_rest(err_, err_lines_);
}

void child::send(int signal) noexcept {
    // Not yet reaped, so neither the pid nor the group of that number can belong to anybody else.
    if (pid_ > 0) ::kill(-pid_, signal);
}

}  // namespace launch
