// How fast blocks are combined, beside what the memory gives: GB/s of result in L2 and from memory, and memcpy of the same size in the
// same run. A combination moves three bytes where memcpy moves two, so 0.67 of memcpy is all there is; a merge, whose sum goes into two blocks,
// four. One argument is understood: by how many bytes (a multiple of 8) the blocks stand past a page.
#include "reduce/kernel.hpp"
#include "reduce/visit.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

using namespace tutti;

constexpr std::size_t l2_bytes = 128 * KiB;  // three blocks of this size stay in an L2 of 512 KiB
constexpr std::size_t memory_bytes = 64 * MiB;

/// Memory at `offset_bytes` past a page, the same in every run.
class aligned {
public:
    aligned(std::size_t bytes, std::size_t offset_bytes) : bytes_(bytes), offset_bytes_(offset_bytes) {
        memory_ = static_cast<unsigned char*>(std::aligned_alloc(4096, (bytes + offset_bytes + 4095) / 4096 * 4096));
        if (memory_ == nullptr) std::abort();
        std::memset(memory_, 0, bytes + offset_bytes);
    }
    aligned(const aligned&) = delete;
    aligned& operator=(const aligned&) = delete;
    ~aligned() { std::free(memory_); }

    unsigned char* data() noexcept { return memory_ + offset_bytes_; }
    std::size_t size() const noexcept { return bytes_; }
    unsigned char& operator[](std::size_t at) noexcept { return data()[at]; }

private:
    unsigned char* memory_;
    std::size_t bytes_, offset_bytes_;
};

struct blocks {
    aligned target, first, second;

    blocks(std::size_t bytes, std::size_t offset_bytes)
        : target(bytes, offset_bytes),
          first(bytes, offset_bytes),
          second(bytes, offset_bytes) {}

    /// Ones (as floats) and small numbers (as integers): neither subnormals nor NaN slow anything down.
    void fill(data_type type) {
        const std::size_t width = size_of(type) / (is_complex(type) ? 2 : 1);
        const unsigned char one_high = type == data_type::f16 ? 0x3c : 0x3f;
        const unsigned char one_low = type == data_type::f64 || type == data_type::cf64 ? 0xf0 : 0x80;
        const bool floating = is_floating(type) || is_complex(type);
        for (std::size_t i = 0; i < first.size(); ++i) {
            const bool high = floating && i % width == width - 1, low = floating && i % width == width - 2 && type != data_type::f16;
            first[i] = second[i] = high ? one_high : low ? one_low : static_cast<unsigned char>(i % width == 0);
        }
    }
};

/// The best of several runs: the machine may be shared.
template <class Work>
double gigabytes_per_second(std::size_t bytes, int runs, Work&& work) {
    using clock = std::chrono::steady_clock;
    const std::size_t repeats = std::max<std::size_t>(1, 16 * MiB / bytes);
    double best = 0;
    for (int run = 0; run < runs; ++run) {
        const auto begin = clock::now();
        for (std::size_t i = 0; i < repeats; ++i) work();
        const std::chrono::duration<double, std::nano> took = clock::now() - begin;
        best = std::max(best, static_cast<double>(bytes * repeats) / took.count());
    }
    return best;
}

struct row {
    std::string name;
    double l2, memory;
};

template <class Work>
row measure(std::string name, data_type type, blocks& small, blocks& large, Work&& work) {
    small.fill(type);
    large.fill(type);
    const double l2 = gigabytes_per_second(l2_bytes, 20, [&] { work(small, l2_bytes / size_of(type)); });
    const double memory = gigabytes_per_second(memory_bytes, 4, [&] { work(large, memory_bytes / size_of(type)); });
    return {std::move(name), l2, memory};
}

}  // namespace

int main(int argument_count, char** arguments) {
    const std::size_t offset_bytes = argument_count > 1 ? std::stoul(arguments[1]) : 0;
    blocks small(l2_bytes, offset_bytes), large(memory_bytes, offset_bytes);
    const row copy = measure("memcpy", data_type::u8, small, large,
                             [](blocks& b, std::size_t count) { std::memcpy(b.target.data(), b.first.data(), count); });
    std::printf("# %s, L2 %zu KiB, memory %zu MiB, %zu bytes past a page; GB/s of result and the ratio to memcpy\n", kernel_target(),
                l2_bytes / KiB, memory_bytes / MiB, offset_bytes);
    std::printf("%-12s %8s %6s %8s %6s\n", "type op", "L2", "ratio", "memory", "ratio");
    const auto print = [&](const row& what) {
        std::printf("%-12s %8.1f %6.2f %8.1f %6.2f\n", what.name.c_str(), what.l2, what.l2 / copy.l2, what.memory,
                    what.memory / copy.memory);
    };
    print(copy);
    for (const data_type type : reducible_types) {
        for (const reduce_op op : {reduce_op::sum, reduce_op::prod, reduce_op::min, reduce_op::max, reduce_op::band}) {
            if (!defined(op, type)) continue;
            print(measure(std::string(name(type)) + " " + std::string(name(op)), type, small, large, [=](blocks& b, std::size_t count) {
                combine(op, type, b.target.data(), b.first.data(), b.second.data(), count);
            }));
        }
        print(measure(std::string(name(type)) + " merge", type, small, large, [=](blocks& b, std::size_t count) {
            const std::byte* const other = reinterpret_cast<const std::byte*>(b.second.data());
            std::byte* const own = reinterpret_cast<std::byte*>(b.first.data());
            std::byte* const also = reinterpret_cast<std::byte*>(b.target.data());
            merge(sum, type, {own, {&other, 1}, own, {&also, 1}}, count);
        }));
        if (defined(reduce_op::avg, type))
            print(measure(std::string(name(type)) + " divide", type, small, large,
                          [=](blocks& b, std::size_t count) { divide(type, b.first.data(), count, 3); }));
        if (defined(reduce_op::premul, type))
            print(measure(std::string(name(type)) + " scale", type, small, large,
                          [=](blocks& b, std::size_t count) { scale(type, b.target.data(), b.first.data(), count, 0.5); }));
    }
}
