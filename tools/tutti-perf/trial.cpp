#include "trial.hpp"

#include "reduce/visit.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstring>
#include <new>

namespace perf {
namespace {

using namespace tutti;

constexpr rank root = 0;
constexpr std::align_val_t page{4096};
constexpr std::uint64_t period = 97;  // of the contributions along the vector

constexpr bool has_parts(collective kind) {
    return kind == collective::all_gather || kind == collective::reduce_scatter || kind == collective::all_to_all;
}

std::uint64_t elements_of_call(const options& given, std::uint64_t bytes, int size) {
    if (given.kind == collective::barrier) return 0;
    const std::uint64_t unit = size_of(given.type) * (has_parts(given.kind) ? static_cast<std::uint64_t>(size) : 1);
    return (bytes + unit - 1) / unit;
}

}  // namespace

void trial::free_memory::operator()(std::byte* memory) const noexcept { ::operator delete(memory, page); }

trial::memory trial::allocate(std::size_t bytes) { return memory(static_cast<std::byte*>(::operator new(bytes, page))); }

trial::trial(const options& given, std::uint64_t bytes, rank me, int size)
    : kind_(given.kind), type_(given.type), op_(given.reduce), in_place_(given.in_place || given.kind == collective::broadcast), me_(me), size_(size),
      count_(elements_of_call(given, bytes, size)), longest_(count_ * (has_parts(kind_) ? static_cast<std::uint64_t>(size) : 1)),
      first_(allocate(this->bytes())), second_(in_place_ ? nullptr : allocate(this->bytes())) {
    clear();
}

bool trial::reduces() const noexcept {
    return kind_ == collective::all_reduce || kind_ == collective::reduce || kind_ == collective::reduce_scatter;
}

const_buffer trial::input() const noexcept {
    const bool inside = in_place_ && kind_ == collective::all_gather;
    return {first_.get() + (inside ? part() * size_of(type_) : 0), spreads() ? longest_ : count_, type_};
}

buffer trial::output() const noexcept {
    const bool inside = in_place_ && kind_ == collective::reduce_scatter;
    std::byte* begin = in_place_ ? first_.get() : second_.get();
    return {begin + (inside ? part() * size_of(type_) : 0), gathers() ? longest_ : count_, type_};
}

future<> trial::start(communicator& world) {
    switch (kind_) {
        case collective::broadcast: return world.broadcast(output(), root);
        case collective::reduce: return world.reduce(input(), output(), op_, root);
        case collective::all_gather: return world.all_gather(input(), output());
        case collective::reduce_scatter: return world.reduce_scatter(input(), output(), op_);
        case collective::all_to_all: return world.all_to_all(input(), output());
        case collective::barrier: return world.barrier();
        default: return world.all_reduce(input(), output(), op_);
    }
}

void trial::clear() noexcept {
    std::memset(first_.get(), 0, bytes());
    if (second_) std::memset(second_.get(), 0, bytes());
}

/// Small enough to be exact in every type. What is added or multiplied is 1 or 2, so that sums of hundreds of ranks are, too.
int trial::contribution(rank from, std::uint64_t index) const noexcept {
    const int value = static_cast<int>((static_cast<std::uint64_t>(from) * 31 + index * 7) % period);
    return reduces() && op_ != min && op_ != max ? value % 2 + 1 : value;
}

void trial::fill() {
    std::memset(first_.get(), 0x5a, bytes());
    if (second_) std::memset(second_.get(), 0x5a, bytes());
    if (kind_ == collective::broadcast && me_ != root) return;
    visit_numbers(type_, [this]<class T> {
        auto* values = static_cast<T*>(const_cast<void*>(input().data));
        for (std::uint64_t index = 0; index < input().count; ++index) values[index] = static_cast<T>(static_cast<float>(contribution(me_, index)));
    });
}

/// Computed apart from the library: floating types in double, which is exact here; integers modulo 2^64, which wraps like the type.
template <class T>
T trial::reduced(std::uint64_t index) const {
    using wide = std::conditional_t<std::integral<T>, std::uint64_t, double>;
    wide all = static_cast<wide>(contribution(0, index));
    for (rank from = 1; from < size_; ++from) {
        const auto next = static_cast<wide>(contribution(from, index));
        if (op_ == prod) all *= next;
        else if (op_ == min) all = std::min(all, next);
        else if (op_ == max) all = std::max(all, next);
        else all += next;
    }
    if constexpr (std::integral<T>) {
        const T narrow = static_cast<T>(all);
        return op_ == avg ? static_cast<T>(narrow / static_cast<T>(size_)) : narrow;
    } else if constexpr (std::floating_point<T>) {
        return static_cast<T>(op_ == avg ? all / size_ : all);
    } else {
        return static_cast<T>(op_ == avg ? static_cast<float>(all) / static_cast<float>(size_) : static_cast<float>(all));
    }
}

/// Of the output; the same every `period` elements of a part.
template <class T>
T trial::expected(std::uint64_t index) const {
    if (reduces()) return reduced<T>(kind_ == collective::reduce_scatter ? part() + index : index);
    if (kind_ == collective::broadcast) return static_cast<T>(static_cast<float>(contribution(root, index)));
    const std::uint64_t offset = kind_ == collective::all_to_all ? part() : 0;
    return static_cast<T>(static_cast<float>(contribution(static_cast<rank>(index / count_), offset + index % count_)));
}

template <class T>
std::int64_t trial::count_wrong() const {
    const auto* values = static_cast<const T*>(output().data);
    std::int64_t wrong = 0;
    for (std::uint64_t begin = 0; begin < output().count; begin += count_) {
        std::array<T, period> pattern{};
        for (std::uint64_t index = 0; index < std::min(period, count_); ++index) pattern[index] = expected<T>(begin + index);
        for (std::uint64_t index = 0; index < count_; ++index) wrong += values[begin + index] == pattern[index % period] ? 0 : 1;
    }
    return wrong;
}

std::int64_t trial::wrong() const {
    if (kind_ == collective::barrier || (kind_ == collective::reduce && me_ != root)) return 0;
    std::int64_t found = 0;
    visit_numbers(type_, [&]<class T> { found = count_wrong<T>(); });
    return found;
}

}  // namespace perf
