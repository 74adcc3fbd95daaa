// One collective of one size on one rank: its memory, how it is called, and what must come out.
#pragma once

#include "options.hpp"

#include <tutti/communicator.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace perf {

class trial {
public:
    /// A call with `count` elements.
    trial(const options& given, std::uint64_t count, tutti::rank me, int size);

    /// Issues the collective.
    tutti::future<> start(tutti::communicator& world) { return what_.start(world, {input(), output(), op_}); }
    /// Puts contributions into the input that tell ranks and places apart, and nonsense into the output.
    void fill();
    /// How many elements of the output are not what follows from `fill` on all ranks.
    std::int64_t wrong() const;
    /// Zeros everywhere: a sum of sums stays a number.
    void clear() noexcept;

    /// Elements, as the call takes them.
    std::uint64_t count() const noexcept { return count_; }
    /// Of the whole vector.
    std::uint64_t bytes() const noexcept { return longest_ * tutti::size_of(type_); }

    tutti::const_buffer input() const noexcept;
    tutti::buffer output() const noexcept;

private:
    struct free_memory {
        void operator()(std::byte* memory) const noexcept;
    };
    using memory = std::unique_ptr<std::byte[], free_memory>;
    static memory allocate(std::size_t bytes);

    std::uint64_t elements(parts held) const noexcept { return held == parts::all ? longest_ : count_; }
    /// Where one part stands in memory for all of them.
    std::size_t mine_bytes(parts held) const noexcept;
    int contribution(tutti::rank from, std::uint64_t index) const noexcept;
    template <class T>
    T expected(const origin& from, std::uint64_t index) const;
    template <class T>
    std::int64_t count_wrong() const;

    const subject& what_;
    const tutti::data_type type_;
    const tutti::reduce_op op_;
    const bool in_place_;
    const tutti::rank me_;
    const int size_;
    const std::uint64_t count_;    // elements of a part
    const std::uint64_t longest_;  // elements of the longer of input and output
    memory first_;                 // the input; in place the output, too
    memory second_;                // the output, unless in place
};

}  // namespace perf
