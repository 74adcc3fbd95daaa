// Makes sure that a tool's output has arrived when the tool ends with success.
#pragma once

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

namespace tutti {

/// Throws std::system_error where standard output did not take all that was printed.
inline void flush_output() {
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot write the output");
}

/// For people who watch: it is there at once.
inline void print_now(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    flush_output();
}

/// The exit code of `main`; or 1, and a line that says why, where it ended well and its output did not.
template <class Main>
int with_output(const char* tool, Main&& main) {
    try {
        const int code = main();
        if (code == 0) flush_output();
        return code;
    } catch (const std::system_error& refused) {
        std::fprintf(stderr, "%s: %s\n", tool, refused.what());
        return 1;
    }
}

}  // namespace tutti
