#include "transport/slots.hpp"

#include <algorithm>

namespace tutti {

slots::slots(std::span<std::byte> memory) noexcept : memory_(memory) {
    free_count_ = std::min(most_slots, memory.size() / slot_bytes);
    for (std::size_t index = 0; index < free_count_; ++index) free_[index] = static_cast<std::uint8_t>(free_count_ - 1 - index);
}

const slots::stay* slots::take(std::uint64_t sequence, std::optional<std::uint32_t> place, std::size_t bytes) noexcept {
    const std::size_t count = (bytes + slot_bytes - 1) / slot_bytes;
    if (count == 0 || count > std::min(most_references, free_count_)) return nullptr;
    stay& made = all_[stays_++];
    made.sequence = sequence;
    made.place = place;
    made.number = 0;
    made.bytes = bytes;
    made.count = count;
    for (std::size_t index = 0; index < count; ++index) {
        made.taken[index] = free_[--free_count_];
        made.parts[index] = memory_.subspan(made.taken[index] * slot_bytes, std::min(slot_bytes, bytes - index * slot_bytes));
    }
    return &made;
}

void slots::sent(const std::byte* begin, std::uint64_t number) noexcept {
    for (stay& each : std::span(all_).first(stays_))
        if (each.parts[0].data() == begin) each.number = number;
}

const slots::stay* slots::find(std::uint64_t sequence, std::uint32_t place) const noexcept {
    const auto end = all_.begin() + static_cast<std::ptrdiff_t>(stays_);
    const auto found = std::find_if(all_.begin(), end, [&](const stay& each) { return each.sequence == sequence && each.place == place; });
    return found == end ? nullptr : &*found;
}

void slots::free(const stay& what) noexcept {
    for (std::size_t index = what.count; index > 0; --index) free_[free_count_++] = what.taken[index - 1];
    all_[static_cast<std::size_t>(&what - all_.data())] = all_[--stays_];
}

bool slots::to_be_returned() const noexcept {
    return std::any_of(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(stays_), [](const stay& each) { return !each.place; });
}

void slots::free_returned(std::uint64_t number) noexcept {
    for (std::size_t index = stays_; index > 0; --index) {
        const stay& each = all_[index - 1];
        if (!each.place && each.number > 0 && each.number <= number) free(each);
    }
}

}  // namespace tutti
