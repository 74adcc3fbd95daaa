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

constexpr std::align_val_t page{4096};
constexpr std::uint64_t period = 97;  // of the contributions along the vector

/// Combined apart from the library: floating types in double, which is exact here; integers modulo 2^64, which wraps like the type.
template <class T>
T combined(reduce_op op, std::span<const int> values) {
    using wide = std::conditional_t<std::integral<T>, std::uint64_t, double>;
    wide all = static_cast<wide>(values.front());
    for (const int value : values.subspan(1)) {
        const auto next = static_cast<wide>(value);
        if (op == prod) all *= next;
        else if (op == min) all = std::min(all, next);
        else if (op == max) all = std::max(all, next);
        else all += next;
    }
    const auto ranks = values.size();
    if constexpr (std::integral<T>) {
        const T narrow = static_cast<T>(all);
        return op == avg ? static_cast<T>(narrow / static_cast<T>(ranks)) : narrow;
    } else if constexpr (std::floating_point<T>) {
        return static_cast<T>(op == avg ? all / static_cast<double>(ranks) : all);
    } else {
        return static_cast<T>(op == avg ? static_cast<float>(all) / static_cast<float>(ranks) : static_cast<float>(all));
    }
}

}  // namespace

void trial::free_memory::operator()(std::byte* memory) const noexcept { ::operator delete(memory, page); }

trial::memory trial::allocate(std::size_t bytes) { return memory(static_cast<std::byte*>(::operator new(bytes, page))); }

trial::trial(const options& given, std::uint64_t count, rank me, int size)
    : what_(*given.what),
      type_(given.type),
      op_(given.reduce),
      in_place_(what_.in_place(given.in_place)),
      me_(me),
      size_(size),
      count_(count),
      longest_(count * parts_of(what_, size)),
      first_(allocate(bytes())),
      second_(in_place_ ? nullptr : allocate(bytes())) {
    clear();
}

std::size_t trial::mine_bytes(parts held) const noexcept {
    const bool inside = in_place_ && held == parts::one && longest_ > count_;
    return inside ? static_cast<std::size_t>(me_) * count_ * size_of(type_) : 0;
}

const_buffer trial::input() const noexcept { return {first_.get() + mine_bytes(what_.input), elements(what_.input), type_}; }

buffer trial::output() const noexcept {
    std::byte* const begin = in_place_ ? first_.get() : second_.get();
    return {begin + mine_bytes(what_.output), elements(what_.output), type_};
}

void trial::clear() noexcept {
    std::memset(first_.get(), 0, bytes());
    if (second_) std::memset(second_.get(), 0, bytes());
}

/// Small enough to be exact in every type. What is added or multiplied is 1 or 2, so that sums of hundreds of ranks are, too.
int trial::contribution(rank from, std::uint64_t index) const noexcept {
    const int value = static_cast<int>((static_cast<std::uint64_t>(from) * 31 + index * 7) % period);
    return what_.reduces && op_ != min && op_ != max ? value % 2 + 1 : value;
}

void trial::fill() {
    std::memset(first_.get(), 0x5a, bytes());
    if (second_) std::memset(second_.get(), 0x5a, bytes());
    visit_numbers(type_, [this]<class T> {
        auto* values = static_cast<T*>(const_cast<void*>(input().data));
        for (std::uint64_t index = 0; index < input().count; ++index)
            values[index] = static_cast<T>(static_cast<float>(contribution(me_, index)));
    });
}

/// `index` within the part.
template <class T>
T trial::expected(const origin& from, std::uint64_t index) const {
    std::vector<int> values;
    for (rank each = from.first; each < from.last; ++each)
        values.push_back(contribution(each, static_cast<std::uint64_t>(from.part) * count_ + index));
    return what_.reduces ? combined<T>(op_, values) : static_cast<T>(static_cast<float>(values.front()));
}

template <class T>
std::int64_t trial::count_wrong() const {
    const auto* values = static_cast<const T*>(output().data);
    std::int64_t wrong = 0;
    for (int part = 0; part < (what_.output == parts::all ? size_ : 1); ++part) {
        const origin from = what_.origin_of(me_, size_, part);
        std::array<T, period> pattern{};  // the same all along the part
        for (std::uint64_t index = 0; index < std::min(period, count_); ++index) pattern[index] = expected<T>(from, index);
        for (std::uint64_t index = 0; index < count_; ++index) wrong += *values++ == pattern[index % period] ? 0 : 1;
    }
    return wrong;
}

std::int64_t trial::wrong() const {
    if (what_.root_only && me_ != root) return 0;
    std::int64_t found = 0;
    visit_numbers(type_, [&]<class T> { found = count_wrong<T>(); });
    return found;
}

}  // namespace perf
