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
    complaint operator()(std::span<const buffer> list, std::size_t& total) {
        return of(
            list, [](const buffer& each) { return const_buffer(each); }, total);
    }
    /// The same of whatever `plain` makes a buffer of, which may be memory of a device.
    template <class T, class Plain>
    complaint of(std::span<const T> list, Plain plain, std::size_t& total) {
        const std::lock_guard lock(guard_);
        ranges_.clear();
        total = 0;
        for (std::size_t index = 0; index < list.size(); ++index)
            if (complaint wrong = add(plain(list[index]), plain(list[0]), index, total)) return wrong;
        return overlap();
    }

private:
    struct range {
        std::uintptr_t begin;
        std::uintptr_t end;
        std::size_t index;
    };
    complaint add(const const_buffer& each, const const_buffer& first, std::size_t index, std::size_t& total);
    complaint overlap();

    std::mutex guard_;
    std::vector<range> ranges_;  // in the order of memory
};

}  // namespace tutti::detail
