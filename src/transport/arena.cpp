#include "transport/arena.hpp"

#include "base/check.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace tutti {
namespace {

constexpr std::size_t grain = 64;  // a cache line
constexpr std::size_t page = 4096;
/// The pages of freed pieces go back to the system from this length on.
constexpr std::size_t returned_from = 64 * page;

constexpr std::size_t huge_page = 2 * MiB;  // one entry of the processor's tables

constexpr std::size_t rounded(std::size_t bytes) noexcept { return std::max<std::size_t>(1, (bytes + grain - 1) / grain) * grain; }

/// As large as all memory of this host: only used pages count, and more cannot be used. At most 256 GiB, because a rank maps the arenas of
/// all its neighbours, and 256 of them must fit into a process's addresses.
std::size_t arena_bytes() noexcept {
    return std::min(static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGE_SIZE)), 256 * GiB);
}

constexpr std::align_val_t alignment_of(std::size_t bytes) noexcept { return std::align_val_t(bytes >= huge_page ? huge_page : grain); }

/// Allocates ordinary memory, in huge pages if it fills one and the system has them: streaming through it then does not stop at every small
/// page.
std::byte* ordinary(std::size_t bytes) {
    auto* const memory = static_cast<std::byte*>(::operator new(bytes, alignment_of(bytes)));
    if (bytes >= huge_page) (void)::madvise(memory, bytes / huge_page * huge_page, MADV_HUGEPAGE);
    return memory;
}

}  // namespace

/// Makes the file, once. Under the mutex.
bool arena::open() {
    if (std::exchange(opened_, true)) return static_cast<bool>(memory_);
    const std::size_t bytes = arena_bytes();
    auto file = make_shared_file("tutti-arena", bytes);
    auto memory = file ? mapping::of(*file, mapping::access::write) : result<mapping>(file.failure());
    if (!memory) {
        why_not_ = memory.failure().what();
        return false;
    }
    memory_ = std::move(*memory);
    file_ = std::move(*file);
    free_.emplace(0, bytes);
    return true;
}

/// Takes the first free piece that is large enough.
bool arena::take(std::size_t bytes, std::size_t& offset) {
    if (!shared_) return false;
    const std::lock_guard lock(mutex_);
    if (!open()) return false;
    for (auto each = free_.begin(); each != free_.end(); ++each) {
        const auto [begin, length] = *each;
        if (length < bytes) continue;
        free_.erase(each);
        if (length > bytes) free_.emplace(begin + bytes, length - bytes);
        offset = begin;
        return true;
    }
    return false;
}

std::byte* arena::allocate(std::size_t bytes) {
    TUTTI_CHECK(made_.here(), "an arena gives out memory in the process that has made it");
    const std::size_t whole = rounded(bytes);
    std::size_t offset = 0;
    std::byte* const memory = take(whole, offset) ? memory_.data() + offset : ordinary(whole);
    std::memset(memory, 0, whole);
    return memory;
}

/// A forked process gives nothing back: the memory is its parent's, and the lock may stay locked for ever.
void arena::free(std::byte* memory, std::size_t bytes) noexcept {
    if (!made_.here()) return;
    std::size_t whole = rounded(bytes);
    const auto place = locate({memory, whole});
    if (!place) {
        ::operator delete(memory, alignment_of(whole));
        return;
    }
    std::size_t offset = static_cast<std::size_t>(*place);
    if (whole >= returned_from) {
        const std::size_t first = (offset + page - 1) / page * page, last = (offset + whole) / page * page;
        (void)::fallocate(file_.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first),
                          static_cast<off_t>(last - first));
    }
    const std::lock_guard lock(mutex_);
    auto next = free_.upper_bound(offset);
    if (next != free_.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second == offset) {
            offset = before->first;
            whole += before->second;
            free_.erase(before);
        }
    }
    if (next != free_.end() && offset + whole == next->first) {
        whole += next->second;
        free_.erase(next);
    }
    free_.emplace(offset, whole);
}

std::optional<std::uint64_t> arena::locate(std::span<const std::byte> run) const noexcept {
    const std::lock_guard lock(mutex_);
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data()), at = reinterpret_cast<std::uintptr_t>(run.data());
    if (!memory_ || at < begin || at - begin > memory_.size() || memory_.size() - (at - begin) < run.size()) return std::nullopt;
    return at - begin;
}

result<std::shared_ptr<const mapping>> arena::of_other(const file_descriptor& file) {
    const std::lock_guard lock(mutex_);
    std::erase_if(others_, [](const auto& each) { return each.second.expired(); });
    auto& place = others_[identity_of(file)];
    if (auto known = place.lock()) return known;
    auto memory = mapping::of(file, mapping::access::write);
    if (!memory) return memory.failure();
    auto made = std::make_shared<const mapping>(std::move(*memory));
    place = made;
    return made;
}

std::string arena::why_not() const {
    const std::lock_guard lock(mutex_);
    return why_not_;
}

}  // namespace tutti
