// A list of operations, linked through themselves: an operation is in one list at a time.
#pragma once

#include "engine/operation.hpp"

namespace tutti {

struct operation_list {
    operation* first = nullptr;
    operation* last = nullptr;

    void push(operation& one) noexcept {
        one.next = nullptr;
        one.previous = last;
        (last ? last->next : first) = &one;
        last = &one;
    }
    /// Puts it in the order of places: a reserved place may be called late.
    void insert(operation& one) noexcept {
        operation* before = last;
        while (before && before->sequence > one.sequence) before = before->previous;
        one.previous = before;
        one.next = before ? before->next : first;
        (one.next ? one.next->previous : last) = &one;
        (before ? before->next : first) = &one;
    }
    void remove(operation& one) noexcept {
        (one.previous ? one.previous->next : first) = one.next;
        (one.next ? one.next->previous : last) = one.previous;
    }
};

}  // namespace tutti
