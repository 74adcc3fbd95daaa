// What can be wrong with a list of buffers, or with the parts of an exchange, found before anything is sent.
#pragma once

#include "validation/arguments.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tutti::detail {

/// No index of a list.
inline constexpr std::size_t no_buffer = ~std::size_t{0};

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
        const auto found = overlap();
        return found ? complaint(fmt::format("the list's buffers {} and {} overlap", found->first, found->second)) : complaint();
    }

    struct part {
        const void* data = nullptr;
        std::size_t bytes = 0;
        bool receives = false;
    };
    /// Nothing is received into memory of another part; memory may be sent several times. `plain` makes a `part` of each.
    template <class T, class Plain>
    complaint apart(std::span<const T> parts, Plain plain) {
        const std::lock_guard lock(guard_);
        ranges_.clear();
        for (std::size_t index = 0; index < parts.size(); ++index) add(plain(parts[index]), index);
        const auto found = overlap();
        return found ? complaint(fmt::format("parts {} and {} overlap, and not both are sent", found->first, found->second)) : complaint();
    }
    /// Nothing is written into memory of another buffer. Buffer `same` of those that are read is not looked at.
    template <class Read>
    complaint apart(std::span<const Read> read, std::span<const buffer> written, std::size_t same) {
        const std::lock_guard lock(guard_);
        ranges_.clear();
        for (std::size_t index = 0; index < written.size(); ++index) add({written[index].data, written[index].bytes(), true}, index);
        for (std::size_t index = 0; index < read.size(); ++index)
            if (index != same) add({read[index].data, read[index].bytes(), false}, written.size() + index);
        const auto found = overlap();
        if (!found) return {};
        if (found->second < written.size()) return fmt::format("the list's buffers {} and {} overlap", found->first, found->second);
        return std::string("input and output overlap in a way that this operation does not allow");
    }

private:
    struct range {
        std::uintptr_t begin;
        std::uintptr_t end;
        std::size_t index;
        bool written;
    };
    complaint add(const const_buffer& each, const const_buffer& first, std::size_t index, std::size_t& total);
    void add(const part& each, std::size_t index);
    /// Two that have a byte in common that one of them writes, the one that stands first in the list before the other.
    std::optional<std::pair<std::size_t, std::size_t>> overlap();

    std::mutex guard_;
    std::vector<range> ranges_;  // in the order of memory
};

}  // namespace tutti::detail
