// Memory that processes of one host share: anonymous files, which end with the last process that holds or maps them.
#pragma once

#include <tutti/result.hpp>

#include "base/file_descriptor.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace tutti {

/// Makes a file of `bytes` zeros that can neither grow nor shrink: a peer cannot cut it so that an access to the mapping fails.
result<file_descriptor> make_shared_file(const char* name, std::size_t bytes);

/// Differs for files that are open at the same time.
using file_identity = std::pair<std::uint64_t, std::uint64_t>;
file_identity identity_of(const file_descriptor& file) noexcept;

/// A whole file in this process's memory; empty after it has been moved from.
class mapping {
public:
    enum class access { read, write };

    mapping() = default;
    /// Fails with error::protocol_error for a file whose size may change.
    static result<mapping> of(const file_descriptor& file, access how);
    mapping(mapping&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
    mapping& operator=(mapping&& other) noexcept {
        std::swap(memory_, other.memory_);
        return *this;
    }
    ~mapping();

    std::byte* data() const noexcept { return memory_.data(); }
    std::size_t size() const noexcept { return memory_.size(); }
    explicit operator bool() const noexcept { return !memory_.empty(); }

private:
    explicit mapping(std::span<std::byte> memory) noexcept : memory_(memory) {}

    std::span<std::byte> memory_;
};

}  // namespace tutti
