// An open file, closed when its owner goes.
#pragma once

#include <unistd.h>

#include <utility>

namespace launch {

class descriptor {
public:
    descriptor() = default;
    explicit descriptor(int number) noexcept : number_(number) {}
    descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~descriptor() { close(); }

    int number() const noexcept { return number_; }
    bool open() const noexcept { return number_ >= 0; }
    void close() noexcept {
        if (open()) ::close(std::exchange(number_, -1));
    }

private:
    int number_ = -1;
};

}  // namespace launch
