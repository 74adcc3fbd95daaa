// Switching between a loop's stack and a fiber's, and telling the exception machinery and the sanitizers about it.
#include <tutti/fiber.hpp>

#include "base/check.hpp"
#include "runtime/stack_pool.hpp"

#include <boost/context/fiber.hpp>

#include <cxxabi.h>

#include <cstring>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TUTTI_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if __has_feature(thread_sanitizer)
#define TUTTI_TSAN 1
#include <sanitizer/tsan_interface.h>
#endif
#endif

namespace tutti {
namespace {

thread_local const fiber* current_fiber = nullptr;

/// Leaves a stack whose task is being destroyed. Not an exception type that anybody would catch by accident.
struct unwinding {};

/// The exceptions a stack is handling right now. The language keeps them per thread, so they must change with the stack.
class handled_exceptions {
public:
    void exchange() noexcept {
        auto* theirs = abi::__cxa_get_globals();
        unsigned char mine[size];
        std::memcpy(mine, bytes_, size);
        std::memcpy(bytes_, theirs, size);
        std::memcpy(theirs, mine, size);
    }

private:
    // Itanium C++ ABI: a pointer to the caught exceptions and the number of uncaught ones.
    static constexpr std::size_t size = sizeof(void*) + sizeof(void*);
    unsigned char bytes_[size] = {};
};

/// Tells AddressSanitizer and ThreadSanitizer which stack runs; does nothing in other builds. `enter` and `leave` stand right before a
/// switch, `entered` and `left` right after it.
class stack_watch {
public:
    explicit stack_watch([[maybe_unused]] const detail::stack& where) {
#if TUTTI_ASAN
        bottom_ = static_cast<char*>(where.top) - where.bytes;
        bytes_ = where.bytes;
        __asan_unpoison_memory_region(bottom_, bytes_);
#endif
#if TUTTI_TSAN
        inside_ = __tsan_create_fiber(0);
#endif
    }
    stack_watch(const stack_watch&) = delete;
    stack_watch& operator=(const stack_watch&) = delete;
    ~stack_watch() {
#if TUTTI_TSAN
        __tsan_destroy_fiber(inside_);
#endif
    }

    void enter() noexcept {
#if TUTTI_ASAN
        __sanitizer_start_switch_fiber(&outside_frames_, bottom_, bytes_);
#endif
#if TUTTI_TSAN
        outside_ = __tsan_get_current_fiber();
        __tsan_switch_to_fiber(inside_, 0);
#endif
    }
    void entered() noexcept {
#if TUTTI_ASAN
        __sanitizer_finish_switch_fiber(inside_frames_, &outside_bottom_, &outside_bytes_);
#endif
    }
    void leave([[maybe_unused]] bool for_good) noexcept {
#if TUTTI_ASAN
        __sanitizer_start_switch_fiber(for_good ? nullptr : &inside_frames_, outside_bottom_, outside_bytes_);
#endif
#if TUTTI_TSAN
        __tsan_switch_to_fiber(outside_, 0);
#endif
    }
    void left() noexcept {
#if TUTTI_ASAN
        __sanitizer_finish_switch_fiber(outside_frames_, nullptr, nullptr);
#endif
    }

private:
#if TUTTI_ASAN
    void* bottom_ = nullptr;
    std::size_t bytes_ = 0;
    void* outside_frames_ = nullptr;
    void* inside_frames_ = nullptr;
    const void* outside_bottom_ = nullptr;
    std::size_t outside_bytes_ = 0;
#endif
#if TUTTI_TSAN
    void* inside_ = nullptr;
    void* outside_ = nullptr;
#endif
};

/// The pool owns the stack; boost::context only runs on it.
struct borrowed_stack {
    void deallocate(boost::context::stack_context&) noexcept {}
};

}  // namespace

class [[gnu::visibility("hidden")]] fiber::parts {
public:
    parts(entry& body, std::size_t stack_bytes) : body_(body), stack_(detail::take_stack(stack_bytes)), watch_(stack_) {
        boost::context::stack_context context;
        context.size = stack_.bytes;
        context.sp = stack_.top;
        inside_ = boost::context::fiber(std::allocator_arg, boost::context::preallocated(context.sp, context.size, context),
                                        borrowed_stack(), [this](boost::context::fiber&& outside) { return whole_life(std::move(outside)); });
    }
    parts(const parts&) = delete;
    parts& operator=(const parts&) = delete;
    ~parts() { detail::give_back(stack_); }

    /// On the outer stack.
    void enter() noexcept {
        exceptions_.exchange();
        watch_.enter();
        inside_ = std::move(inside_).resume();
        watch_.left();
        exceptions_.exchange();
    }
    /// On the inner stack.
    void leave() {
        throw_if_unwinding();
        watch_.leave(false);
        outside_ = std::move(outside_).resume();
        watch_.entered();
        throw_if_unwinding();
    }

    detail::promise_base* wanted = nullptr;
    std::exception_ptr error;
    bool unwind = false;
    bool over = false;

private:
    void throw_if_unwinding() const {
        if (unwind) throw unwinding();
    }

    boost::context::fiber whole_life(boost::context::fiber&& outside) {
        outside_ = std::move(outside);
        watch_.entered();
        try {
            body_.run();
        } catch (const unwinding&) {
        } catch (...) {
            error = std::current_exception();
        }
        wanted = nullptr;
        over = true;
        watch_.leave(true);
        return std::move(outside_);
    }

    entry& body_;
    detail::stack stack_;
    stack_watch watch_;
    handled_exceptions exceptions_;
    boost::context::fiber inside_;
    boost::context::fiber outside_;
};

fiber::fiber(entry& body, std::size_t stack_bytes) : parts_(std::make_unique<parts>(body, stack_bytes)) {}

fiber::~fiber() {
    if (parts_->over) return;
    parts_->unwind = true;
    switch_over();
    TUTTI_CHECK(parts_->over, "a fiber that is destroyed while it waits unwinds its stack to the end");
}

void fiber::switch_over() noexcept {
    const auto* before = std::exchange(current_fiber, this);
    parts_->enter();
    current_fiber = before;
}

detail::promise_base* fiber::resume() {
    switch_over();
    if (parts_->error) std::rethrow_exception(std::exchange(parts_->error, nullptr));
    return parts_->wanted;
}

const fiber* fiber::current() noexcept { return current_fiber; }

void fiber::check_inside() {
    if (!inside()) throw failure(error::invalid_argument, "fiber::await was called on a stack that was not started with fiber::run");
}

void fiber::wait_for(detail::promise_base* task) {
    check_inside();
    TUTTI_CHECK(task != nullptr, "a task is awaited after it was moved away");
    auto& self = *current_fiber->parts_;
    self.wanted = task;
    self.leave();
}

}  // namespace tutti
