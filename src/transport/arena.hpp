// Memory of this process that other processes of its host can read, and can write where it is lent for that. It is one anonymous file, of
// which pieces are given out.
#pragma once

#include "base/process.hpp"
#include "transport/shared_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

namespace tutti {

/// One for each context; its links lend from it. Owns the file and its mapping, and knows the arenas of peers. Any thread: under its own
/// mutex, but for `file`.
class [[gnu::visibility("hidden")]] arena {
public:
    /// Without `shared` it gives ordinary memory, which `locate` does not find.
    explicit arena(bool shared) noexcept : shared_(shared) {}
    arena(const arena&) = delete;
    arena& operator=(const arena&) = delete;

    /// Returns zeros, aligned to 64 bytes; ordinary memory where the system gives no shared memory (see `why_not`). Throws std::bad_alloc.
    std::byte* allocate(std::size_t bytes);
    void free(std::byte* memory, std::size_t bytes) noexcept;

    /// Returns a run's offset in the file, if it lies there.
    std::optional<std::uint64_t> locate(std::span<const std::byte> run) const noexcept;
    /// Returns the file to send to peers. Only after `locate` has found a run: the first allocation makes the file.
    const file_descriptor& file() const noexcept { return file_; }
    /// Maps the arena of another process: to read what that has lent, and to write where it has lent memory for that. Once, however many
    /// links lend from it.
    result<std::shared_ptr<const mapping>> of_other(const file_descriptor& file);
    /// Returns why memory is not shared although it should be; empty when it is.
    std::string why_not() const;

private:
    bool open();
    bool take(std::size_t bytes, std::size_t& offset);

    const birthplace made_;
    const bool shared_;
    mutable std::mutex mutex_;
    bool opened_ = false;
    std::string why_not_;
    file_descriptor file_;
    mapping memory_;
    std::map<std::size_t, std::size_t> free_;  // bytes by offset; neighbours are one
    std::map<file_identity, std::weak_ptr<const mapping>> others_;
};

}  // namespace tutti
