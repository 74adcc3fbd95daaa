#include "output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace launch {
namespace {

/// A terminal that has some room, and a pipe that others fill, too, may block a writer. Our descriptor may be shared with other processes, so
/// it stays in blocking mode, and we open it once more for ourselves. None for files, which do not block, and sockets, which cannot be opened.
tutti::file_descriptor open_again(int descriptor) {
    struct stat about {};
    if (::isatty(descriptor) == 0 && (::fstat(descriptor, &about) != 0 || !S_ISFIFO(about.st_mode))) return {};
    const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
    return tutti::file_descriptor(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

}  // namespace

output::output() : own_out_(open_again(STDOUT_FILENO)), own_err_(open_again(STDERR_FILENO)) {}

void output::put(int descriptor, std::string text) {
    if (text.empty()) return;
    queued_bytes_ += text.size();
    queue_.push_back({descriptor, std::move(text), 0});
}

int output::write_some() {
    piece& first = queue_.front();
    const tutti::file_descriptor& own = first.descriptor == STDOUT_FILENO ? own_out_ : own_err_;
    // Where we could not open it again: a pipe or socket that is writable takes PIPE_BUF bytes without blocking.
    const std::size_t count = std::min<std::size_t>(PIPE_BUF, first.text.size() - first.written);
    const ssize_t written = ::write(own ? own.number() : first.descriptor, first.text.data() + first.written, count);
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) return 0;
    const int error = written < 0 ? errno : 0;
    const std::size_t gone = error != 0 ? first.text.size() - first.written : static_cast<std::size_t>(written);
    first.written += gone;
    queued_bytes_ -= gone;
    if (first.written == first.text.size()) queue_.pop_front();
    return error;
}

std::size_t output::drop(int descriptor) {
    const std::size_t before = queued_bytes_;
    std::erase_if(queue_, [&](const piece& one) {
        if (one.descriptor == descriptor) queued_bytes_ -= one.text.size() - one.written;
        return one.descriptor == descriptor;
    });
    return before - queued_bytes_;
}

line_collector::line_collector(output& to, int descriptor, std::string prefix)
    : to_(to),
      descriptor_(descriptor),
      prefix_(std::move(prefix)) {}

void line_collector::line(std::string& batch, std::string_view text) const {
    batch += prefix_;
    batch += text;
    batch += '\n';
}

void line_collector::add(std::string_view bytes) {
    std::string batch;
    if (prefix_.empty()) {
        // Whole lines, if they are not too long, and no byte more or less.
        partial_ += bytes;
        std::size_t whole = partial_.rfind('\n') + 1;
        if (whole == 0 && partial_.size() >= max_line_bytes) whole = partial_.size();
        std::string rest = partial_.substr(whole);
        partial_.resize(whole);
        return to_.put(descriptor_, std::exchange(partial_, std::move(rest)));
    }
    for (;;) {
        const std::size_t end = bytes.find('\n');
        partial_.append(bytes.substr(0, end));
        if (end == std::string_view::npos && partial_.size() < max_line_bytes) break;
        line(batch, partial_);
        partial_.clear();
        if (end == std::string_view::npos) break;
        bytes.remove_prefix(end + 1);
    }
    to_.put(descriptor_, std::move(batch));
}

void line_collector::finish() {
    if (partial_.empty()) return;
    std::string batch;
    if (prefix_.empty()) batch = partial_;
    else line(batch, partial_);
    partial_.clear();
    to_.put(descriptor_, std::move(batch));
}

}  // namespace launch
