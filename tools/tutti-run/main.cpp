// tutti-run: starts N ranks of a program on this host, shows what they print, and ends them together.
#include "exec.hpp"
#include "launcher.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace {

/// Each rank needs three files here and its own in the program.
void raise_file_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// A descriptor that we open and a rank inherits must not take the number of a closed standard stream: ranks would write to it.
void open_standard_streams() {
    int opened;
    do opened = ::open("/dev/null", O_RDWR);
    while (opened >= 0 && opened <= STDERR_FILENO);
    if (opened < 0) throw std::system_error(errno, std::generic_category(), "cannot open /dev/null");
    ::close(opened);
}

std::string fresh_id() {
    unsigned long long bits = 0;
    if (::getrandom(&bits, sizeof bits, 0) != sizeof bits) throw std::system_error(errno, std::generic_category(), "getrandom");
    char text[2 * sizeof bits + 1];
    std::snprintf(text, sizeof text, "%016llx", bits);
    return text;
}

int launch_all(const launch::options& wanted) {
    const std::string program = launch::find_program(wanted.command.front());
    if (program.empty()) {
        const int error = errno;
        std::fprintf(stderr, "tutti-run: cannot start %s: %s\n", wanted.command.front().c_str(),
                     error == ENOENT ? "no such program" : std::strerror(error));
        return error == ENOENT || error == ENOTDIR ? 127 : 126;
    }
    launch::job run{wanted, program, fresh_id(), {}, 0};
    launch::open_listener(run);
    launch::launcher all(std::move(run));
    return all.run();
}

}  // namespace

int main(int argc, char** argv) {
    try {
        open_standard_streams();
        const auto parsed = launch::parse(argc, argv);
        if (const int* code = std::get_if<int>(&parsed)) return *code;
        raise_file_limit();
        return launch_all(std::get<launch::options>(parsed));
    } catch (const std::system_error& refused) {
        std::fprintf(stderr, "tutti-run: %s\n", refused.what());
        return 126;
    }
}
