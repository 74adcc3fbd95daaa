// An open file or socket with an owner.
#pragma once

#include <utility>

namespace tutti {

/// Closed with the object.
class file_descriptor {
public:
    file_descriptor() = default;
    explicit file_descriptor(int number) noexcept : number_(number) {}
    file_descriptor(file_descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    file_descriptor& operator=(file_descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~file_descriptor() { close(); }

    int number() const noexcept { return number_; }
    /// Gives the descriptor to the caller, which closes it.
    int release() noexcept { return std::exchange(number_, -1); }
    void close() noexcept;
    explicit operator bool() const noexcept { return number_ >= 0; }

private:
    int number_ = -1;
};

}  // namespace tutti
