// The payload of one frame that a peer with which this process shares memory has lent, and where it wants the answer.
#pragma once

#include "base/prefetch.hpp"
#include "transport/near_link.hpp"
#include "transport/outgoing.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti {

/// One for each near_lane, used as its lane is: for the frame whose references it took last. The memory stays the peer's.
class borrowing {
public:
    explicit borrowing(near_link& over) noexcept : over_(over) {}

    /// Takes the references of a frame. Returns false unless they lie in the peer's memory and add up to the payload.
    bool take(const frame& head, const cell_contents& from) noexcept;
    /// Returns the payload's runs.
    std::span<const std::span<std::byte>> runs() const noexcept { return runs_; }
    /// Returns where the peer wants the answer: as many runs of as many bytes, often the same memory. Empty if it wants none.
    std::span<const std::span<std::byte>> answer_runs() const noexcept { return answer_runs_; }
    /// Returns where the frame that brings the answer belongs, and its index.
    const remote_reference& answer() const noexcept { return answer_; }

    /// Passes the payload on to `take(part, back)`, which returns how many bytes it took; `back` is where it writes the answer to the part,
    /// or null. That is so without `answers`, and if the peer has revoked its memory. Returns false when it took none.
    template <class Take>
    bool read(bool answers, Take take) noexcept {
        answer_.answered = answers && over_.begin_writing();
        const bool read = read_runs(take);
        if (answer_.answered) over_.end_writing();
        return read;
    }
    /// Returns whether the payload was still lent when it was read. Revoked memory may have held other bytes already. Staging buffers do
    /// not: their owner writes to them no more.
    bool was_lent() const noexcept {
        const auto where = answer_.where();
        return std::all_of(where.begin(), where.end(), [](const reference& each) { return each.is_of_link(); }) || !over_.revoked();
    }

private:
    template <class Take>
    bool read_runs(Take take) noexcept {
        for (const auto part : runs_) prefetch_pages(part.data(), part.size());
        for (std::size_t run = 0; run < runs_.size(); ++run) {
            for (auto part = std::span<const std::byte>(runs_[run]); !part.empty();) {
                std::byte* const back = answer_.answered ? answer_runs_[run].data() + (part.data() - runs_[run].data()) : nullptr;
                const std::size_t bytes = take(part, back);
                if (bytes == 0) return false;
                part = part.subspan(bytes);
            }
        }
        return true;
    }

    near_link& over_;
    std::vector<std::span<std::byte>> runs_;
    std::vector<std::span<std::byte>> answer_runs_;
    remote_reference answer_;  // the frame's references, moved on to where the answer belongs
};

}  // namespace tutti
