// A queue that is linked through its members; several links let a member be in several queues.
#pragma once

namespace tutti {

template <class T>
struct links {
    T* next = nullptr;
    T* previous = nullptr;
};

template <class T, links<T> T::*Links>
class linked_queue {
public:
    T* first() const noexcept { return first_; }
    bool empty() const noexcept { return !first_; }
    static T* after(const T& one) noexcept { return (one.*Links).next; }

    void push(T& one) noexcept {
        one.*Links = {nullptr, last_};
        (last_ ? (last_->*Links).next : first_) = &one;
        last_ = &one;
    }
    void remove(T& one) noexcept {
        const links<T> at = one.*Links;
        (at.previous ? (at.previous->*Links).next : first_) = at.next;
        (at.next ? (at.next->*Links).previous : last_) = at.previous;
    }
    T& pop() noexcept {
        T& one = *first_;
        remove(one);
        return one;
    }
    void clear() noexcept { first_ = last_ = nullptr; }

private:
    T* first_ = nullptr;
    T* last_ = nullptr;
};

}  // namespace tutti
