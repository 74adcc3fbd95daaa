// For the checking mode (context_options::check): a book of the memory that calls under way have borrowed, and the copies on which those
// calls work instead. checked_call uses both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tutti::detail {

/// One piece of a call's memory, which the call reads, or also writes.
struct borrowed {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    bool written = false;
};

/// The book of one context. Any thread may use it.
class borrowed_memory {
public:
    /// The memory that one call has borrowed, until the entry is destroyed.
    class entry;

    borrowed_memory() = default;
    borrowed_memory(const borrowed_memory&) = delete;
    borrowed_memory& operator=(const borrowed_memory&) = delete;

    /// Returns the number of calls that have borrowed memory so far; the latest call has this number.
    std::uint64_t calls() const;
    /// Notes that communicator::sync has reported the end of the communicator's calls up to this number, so their futures need no await.
    void synced(const void* communicator, std::uint64_t number);
    bool is_synced(const void* communicator, std::uint64_t number) const;

private:
    std::optional<std::string> conflict(std::span<const borrowed> pieces) const;

    mutable std::mutex guard_;
    std::list<const entry*> entries_;
    std::uint64_t calls_ = 0;
    std::map<const void*, std::uint64_t> synced_;
};

class borrowed_memory::entry {
public:
    entry(std::shared_ptr<borrowed_memory> in, std::vector<borrowed> pieces, std::string call);
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    ~entry();

    const std::vector<borrowed>& pieces() const noexcept { return pieces_; }
    const std::string& call() const noexcept { return call_; }
    std::uint64_t number() const noexcept { return number_; }
    /// Returns, in words, an earlier call under way that shares a byte with this one which one of the two writes.
    const std::optional<std::string>& conflict() const noexcept { return conflict_; }

private:
    const std::shared_ptr<borrowed_memory> in_;
    const std::vector<borrowed> pieces_;
    const std::string call_;
    std::uint64_t number_ = 0;
    std::optional<std::string> conflict_;
    std::list<const entry*>::iterator place_;
};

/// A copy of the pieces, in which pieces that overlap do so as well. The call works on the copy, so a change in the caller's memory is the
/// caller's doing.
class private_memory {
public:
    explicit private_memory(std::span<const borrowed> pieces);

    /// Returns the place of an address in the copy, or the address itself if it lies in no piece.
    void* at(const void* theirs) const noexcept;
    /// Returns whether the caller's pieces are as they were when they were copied, by their digests.
    bool untouched() const noexcept;
    /// Copies the pieces that are written back to the caller's memory.
    void give_back() const noexcept;

private:
    struct region {
        std::byte* theirs;
        std::size_t bytes;
        std::unique_ptr<std::byte[]> copy;
        std::size_t digest;
    };
    static std::size_t digest_of(const std::byte* data, std::size_t bytes) noexcept;

    std::vector<region> regions_;
    std::vector<borrowed> written_;
};

}  // namespace tutti::detail
