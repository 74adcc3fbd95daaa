// Waiting until a socket can be read or written, again and again, without allocating. It never moves bytes.
#pragma once

#include "runtime/asio.hpp"
#include "transport/watcher.hpp"

#include <cstddef>
#include <memory>
#include <new>

namespace tutti {

class socket_wait {
public:
    explicit socket_wait(event_loop& loop) noexcept : watcher_(loop) {}
    socket_wait(const socket_wait&) = delete;
    socket_wait& operator=(const socket_wait&) = delete;
    ~socket_wait() { forget(); }

    /// Posts `work` once, when `socket` is ready or will not be any more. One at a time.
    template <class Socket>
    void start(Socket& socket, asio::socket_base::wait_type what, detail::runnable& work) {
        watcher_.expect(work);
        if (slot_ == nullptr) slot_ = std::make_shared<slot>();
        slot_->target = &watcher_;
        socket.async_wait(what, handler{slot_});
    }
    /// Nothing is called any more. The wait itself ends when the socket is closed or cancelled.
    void forget() noexcept {
        if (slot_ != nullptr) slot_->target = nullptr;
        slot_.reset();
        watcher_.disarm();
        watcher_.forget();
    }

private:
    /// Where Asio keeps the wait under way. Closing a socket ends the wait later, so the wait holds this, too: hence the shared pointer.
    struct slot {
        void* take(std::size_t bytes) {
            if (used || bytes > sizeof place) return ::operator new(bytes);
            used = true;
            return place;
        }
        void give(void* memory) noexcept {
            if (memory == place) used = false;
            else ::operator delete(memory);
        }

        watcher* target = nullptr;
        bool used = false;
        alignas(std::max_align_t) std::byte place[256];
    };

    template <class T>
    struct allocator {
        using value_type = T;
        explicit allocator(slot& from) noexcept : source(&from) {}
        template <class U>
        allocator(const allocator<U>& other) noexcept : source(other.source) {}
        T* allocate(std::size_t count) { return static_cast<T*>(source->take(count * sizeof(T))); }
        void deallocate(T* memory, std::size_t) noexcept { source->give(memory); }
        template <class U>
        bool operator==(const allocator<U>& other) const noexcept {
            return source == other.source;
        }
        slot* source;
    };

    struct handler {
        using allocator_type = allocator<std::byte>;
        allocator_type get_allocator() const noexcept { return allocator_type{*memory}; }
        void operator()(const boost::system::error_code&) const noexcept {
            if (memory->target != nullptr) memory->target->wake();
        }
        std::shared_ptr<slot> memory;
    };

    watcher watcher_;
    std::shared_ptr<slot> slot_;
};

}  // namespace tutti
