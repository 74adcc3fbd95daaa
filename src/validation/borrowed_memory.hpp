// For the checking mode: which memory of its callers a context has in calls under way, and the copies that the calls work on instead.
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

/// Memory of a call: so much of it is read, or written as well.
struct borrowed {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    bool written = false;
};

/// Any thread.
class borrowed_memory {
public:
    /// What one call has borrowed, until this is destroyed.
    class entry;

    borrowed_memory() = default;
    borrowed_memory(const borrowed_memory&) = delete;
    borrowed_memory& operator=(const borrowed_memory&) = delete;

    /// Calls that have borrowed memory so far, each of which has that number.
    std::uint64_t calls() const;
    /// Those of a communicator up to that number have ended, and its user has been told so by communicator::sync.
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
    /// The call under way, in words, that had borrowed a byte of these before which it or this call writes.
    const std::optional<std::string>& conflict() const noexcept { return conflict_; }

private:
    const std::shared_ptr<borrowed_memory> in_;
    const std::vector<borrowed> pieces_;
    const std::string call_;
    std::uint64_t number_ = 0;
    std::optional<std::string> conflict_;
    std::list<const entry*>::iterator place_;
};

/// A copy of the pieces, in which those that overlap do so as well. Calls work on it, so that what the caller's memory holds is the caller's doing.
class private_memory {
public:
    explicit private_memory(std::span<const borrowed> pieces);

    /// Where in the copy an address lies; the address itself where it lies in no piece.
    void* at(const void* theirs) const noexcept;
    /// Whether the pieces are as they were when they were copied.
    bool untouched() const noexcept;
    /// Brings what was written to its owner.
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
