// The receives, or the probes, of one rank that wait for a message.
#pragma once

#include "engine/keyed_queues.hpp"
#include "engine/message.hpp"

#include <array>
#include <utility>
#include <vector>

namespace tutti {

/// Finds the call for a message by hash, whatever their number: under its source and tag, and under the wildcards that are in use.
class posted {
public:
    explicit posted(int size) : by_source_(static_cast<std::size_t>(size) + 1) {}

    /// Makes room for `more` calls, so that `post` need not allocate.
    void reserve(std::size_t more) { by_key_.reserve(more); }
    void post(message& call) noexcept;
    void withdraw(message& call) noexcept;
    /// Takes out the first call that a message fits; null without one.
    message* claim(rank source, message_tag tag) noexcept;
    /// Returns the first call that names this rank, or any_source.
    message* waiting(rank source) const noexcept { return row_of(source).first(); }
    void clear() noexcept;

private:
    using row = linked_queue<message, &message::row>;

    const row& row_of(rank source) const noexcept {
        return source == any_source ? by_source_.back() : by_source_[static_cast<std::size_t>(source)];
    }
    row& row_of(rank source) noexcept { return const_cast<row&>(std::as_const(*this).row_of(source)); }
    std::size_t& number_like(const message& call) noexcept {
        return numbers_[(call.asked.peer == any_source ? 2 : 0) + (call.asked.tag == any_tag ? 1 : 0)];
    }

    keyed_queues<message, &message::turn> by_key_;
    std::vector<row> by_source_;            // the last one for any_source
    std::array<std::size_t, 4> numbers_{};  // of calls that name source and tag, any tag, any source, neither
};

}  // namespace tutti
