// The baseline of tools/compare: see group.hpp. Starts its ranks itself, and prints what tutti-perf prints.
#include "group.hpp"

#include "../../tools/number_in.hpp"
#include "sizes.hpp"
#include "table.hpp"
#include "tensors.hpp"
#include "transport/congestion_control.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <numeric>
#include <thread>

namespace {

using raw_sockets::group;
using raw_sockets::waiting;

constexpr int most_ranks = 64;

struct options {
    int ranks = 2;
    std::vector<std::uint64_t> sizes;    // bytes
    std::vector<std::uint64_t> tensors;  // instead: elements
    double seconds = 1;
    waiting how = waiting::poll;
    bool stream = false, over_vector = false;
    std::string json;
    std::string control;  // of congestion, on all sockets
};

/// Memory that all ranks see, for their measurements.
struct blackboard {
    double value[most_ranks][256];
    std::span<double, 256> of(int rank) { return value[rank]; }
};

/// One rank of all.
class player {
public:
    player(group& all, int me, const options& given, blackboard& board) : all_(all), me_(me), given_(given), board_(board) {}

    /// Every row that was asked for; complete on every rank.
    std::vector<perf::row> play() {
        if (given_.tensors.empty()) {
            for (const std::uint64_t bytes : given_.sizes) measure_size(std::max<std::size_t>(1, bytes / sizeof(float)));
        } else {
            const std::vector<std::size_t> one_by_one(given_.tensors.size(), 1);
            measure_list("one_by_one", one_by_one);
            measure_list("25MiB_buckets", perf::buckets_of(given_.tensors, perf::bucket_bytes / sizeof(float)));
            measure_list("fused", {given_.tensors.size()});
        }
        return std::move(rows_);
    }

private:
    using work = std::function<void()>;

    void measure_size(std::size_t count) {
        std::vector<float> data(count);
        if (given_.over_vector) return measure("stream", data, [&] { all_.stream_over(data); });
        if (given_.stream) return measure("stream", data, [&] { all_.stream(std::span(data).size_bytes()); });
        measure("by_hand", data, [&] { all_.all_reduce(data); });
    }

    /// `together`: how many tensors go into each call.
    void measure_list(const std::string& name, const std::vector<std::size_t>& together) {
        std::vector<float> data(std::accumulate(given_.tensors.begin(), given_.tensors.end(), std::uint64_t{0}));
        std::vector<std::span<float>> calls;
        std::size_t place = 0;
        auto next = given_.tensors.begin();
        for (std::size_t left : together) {
            std::size_t count = 0;
            for (; left > 0; --left) count += *next++;
            calls.push_back(std::span(data).subspan(place, count));
            place += count;
        }
        measure(name, data, [&] {
            for (const auto each : calls) all_.all_reduce(each);
        });
    }

    void measure(const std::string& name, std::span<float> data, const work& once) {
        const double ranks = given_.ranks;
        perf::row made{"all_reduce", data.size_bytes(),       data.size(), "f32", "sum", given_.ranks, "sockets, " + given_.control, name,
                       {},           2 * (ranks - 1) / ranks, -1};
        if (!given_.stream) made.wrong = count_wrong(data, once);
        const perf::plan how = perf::plan_for(given_.seconds, warm_up(data.size_bytes(), once));
        perf::stopwatch watch(how);
        for (int batch = 0; batch < how.batches; ++batch) {
            all_.barrier();
            watch.begin_batch();
            for (int i = 0; i < how.ops; ++i) once(), watch.end_op();
            watch.end_batch();
        }
        made.times = perf::summarize(how, given_.ranks, of_all(watch.numbers()));
        rows_.push_back(made);
        if (me_ == 0) std::fputs(perf::to_line(made).c_str(), stdout);
        std::fflush(stdout);
    }

    std::int64_t count_wrong(std::span<float> data, const work& once) {
        for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(me_ + 1) + static_cast<float>(i % 11);
        once();
        double wrong = 0;
        const auto ranks = static_cast<float>(given_.ranks);
        for (std::size_t i = 0; i < data.size(); ++i)
            wrong += data[i] == ranks * (ranks + 1) / 2 + ranks * static_cast<float>(i % 11) ? 0 : 1;
        std::fill(data.begin(), data.end(), 0.0F);
        const auto all = of_all({wrong});
        return static_cast<std::int64_t>(std::accumulate(all.begin(), all.end(), 0.0));
    }

    /// As tutti-perf does it: seconds of one turn.
    double warm_up(std::size_t bytes, const work& once) {
        const int first = bytes >= 64 << 20 ? 1 : bytes >= 4 << 20 ? 3 : 20;
        const double seconds = repeat(first, once);
        return first < 20 ? seconds : repeat(static_cast<int>(std::clamp(std::min(0.2, given_.seconds) / seconds, 1.0, 4000.0)), once);
    }
    double repeat(int repeats, const work& once) {
        const double began = perf::now();
        for (int i = 0; i < repeats; ++i) once();
        return std::ranges::max(of_all({(perf::now() - began) / repeats}));
    }

