#include "rendezvous/log_file.hpp"

#include "rendezvous/wire.hpp"

#include "base/refused_by_system.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

namespace tutti {
namespace {

constexpr std::string_view mark = "tutti store 1\n";
constexpr std::size_t max_record_bytes = 2 * MiB;

/// Bytes of the length in front of a record.
constexpr std::size_t length_bytes = 4;

}  // namespace

failure log_file::refused(const char* what) const { return refused_by_system(fmt::format("cannot {} {}", what, path_)); }

result<log_file> log_file::open(const std::string& path) {
    log_file opened(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), path);
    if (opened.descriptor_ < 0) return opened.refused("open");
    struct stat about {};
    if (::fstat(opened.descriptor_, &about) != 0 || !S_ISREG(about.st_mode)) {
        errno = EINVAL;
        return opened.refused("keep a store in");
    }
    return opened;
}

log_file::log_file(log_file&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      read_bytes_(other.read_bytes_) {}

log_file::~log_file() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

result<bool> log_file::try_lock(bool exclusive) {
    if (::flock(descriptor_, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0) return true;
    if (errno == EWOULDBLOCK || errno == EINTR) return false;
    return refused("lock");
}

void log_file::unlock() noexcept { ::flock(descriptor_, LOCK_UN); }

/// A new file is empty, and its first writer marks it. Another file without the mark holds other data, and is refused.
result<> log_file::check_mark() {
    char begin[mark.size()];
    const ssize_t count = ::pread(descriptor_, begin, sizeof begin, 0);
    if (count < 0) return refused("read");
    const std::string_view found(begin, static_cast<std::size_t>(count));
    if (!mark.starts_with(found)) return failure(error::protocol_error, path_ + " is not a store's file");
    if (found == mark) read_bytes_ = mark.size();
    return {};
}

result<std::optional<log_record>> log_file::next() {
    if (read_bytes_ == 0)
        if (result<> marked = check_mark(); !marked || read_bytes_ == 0)
            return marked ? result<std::optional<log_record>>(std::nullopt) : marked.failure();
    char length_text[length_bytes];
    ssize_t count = ::pread(descriptor_, length_text, length_bytes, static_cast<off_t>(read_bytes_));
    if (count < 0) return refused("read");
    if (count < static_cast<ssize_t>(length_bytes)) return std::optional<log_record>();
    wire_reader length_reader(std::string_view(length_text, length_bytes));
    const std::size_t length = length_reader.u32();
    if (length > max_record_bytes) return failure(error::protocol_error, path_ + " is damaged");
    std::string bytes(length, '\0');
    count = ::pread(descriptor_, bytes.data(), length, static_cast<off_t>(read_bytes_ + length_bytes));
    if (count < 0) return refused("read");
    if (count < static_cast<ssize_t>(length)) return std::optional<log_record>();
    wire_reader record(bytes);
    std::optional<log_record> found(std::in_place);
    found->key = record.text();
    found->value = record.optional_text();
    if (!record.complete()) return failure(error::protocol_error, path_ + " is damaged");
    read_bytes_ += length_bytes + length;
    return found;
}

result<> log_file::append(const log_record& record) {
    wire_writer body;
    body.text(record.key);
    body.optional_text(record.value);
    std::string bytes;
    if (read_bytes_ == 0) bytes = mark;
    wire_writer length;
    length.u32(static_cast<std::uint32_t>(body.bytes().size()));
    bytes += length.bytes();
    bytes += body.bytes();
    if (read_bytes_ + bytes.size() > max_bytes)
        return failure(error::system, fmt::format("{} has grown to {} bytes; delete it", path_, read_bytes_));
    // Bytes behind the last whole record are the beginning of one whose writer died.
    if (::ftruncate(descriptor_, static_cast<off_t>(read_bytes_)) != 0) return refused("write to");
    const ssize_t count = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(read_bytes_));
    if (count >= 0 && count < static_cast<ssize_t>(bytes.size())) errno = ENOSPC;  // a part of it had room
    if (count != static_cast<ssize_t>(bytes.size())) return refused("write to");
    read_bytes_ += bytes.size();
    return {};
}

}  // namespace tutti
