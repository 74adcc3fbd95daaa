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
    /// `count`: elements of a share, as options::count_for gives them.
    trial(const options& given, std::uint64_t count, tutti::communicator& world);
    trial(const trial&) = delete;
    trial& operator=(const trial&) = delete;

    /// Issues the operation; not where it takes several calls.
    tutti::future<> start(tutti::communicator& world) { return what_.start(world, operands_); }
    /// The whole of one that does.
    tutti::task<> play(tutti::communicator& world) { return what_.play(world, operands_); }
    bool played() const noexcept { return what_.play != nullptr; }

    /// Puts contributions into the input that tell ranks and places apart, and nonsense into the output.
    void fill();
    /// How many elements of the output are not what follows from `fill` on all ranks.
    std::int64_t wrong() const;
    /// Zeros everywhere: a sum of sums stays a number.
    void clear() noexcept;

    /// Elements, as the call takes them; where each rank has a count of its own, all of them.
    std::uint64_t count() const noexcept { return what_.uneven() ? longest_ : count_; }
    /// Of the whole vector.
    std::uint64_t bytes() const noexcept { return longest_ * tutti::size_of(type_); }

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

    std::uint64_t elements(parts held) const noexcept { return held == parts::all ? longest_ : counts_[static_cast<std::size_t>(me_)]; }
    /// Where one part stands in memory for all of them.
    std::size_t mine_bytes(parts held) const noexcept;
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
    const tutti::rank me_;
    const int size_;
    const std::uint64_t count_;        // elements of a share
    const std::uint64_t longest_;      // elements of the longer of input and output
    std::vector<std::size_t> counts_;  // elements of each part
    memory first_;                     // the input; in place the output, too
    memory second_;                    // the output, unless in place
    const operands operands_;
};

}  // namespace perf
