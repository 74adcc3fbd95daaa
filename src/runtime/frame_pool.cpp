// Coroutine frames come and go in a few sizes; each thread keeps some of each for the next one.
#include <tutti/detail/promise.hpp>

#include <array>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#define TUTTI_POISON_FRAMES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TUTTI_POISON_FRAMES 1
#endif
#endif
#ifdef TUTTI_POISON_FRAMES
#include <sanitizer/asan_interface.h>
#endif

namespace tutti::detail {
namespace {

constexpr std::size_t class_bytes = 64;
constexpr std::size_t class_count = 64;      // frames up to 4 KiB
constexpr std::size_t kept_per_class = 256;

// A sanitizer must still see the use of a frame that has ended.
void hide([[maybe_unused]] void* frame, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef TUTTI_POISON_FRAMES
    ASAN_POISON_MEMORY_REGION(frame, bytes);
#endif
}
void show([[maybe_unused]] void* frame, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef TUTTI_POISON_FRAMES
    ASAN_UNPOISON_MEMORY_REGION(frame, bytes);
#endif
}

class frame_pool {
public:
    ~frame_pool();

    void* take(std::size_t size_class) noexcept {
        shelf& from = shelves_[size_class];
        if (from.first == nullptr) return nullptr;
        spare* frame = from.first;
        show(frame, (size_class + 1) * class_bytes);
        from.first = frame->next;
        --from.count;
        return frame;
    }
    bool keep(void* frame, std::size_t size_class) noexcept {
        shelf& to = shelves_[size_class];
        if (to.count == kept_per_class) return false;
        to.first = ::new (frame) spare{to.first};
        ++to.count;
        hide(frame, (size_class + 1) * class_bytes);
        return true;
    }

private:
    struct spare {
        spare* next;
    };
    struct shelf {
        spare* first = nullptr;
        std::size_t count = 0;
    };
    std::array<shelf, class_count> shelves_;
};

// Null before the first frame and after the pool of an ending thread is gone.
thread_local frame_pool* pool_of_this_thread = nullptr;
thread_local bool thread_is_ending = false;

frame_pool::~frame_pool() {
    pool_of_this_thread = nullptr;
    thread_is_ending = true;
    for (std::size_t size_class = 0; size_class < class_count; ++size_class)
        while (void* frame = take(size_class)) ::operator delete(frame);
}

frame_pool* pool() noexcept {
    if (pool_of_this_thread == nullptr && !thread_is_ending) {
        thread_local frame_pool mine;
        pool_of_this_thread = &mine;
    }
    return pool_of_this_thread;
}

std::size_t class_of(std::size_t bytes) noexcept { return (bytes - 1) / class_bytes; }

}  // namespace

void* allocate_frame(std::size_t bytes) {
    const std::size_t size_class = class_of(bytes);
    if (size_class >= class_count) return ::operator new(bytes);
    if (frame_pool* shelves = pool())
        if (void* frame = shelves->take(size_class)) return frame;
    return ::operator new((size_class + 1) * class_bytes);
}

void recycle_frame(void* frame, std::size_t bytes) noexcept {
    const std::size_t size_class = class_of(bytes);
    if (size_class < class_count)
        if (frame_pool* shelves = pool())
            if (shelves->keep(frame, size_class)) return;
    ::operator delete(frame);
}

}  // namespace tutti::detail
