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
    /// Puts `one` behind the last member for which `before(member, one)` is true, looking from the end: members mostly come in order.
    template <class Before>
    void insert(T& one, Before before) noexcept {
        T* after_it = nullptr;
        T* front = last_;
        while (front && !before(*front, one)) {
            after_it = front;
            front = (front->*Links).previous;
        }
        one.*Links = {after_it, front};
        (front ? (front->*Links).next : first_) = &one;
        (after_it ? (after_it->*Links).previous : last_) = &one;
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
