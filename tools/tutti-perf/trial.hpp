// One operation of one size on one rank: its memory, how it is called, and what must come out.
#pragma once

#include "options.hpp"

#include <tutti/communicator.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace perf {

class trial {
public:
    /// `count`: elements of a share, as options::count_for gives them. The operations take in turn as many vectors as fill `memory_bytes`.
    trial(const options& given, std::uint64_t count, tutti::communicator& world, std::size_t memory_bytes = 0);
    trial(const trial&) = delete;
    trial& operator=(const trial&) = delete;

    /// Issues the operation; not where it takes several calls.
    tutti::future<> start(tutti::communicator& world) { return what_.start(world, next()); }
    /// The whole of one that does.
    tutti::task<> play(tutti::communicator& world) { return what_.play(world, next()); }
    bool played() const noexcept { return what_.play != nullptr; }

    /// Puts contributions into the inputs that tell ranks and places apart, and nonsense into the outputs.
    void fill();
    /// How many elements of the last operation's output are not what follows from `fill` on all ranks.
    std::int64_t wrong() const;
    /// Zeros everywhere: a sum of sums stays a number.
    void clear() noexcept;

    /// Elements, as the call takes them; where each rank has a count of its own, all of them.
    std::uint64_t count() const noexcept { return what_.uneven() ? longest_ : count_; }
    /// Bytes of the whole vector.
    std::uint64_t bytes() const noexcept { return longest_ * tutti::size_of(type_); }

    /// Operands of the last operation.
    tutti::const_buffer input() const noexcept;
    tutti::buffer output() const noexcept;
    tutti::reduction op() const noexcept;

private:
    /// From the arena, or ordinary memory by whole pages.
    class memory {
    public:
        memory() = default;
        memory(tutti::communicator& world, bool arena, std::size_t bytes);
        std::byte* data() const noexcept { return data_; }

    private:
        struct free_pages {
            void operator()(std::byte* pages) const noexcept;
        };
        std::unique_ptr<std::byte[], free_pages> pages_;
        tutti::shared_array<std::uint8_t> shared_;
        std::byte* data_ = nullptr;
    };

    operands next() noexcept;
    std::uint64_t elements(parts held) const noexcept { return held == parts::all ? longest_ : counts_[static_cast<std::size_t>(me_)]; }
    /// Where the last operation's vector stands, and there one part in memory for all of them.
    std::size_t offset(parts held) const noexcept;
    int contribution(tutti::rank from, int part, std::uint64_t index) const noexcept;
    template <class T>
    void fill_input();
    template <class T>
    T expected(const origin& from, std::uint64_t index) const;
    template <class T>
    std::int64_t count_wrong() const;

    const subject& what_;
    const tutti::data_type type_;
    const tutti::reduce_op op_;
    const bool in_place_;
    const bool arena_;
    const tutti::rank me_;
    const int size_;
    const std::uint64_t count_;        // elements of a share
    const std::uint64_t longest_;      // elements of the longer of input and output
    std::vector<std::size_t> counts_;  // elements of each part
    const std::size_t stride_;         // bytes from one vector to the next
    const std::size_t vectors_;
    std::size_t last_ = 0;  // of the vectors, that an operation took
    memory first_;          // the inputs; in place the outputs, too
    memory second_;         // the outputs, unless in place
};

}  // namespace perf