    /// Everybody's numbers, one rank's after the other.
    std::vector<double> of_all(const std::vector<double>& mine) {
        std::ranges::copy(mine, board_.of(me_).begin());
        all_.barrier();
        std::vector<double> numbers;
        for (int rank = 0; rank < given_.ranks; ++rank) {
            const auto theirs = board_.of(rank).first(mine.size());
            numbers.insert(numbers.end(), theirs.begin(), theirs.end());
        }
        all_.barrier();
        return numbers;
    }

    group& all_;
    const int me_;
    const options& given_;
    blackboard& board_;
    std::vector<perf::row> rows_;
};

/// One rank's exit code.
int serve(std::vector<int> sockets, int me, const options& given, blackboard& board) {
    group all(me, std::move(sockets), given.how);
    const auto rows = player(all, me, given, board).play();
    if (me == 0 && !given.json.empty() && !(std::ofstream(given.json) << perf::to_json(rows) << std::flush)) {
        fmt::print(stderr, "raw-sockets: cannot write to {}\n", given.json);
        return 2;
    }
    return std::ranges::any_of(rows, [](const perf::row& one) { return one.wrong > 0; }) ? 1 : 0;
}

/// The worst exit code of all ranks; when one fails the others are ended.
int wait_for(const std::vector<pid_t>& all) {
    int worst = 0;
    for (std::size_t left = all.size(); left > 0; --left) {
        int status = 0;
        ::wait(&status);
        if (status == 0) continue;
        if (worst == 0)
            for (const pid_t each : all) ::kill(each, SIGKILL);
        worst = 1;
    }
    return worst;
}

int run(options given) {
    const auto ranks = static_cast<std::size_t>(given.ranks);
    std::vector<std::vector<int>> sockets(ranks, std::vector<int>(ranks, -1));
    for (std::size_t low = 0; low < ranks; ++low)
        for (std::size_t high = low + 1; high < ranks; ++high) {
            // As Tutti's links have it.
            const auto ends = raw_sockets::connected_pair([&](int each) { given.control = tutti::choose_host_congestion_control(each); });
            sockets[low][high] = ends[0];
            sockets[high][low] = ends[1];
        }
    void* shared = ::mmap(nullptr, sizeof(blackboard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) throw std::system_error(errno, std::system_category(), "mmap");
    constexpr std::string_view while_idle[] = {"asleep in poll", "yielding", "spinning"};
    fmt::print("# {}, {} ranks, raw sockets with {}, {} while nothing moves, in place\n{}",
               given.over_vector ? "streams over the vector, without reduction"
               : given.stream    ? "streams without reduction"
                                 : "all_reduce",
               given.ranks, given.control, while_idle[static_cast<int>(given.how)], perf::heading());
    std::fflush(stdout);
    std::vector<pid_t> children;
    for (int me = 0; me < given.ranks; ++me) {
        const pid_t child = raw_sockets::checked(::fork(), "fork");
        if (child == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            std::_Exit(serve(sockets[static_cast<std::size_t>(me)], me, given, *static_cast<blackboard*>(shared)));
        }
        children.push_back(child);
    }
    return wait_for(children);
}

waiting waiting_in(const std::string& text, int ranks) {
    if (text == "poll") return waiting::poll;
    if (text == "yield") return waiting::yield;
    if (text == "pause") return waiting::pause;
    return static_cast<unsigned>(ranks) > std::thread::hardware_concurrency() ? waiting::yield : waiting::pause;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"Times a float sum all-reduce over plain sockets, with the columns of tutti-perf."};
    options given;
    double step = 4;
    std::string bytes = "4..64MiB", wait = "poll", list;
    app.add_option("-n,--ranks", given.ranks, "How many processes")->check(CLI::Range(1, most_ranks))->capture_default_str();
    app.add_option("--bytes", bytes, "Sizes: a list (4,64KiB,1MiB) or a range (4..64MiB)")->capture_default_str();
    app.add_option("--step", step, "The factor between the sizes of a range")->check(tutti::number_in(1.1, 1e6))->capture_default_str();
    app.add_option("--seconds", given.seconds, "How long one size is measured, about")
        ->check(tutti::number_in(0.001, 3600.0))
        ->capture_default_str();
    app.add_option("--wait", wait,
                   "While nothing moves: poll (sleep), pause, yield, or spin: yield where ranks outnumber cores, else pause")
        ->check(CLI::IsMember({"poll", "pause", "yield", "spin"}))
        ->capture_default_str();
    const auto stream = app.add_flag("--stream", given.stream,
                                     "Only move as many bytes as the ring does, both ways at once: the limit for vectors in cache");
    app.add_flag("--over-vector", given.over_vector,
                 "Streams come out of one block of the vector and go into the others, not through the same cache again and again")
        ->needs(stream);
    app.add_option("--list", list, "Tensors instead of sizes: resnet50, or a file with an element count a line")
        ->excludes("--bytes")
        ->excludes("--stream");
    app.add_option("--json", given.json, "Write the results to this file, too");
    try {
        app.parse(argc, argv);
        given.sizes = perf::sizes_in(bytes, step);
        given.how = waiting_in(wait, given.ranks);
        if (!list.empty()) given.tensors = perf::tensors_of(list);
        return run(given);
    } catch (const CLI::CallForHelp& help) {
        return app.exit(help);
    } catch (const std::exception& wrong) {
        fmt::print(stderr, "raw-sockets: {}\n", wrong.what());
        return 2;
    }
}
