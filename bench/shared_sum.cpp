// An all-reduce without Tutti, in memory that all ranks map: each sums its part of all vectors where they lie and writes the sum to all ranks,
// and a barrier ends it. Nothing is sent, and each byte is read and written once, but for a rank's own part where the sum goes elsewhere, which is
// copied first. So this is about what the memory of this machine allows for vectors of that size. Floats, back to back, with Tutti's kernel.
//
//     shared-sum in-place|apart RANKS BYTES...      # for each size a line: bytes, and the microseconds of an all-reduce, the median of 21 batches
//
// In place the sum is written over the vectors, apart into others of the same size.
#include "reduce/kernel.hpp"
#include "stopwatch.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

constexpr int batches = 21;
constexpr double batch_seconds = 0.004;  // about
constexpr std::size_t most_ranks = 16;

struct unmap {
    std::size_t bytes;
    void operator()(void* memory) const noexcept { ::munmap(memory, bytes); }
};
using mapping = std::unique_ptr<void, unmap>;

mapping shared(std::size_t bytes) {
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::system_category(), "mmap");
    return {memory, {bytes}};
}

struct meeting_point {
    alignas(64) std::atomic<std::size_t> arrived{0};
    alignas(64) std::atomic<std::size_t> passed{0};
    alignas(64) std::atomic<std::size_t> operations{1};  // of a batch: what rank 0 says
};

class rank {
public:
    rank(std::size_t me, std::size_t ranks, std::size_t bytes, bool apart, meeting_point& all, std::byte* memory)
        : me_(me),
          ranks_(ranks),
          elements_(bytes / sizeof(float)),
          all_(all),
          memory_(memory),
          sums_(apart ? memory + ranks * bytes : memory) {}

    /// Microseconds of an operation.
    double measure() {
        for (std::byte* const all : {memory_, sums_}) std::memset(vector(all, me_), 0, elements_ * sizeof(float));
        barrier();
        const double first = batch(3);
        if (me_ == 0) all_.operations = std::max<std::size_t>(1, static_cast<std::size_t>(batch_seconds / first));
        barrier();
        const std::size_t operations = all_.operations;
        std::vector<double> seconds;
        for (int turn = 0; turn < batches; ++turn) seconds.push_back(batch(operations));
        std::ranges::nth_element(seconds, seconds.begin() + batches / 2);
        return 1e6 * seconds[batches / 2];
    }

private:
    double batch(std::size_t operations) {
        const double began = bench::now();
        for (std::size_t turn = 0; turn < operations; ++turn) {
            all_reduce();
            barrier();
        }
        return (bench::now() - began) / static_cast<double>(operations);
    }

    void all_reduce() {
        constexpr std::size_t piece = 64 * tutti::KiB / sizeof(float);  // is in cache when it is written
        const std::size_t end = elements_ * (me_ + 1) / ranks_;
        for (std::size_t at = elements_ * me_ / ranks_; at < end; at += piece) sum(at, std::min(piece, end - at));
    }

    void sum(std::size_t first, std::size_t count) {
        const auto part = [&](std::byte* all, std::size_t of) { return vector(all, of) + first * sizeof(float); };
        std::array<const std::byte*, most_ranks> others;
        std::array<std::byte*, most_ranks> also;
        for (std::size_t k = 1; k < ranks_; ++k) {
            others[k - 1] = part(memory_, (me_ + k) % ranks_);
            also[k - 1] = part(sums_, (me_ + k) % ranks_);
        }
        tutti::merge(tutti::sum, tutti::data_type::f32,
                     {part(memory_, me_), std::span(others).first(ranks_ - 1), part(sums_, me_), std::span(also).first(ranks_ - 1)}, count);
    }

    void barrier() {
        ++meetings_;
        if (all_.arrived.fetch_add(1) + 1 == ranks_ * meetings_) all_.passed = meetings_;
        while (all_.passed < meetings_) ::sched_yield();
    }

    std::byte* vector(std::byte* all, std::size_t of) const { return all + of * elements_ * sizeof(float); }

    const std::size_t me_, ranks_, elements_;
    meeting_point& all_;
    std::byte* const memory_;  // every rank's vector, one after the other
    std::byte* const sums_;    // and what they become
    std::size_t meetings_ = 0;
};

/// False when a rank has failed; then the others are ended.
bool all_end_well(const std::vector<pid_t>& all) {
    bool well = true;
    for (std::size_t left = all.size(); left > 0; --left) {
        int status = 0;
        ::wait(&status);
        if (status != 0 && std::exchange(well, false))
            for (const pid_t each : all) ::kill(each, SIGKILL);
    }
    return well;
}

bool measure(std::size_t ranks, std::size_t bytes, bool apart) {
    const mapping vectors = shared((apart ? 2 : 1) * ranks * bytes), point = shared(sizeof(meeting_point));
    auto& all = *new (point.get()) meeting_point;
    std::vector<pid_t> children;
    for (std::size_t me = 0; me < ranks; ++me) {
        const pid_t child = ::fork();
        if (child < 0) throw std::system_error(errno, std::system_category(), "fork");
        if (child > 0) {
            children.push_back(child);
            continue;
        }
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        const double microseconds = rank(me, ranks, bytes, apart, all, static_cast<std::byte*>(vectors.get())).measure();
        if (me == 0) std::printf("%zu %.2f\n", bytes, microseconds);
        std::fflush(stdout);
        std::_Exit(0);
    }
    return all_end_well(children);
}

std::size_t number(std::string_view word, std::size_t least, std::size_t most) {
    std::size_t value = 0;
    const auto [end, wrong] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (wrong != std::errc() || end != word.data() + word.size() || value < least || value > most)
        throw std::invalid_argument("'" + std::string(word) + "' is no number from " + std::to_string(least) + " to " +
                                    std::to_string(most));
    return value;
}

}  // namespace

int main(int count, char** words) {
    try {
        const std::string_view where = count > 2 ? words[1] : "";
        if (where != "in-place" && where != "apart")
            throw std::invalid_argument("takes in-place or apart, a number of ranks, and sizes in bytes");
        const std::size_t ranks = number(words[2], 1, most_ranks);
        for (int each = 3; each < count; ++each) {
            const std::size_t bytes = number(words[each], sizeof(float), std::size_t{1} << 40) / sizeof(float) * sizeof(float);
            if (!measure(ranks, bytes, where == "apart")) return 1;
        }
    } catch (const std::exception& wrong) {
        std::fprintf(stderr, "shared-sum: %s\n", wrong.what());
        return 2;
    }
    return 0;
}
