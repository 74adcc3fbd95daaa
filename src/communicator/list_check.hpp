// What can be wrong with a list of buffers, found before anything is sent.
#pragma once

#include "communicator/check.hpp"

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace tutti::detail {

/// Any thread. Keeps the memory it needs, so that checking allocates nothing once it has checked as long a list.
class list_check {
public:
    /// All buffers have memory and one type, no two overlap, and their elements can be counted; `total` is how many there are.
    complaint operator()(std::span<const buffer> list, std::size_t& total);

private:
    struct range {
        std::uintptr_t begin;
        std::uintptr_t end;
        std::size_t index;
    };
    complaint overlap(std::span<const buffer> list);

    std::mutex guard_;
    std::vector<range> ranges_;  // in the order of memory
};

}  // namespace tutti::detail
