#include "transport/staging_buffers.hpp"

#include <algorithm>

namespace tutti {

staging_buffers::staging_buffers(std::span<std::byte> memory) noexcept : memory_(memory) {
    free_count_ = std::min(buffer_count, memory.size() / buffer_bytes);
    for (std::size_t index = 0; index < free_count_; ++index) free_[index] = static_cast<std::uint8_t>(free_count_ - 1 - index);
}

const staging_buffers::staged_payload* staging_buffers::take(std::uint64_t sequence, std::optional<std::uint32_t> index, std::size_t bytes) noexcept {
    const std::size_t count = (bytes + buffer_bytes - 1) / buffer_bytes;
    if (count == 0 || count > std::min(most_references, free_count_)) return nullptr;
    staged_payload& made = all_[staged_++];
    made.sequence = sequence;
    made.index = index;
    made.number = 0;
    made.bytes = bytes;
    made.count = count;
    for (std::size_t part = 0; part < count; ++part) {
        made.taken[part] = free_[--free_count_];
        made.parts[part] = memory_.subspan(made.taken[part] * buffer_bytes, std::min(buffer_bytes, bytes - part * buffer_bytes));
    }
    return &made;
}

void staging_buffers::sent(const std::byte* begin, std::uint64_t number) noexcept {
    for (staged_payload& each : std::span(all_).first(staged_))
        if (each.parts[0].data() == begin) each.number = number;
}

const staging_buffers::staged_payload* staging_buffers::find(std::uint64_t sequence, std::uint32_t index) const noexcept {
    const auto end = all_.begin() + static_cast<std::ptrdiff_t>(staged_);
    const auto found = std::find_if(all_.begin(), end, [&](const staged_payload& each) { return each.sequence == sequence && each.index == index; });
    return found == end ? nullptr : &*found;
}

void staging_buffers::free(const staged_payload& what) noexcept {
    for (std::size_t index = what.count; index > 0; --index) free_[free_count_++] = what.taken[index - 1];
    all_[static_cast<std::size_t>(&what - all_.data())] = all_[--staged_];
}

bool staging_buffers::to_be_returned() const noexcept {
    return std::any_of(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(staged_), [](const staged_payload& each) { return !each.index; });
}

void staging_buffers::free_returned(std::uint64_t number) noexcept {
    for (std::size_t index = staged_; index > 0; --index) {
        const staged_payload& each = all_[index - 1];
        if (!each.index && each.number > 0 && each.number <= number) free(each);
    }
}

}  // namespace tutti
