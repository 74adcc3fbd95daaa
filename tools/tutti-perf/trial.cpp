#include "trial.hpp"

#include "oracle.hpp"

#include <array>
#include <cstring>
#include <new>

namespace perf {
namespace {

using namespace tutti;

constexpr std::align_val_t page{4096};
constexpr std::uint64_t period = 97;  // of the contributions along a part
constexpr std::size_t line = 64;      // of a cache

std::vector<std::size_t> counts_of(const subject& what, rank me, int size, std::uint64_t share) {
    std::vector<std::size_t> counts;
    for (int part = 0; part < size; ++part) counts.push_back(share * what.shares(me, size, part));
    return counts;
}

/// Returns whether results grow with the number of ranks, so that the inputs must be small.
bool grows(reduce_op op) noexcept {
    using enum reduce_op;
    return op == sum || op == prod || op == avg || op == premul;
}

}  // namespace

void trial::memory::free_pages::operator()(std::byte* pages) const noexcept { ::operator delete(pages, page); }

trial::memory::memory(communicator& world, bool arena, std::size_t bytes) {
    if (arena) {
        shared_ = world.allocate<std::uint8_t>(bytes);
        data_ = reinterpret_cast<std::byte*>(shared_.data());
    } else {
        pages_.reset(static_cast<std::byte*>(::operator new(bytes, page)));
        data_ = pages_.get();
    }
}

trial::trial(const options& given, std::uint64_t count, communicator& world, std::size_t memory_bytes)
    : what_(*given.what),
      type_(given.type),
      op_(given.reduce),
      in_place_(what_.in_place(given.in_place)),
      arena_(given.arena),
      me_(world.rank()),
      size_(world.size()),
      count_(count),
      longest_(count * shares_of(what_, size_)),
      counts_(counts_of(what_, me_, size_, count)),
      stride_(std::max<std::size_t>(1, (bytes() + line - 1) / line) * line),
      vectors_(std::max<std::size_t>(1, (memory_bytes + stride_ - 1) / stride_)),
      first_(world, arena_, vectors_ * stride_),
      second_(in_place_ ? memory() : memory(world, arena_, vectors_ * stride_)) {
    clear();
}

operands trial::next() noexcept {
    last_ = (last_ + 1) % vectors_;
    return {input(), output(), op(), counts_, {.allocated = arena_}};
}

reduction trial::op() const noexcept {
    if (op_ == reduce_op::premul) return premul_sum(factor_of(me_));
    return op_;
}

std::size_t trial::offset(parts held) const noexcept {
    const bool inside = in_place_ && held == parts::one && (what_.input == parts::all || what_.output == parts::all);
    std::size_t before = 0;
    for (rank each = 0; inside && each < me_; ++each) before += counts_[static_cast<std::size_t>(each)];
    return last_ * stride_ + before * size_of(type_);
}

const_buffer trial::input() const noexcept { return {first_.data() + offset(what_.input), elements(what_.input), type_}; }

buffer trial::output() const noexcept {
    std::byte* const begin = in_place_ ? first_.data() : second_.data();
    return {begin + offset(what_.output), elements(what_.output), type_};
}

void trial::clear() noexcept {
    if (bytes() == 0) return;
    std::memset(first_.data(), 0, vectors_ * stride_);
    if (!in_place_) std::memset(second_.data(), 0, vectors_ * stride_);
}

/// Small enough to be exact in every type. Terms and factors are 1 or 2, so that sums of hundreds of ranks are exact, too.
int trial::contribution(rank from, int part, std::uint64_t index) const noexcept {
    const int value =
        static_cast<int>((static_cast<std::uint64_t>(from) * 31 + static_cast<std::uint64_t>(part) * 13 + index * 7) % period);
    return what_.reduces() && grows(op_) ? value % 2 + 1 : value;
}

template <class T>
void trial::fill_input() {
    auto* next = static_cast<T*>(const_cast<void*>(input().data));
    for (int part = 0; part < (what_.input == parts::all ? size_ : 1); ++part) {
        const std::uint64_t count = what_.input == parts::all ? counts_[static_cast<std::size_t>(part)] : input().count;
        for (std::uint64_t index = 0; index < count; ++index) *next++ = element_of<T>(contribution(me_, part, index));
    }
}

void trial::fill() {
    if (bytes() == 0) return;
    std::memset(first_.data(), 0x5a, vectors_ * stride_);
    if (!in_place_) std::memset(second_.data(), 0x5a, vectors_ * stride_);
    visit(type_, [this]<class T> { fill_input<T>(); });
    for (std::size_t other = 0; other < vectors_; ++other)
        if (other != last_) std::memcpy(first_.data() + other * stride_, first_.data() + last_ * stride_, bytes());
}

/// `index` within the part.
template <class T>
T trial::expected(const origin& from, std::uint64_t index) const {
    std::vector<int> values;
    for (rank each = from.first; each < from.last; ++each) values.push_back(contribution(each, from.part, index));
    return what_.reduces() ? combined<T>(op_, from.first, values) : element_of<T>(values.front());
}

template <class T>
std::int64_t trial::count_wrong() const {
    const auto* values = static_cast<const T*>(output().data);
    std::int64_t wrong = 0;
    for (int part = 0; part < (what_.output == parts::all ? size_ : 1); ++part) {
        const std::uint64_t count = what_.output == parts::all ? counts_[static_cast<std::size_t>(part)] : output().count;
        const origin from = what_.origin_of(me_, size_, part);
        std::array<T, period> pattern{};  // the same all along the part
        for (std::uint64_t index = 0; index < std::min(period, count); ++index) pattern[index] = expected<T>(from, index);
        for (std::uint64_t index = 0; index < count; ++index) wrong += same(*values++, pattern[index % period]) ? 0 : 1;
    }
    return wrong;
}

std::int64_t trial::wrong() const {
    if (what_.root_only && me_ != root) return 0;
    std::int64_t found = 0;
    visit(type_, [&]<class T> { found = count_wrong<T>(); });
    return found;
}

}  // namespace perf
