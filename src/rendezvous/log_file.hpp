// A file to which several processes append records, one at a time. The next writer cuts off the part of a record that a dead process has
// left.
#pragma once

#include <tutti/result.hpp>

#include <optional>
#include <string>
#include <utility>

namespace tutti {

/// A key that was set or, without a value, erased.
struct log_record {
    std::string key;
    std::optional<std::string> value;
};

class log_file {
public:
    static constexpr std::size_t max_bytes = 256 * MiB;

    static result<log_file> open(const std::string& path);
    log_file(log_file&& other) noexcept;
    log_file& operator=(log_file&&) = delete;
    ~log_file();

    /// Returns false if another process holds the file; try again soon.
    result<bool> try_lock(bool exclusive);
    void unlock() noexcept;

    /// With the lock: reads the next record; nothing at the end. An error says that the file is not what it was.
    result<std::optional<log_record>> next();
    /// With the exclusive lock, after next() has reached the end: appends a record.
    result<> append(const log_record& record);

    const std::string& path() const noexcept { return path_; }

private:
    log_file(int descriptor, std::string path) noexcept : descriptor_(descriptor), path_(std::move(path)) {}
    result<> check_mark();
    failure refused(const char* what) const;

    int descriptor_;
    std::string path_;
    std::uint64_t read_bytes_ = 0;
};

}  // namespace tutti
