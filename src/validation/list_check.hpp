// Checks a list of buffers, or the parts of an exchange, before anything is sent.
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

/// No index of a list: list_check::apart then looks at all buffers.
inline constexpr std::size_t no_buffer = ~std::size_t{0};

/// One per group; any thread, under its own guard. It keeps its memory, so it allocates only for a list longer than all before.
class list_check {
public:
    /// All buffers have memory and one type, no two overlap, and their elements can be counted. Stores their number in `total`.
    complaint operator()(std::span<const buffer> list, std::size_t& total) {
        return of(
            list, [](const buffer& each) { return const_buffer(each); }, total);
    }
    /// Checks likewise what `plain` makes of each element, which may be memory of a device.
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
    /// No part receives into memory of another part; memory may be sent several times. `plain` makes a `part` of each element.
    template <class T, class Plain>
    complaint apart(std::span<const T> parts, Plain plain) {
        const std::lock_guard lock(guard_);
        ranges_.clear();
        for (std::size_t index = 0; index < parts.size(); ++index) add(plain(parts[index]), index);
        const auto found = overlap();
        return found ? complaint(fmt::format("parts {} and {} overlap, and not both are sent", found->first, found->second)) : complaint();
    }
    /// No buffer that is written shares a byte with another one. Buffer `same` of `read` is left out: it may be in place.
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
    /// Returns two buffers that share a byte which one of them writes, in the order of the list.
    std::optional<std::pair<std::size_t, std::size_t>> overlap();

    std::mutex guard_;
    std::vector<range> ranges_;  // in the order of memory
};

}  // namespace tutti::detail
