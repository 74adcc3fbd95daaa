// Waits until a socket can be read or written, again and again, without allocating. It never moves bytes.
#pragma once

#include "runtime/asio.hpp"
#include "runtime/poll_source.hpp"

#include "base/check.hpp"

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace tutti {

/// Owned by a link or a transport, beside its socket, and used on its loop. A try calls `work` without a look at the socket. Asio is asked
/// when the loop polls or sleeps.
template <class Socket>
class socket_wait final : public detail::poll_source {
public:
    socket_wait(event_loop& loop, Socket& socket, asio::socket_base::wait_type what) noexcept : poll_source(loop), socket_(socket), what_(what) {}
    ~socket_wait() { forget(); }

    /// Calls `work` once, when the socket may be ready, or never will be. One at a time.
    void start(detail::runnable& work) noexcept {
        TUTTI_CHECK(work_ == nullptr, "one waits for each direction of a socket at a time");
        work_ = &work;
        wait();
    }
    /// Calls nothing any more. The kernel's wait goes on until the socket is closed or cancelled.
    void forget() noexcept {
        if (slot_ != nullptr) slot_->target = nullptr;
        slot_.reset();
        armed_ = false;
        if (std::exchange(work_, nullptr) != nullptr) stop_waiting();
    }

private:
    /// Memory for Asio's wait. It is shared with the wait's handler, because that may come after the socket was closed and this was
    /// destroyed.
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

        socket_wait* target = nullptr;
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
            if (memory->target != nullptr) memory->target->answered();
        }
        std::shared_ptr<slot> memory;
    };

    void run() noexcept override { std::exchange(work_, nullptr)->run(); }  // which may destroy this
    void arm() override {
        if (std::exchange(armed_, true)) return;
        if (slot_ == nullptr) slot_ = std::make_shared<slot>();
        slot_->target = this;
        socket_.async_wait(what_, handler{slot_});
    }
    void answered() noexcept {
        armed_ = false;
        ready();
    }

    Socket& socket_;
    const asio::socket_base::wait_type what_;
    detail::runnable* work_ = nullptr;
    bool armed_ = false;
    std::shared_ptr<slot> slot_;
};

}  // namespace tutti
