#include "transport/borrowing.hpp"

#include <array>
#include <cstring>

namespace tutti {

bool borrowing::take(const frame& head, const cell_contents& from) noexcept {
    std::array<tutti::reference, most_references + 1> list{};
    std::memcpy(list.data(), from.data(), reference_bytes(head));
    const tutti::reference answer = list[head.references];
    runs_.clear();
    answer_runs_.clear();
    reference_.count = head.references;
    reference_.index = static_cast<std::uint32_t>(answer.offset);
    std::copy_n(list.begin(), most_references, reference_.parts.begin());
    std::uint64_t missing = head.payload_bytes;
    for (std::size_t index = 0; index < head.references; ++index) {
        const std::uint64_t bytes = list[index].bytes;
        runs_.push_back(over_.borrow(list[index]));
        if (runs_.back().size() != bytes || bytes > missing) return false;
        missing -= bytes;
        if (!head.answered) continue;
        reference_.parts[index].offset += answer.bytes;
        answer_runs_.push_back(over_.borrow(reference_.parts[index]));
        if (answer_runs_.back().size() != bytes) return false;
    }
    return missing == 0;
}

}  // namespace tutti
