#include "transport/borrowing.hpp"

#include <array>
#include <cstring>

namespace tutti {

bool borrowing::take(const frame& head, const cell_contents& from) noexcept {
    std::array<reference, most_references + 1> list{};
    std::memcpy(list.data(), from.data(), reference_bytes(head));
    const reference last = list[head.references];
    runs_.clear();
    answer_runs_.clear();
    answer_.count = head.references;
    answer_.index = static_cast<std::uint32_t>(last.offset);
    std::copy_n(list.begin(), most_references, answer_.parts.begin());
    std::uint64_t missing = head.payload_bytes;
    for (std::size_t index = 0; index < head.references; ++index) {
        const std::uint64_t bytes = list[index].bytes;
        runs_.push_back(over_.borrow(list[index]));
        if (runs_.back().size() != bytes || bytes > missing) return false;
        missing -= bytes;
        if (!head.answered) continue;
        answer_.parts[index].offset += last.bytes;
        answer_runs_.push_back(over_.borrow(answer_.parts[index]));
        if (answer_runs_.back().size() != bytes) return false;
    }
    return missing == 0;
}

}  // namespace tutti
