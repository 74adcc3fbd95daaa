// Queues of messages by source and tag, found by hash. A key has a queue as long as that has members.
#pragma once

#include <tutti/message.hpp>

#include "base/linked_queue.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace tutti {

/// A wildcard is a key like any other. Memory is kept for the largest number of keys that were in use at once.
template <class T, links<T> T::*Links>
class keyed_queues {
public:
    /// Makes room for `more` keys, so that their queues need no allocation.
    void reserve(std::size_t more) {
        if (used_ + more > slots_.size()) grow(used_ + more);
        for (; free_lines_ < more; ++free_lines_) {
            owned_.push_back(std::make_unique<line>());
            owned_.back()->next = std::exchange(free_, owned_.back().get());
        }
    }
    /// Returns the first of a key; null without one.
    T* first(rank source, message_tag tag) const noexcept {
        const line* const found = find(source, tag);
        return found ? found->all.first() : nullptr;
    }
    /// Puts `one` into its key's queue as linked_queue::insert does.
    template <class Before>
    void insert(rank source, message_tag tag, T& one, Before before) {
        line_of(source, tag).all.insert(one, before);
    }
    void push(rank source, message_tag tag, T& one) { line_of(source, tag).all.push(one); }
    void remove(rank source, message_tag tag, T& one) noexcept {
        line** at = &slots_[slot_of(source, tag)];
        while (!(*at)->is(source, tag)) at = &(*at)->next;
        line& found = **at;
        found.all.remove(one);
        if (!found.all.empty()) return;
        *at = found.next;
        give_back(found);
        --used_;
    }
    void clear() noexcept {
        for (line*& each : slots_)
            while (each) {
                line& next = *std::exchange(each, each->next);
                next.all.clear();
                give_back(next);
            }
        used_ = 0;
    }

private:
    struct line {
        rank source;
        message_tag tag;
        linked_queue<T, Links> all;
        line* next;  // in its slot, or among the free ones

        bool is(rank other, message_tag another) const noexcept { return source == other && tag == another; }
    };

    std::size_t slot_of(rank source, message_tag tag) const noexcept {
        const std::uint64_t mixed = (tag + static_cast<std::uint32_t>(source) * 0xd6e8feb86659fd93u) * 0x9e3779b97f4a7c15u;
        return static_cast<std::size_t>((mixed ^ mixed >> 32) & (slots_.size() - 1));
    }
    line* find(rank source, message_tag tag) const noexcept {
        if (used_ == 0) return nullptr;
        line* each = slots_[slot_of(source, tag)];
        while (each && !each->is(source, tag)) each = each->next;
        return each;
    }
    line& line_of(rank source, message_tag tag) {
        if (line* const found = find(source, tag)) return *found;
        reserve(1);
        line& made = *std::exchange(free_, free_->next);
        --free_lines_;
        made.source = source;
        made.tag = tag;
        put(made);
        ++used_;
        return made;
    }
    void put(line& one) noexcept {
        line*& slot = slots_[slot_of(one.source, one.tag)];
        one.next = slot;
        slot = &one;
    }
    void give_back(line& one) noexcept {
        one.next = std::exchange(free_, &one);
        ++free_lines_;
    }
    void grow(std::size_t keys) {
        std::vector<line*> before(std::bit_ceil(std::max<std::size_t>(keys, 16)));
        before.swap(slots_);
        for (line* each : before)
            while (each) put(*std::exchange(each, each->next));
    }

    std::vector<line*> slots_;  // their number is a power of two
    std::size_t used_ = 0;      // keys
    line* free_ = nullptr;
    std::size_t free_lines_ = 0;
    std::vector<std::unique_ptr<line>> owned_;
};

}  // namespace tutti
