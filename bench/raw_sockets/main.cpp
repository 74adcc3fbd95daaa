// The baseline of tools/compare: see group.hpp. Starts its ranks itself, and prints what tutti-perf prints.
#include "group.hpp"

#include "sizes.hpp"
#include "table.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <fstream>

namespace {

using raw_sockets::group;

constexpr int most_ranks = 64;

/// Memory that all ranks see, for their measurements.
struct blackboard {
    double value[most_ranks][256];
    std::span<double, 256> of(int rank) { return value[rank]; }
};

std::int64_t count_wrong(group& all, int me, int ranks, std::span<float> data) {
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(me + 1) + static_cast<float>(i % 11);
    all.all_reduce(data);
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < data.size(); ++i)
        wrong += data[i] == static_cast<float>(ranks * (ranks + 1) / 2) + static_cast<float>(ranks) * static_cast<float>(i % 11) ? 0 : 1;
    std::fill(data.begin(), data.end(), 0.0F);
    return wrong;
}

perf::row measure(group& all, int me, int ranks, std::uint64_t bytes, double seconds, blackboard& board) {
    std::vector<float> data(std::max<std::size_t>(1, bytes / sizeof(float)));
    perf::row made{"all_reduce", data.size() * sizeof(float), data.size(), "f32", "sum", ranks, "sockets", "by_hand", {}, 0};
    board.of(me)[1] = static_cast<double>(count_wrong(all, me, ranks, data));
    const auto repeat = [&](int repeats) {
        const double began = perf::now();
        for (int i = 0; i < repeats; ++i) all.all_reduce(data);
        board.of(me)[0] = (perf::now() - began) / repeats;
        all.barrier();
        double slowest = 0;
        for (int rank = 0; rank < ranks; ++rank) slowest = std::max(slowest, board.of(rank)[0]);
        all.barrier();
        return slowest;
    };
    double one = repeat(bytes >= 64 << 20 ? 1 : bytes >= 4 << 20 ? 3 : 20);
    if (bytes < 4 << 20) one = repeat(static_cast<int>(std::clamp(0.2 / one, 1.0, 4000.0)));
    for (int rank = 0; rank < ranks; ++rank) made.wrong += static_cast<std::int64_t>(board.of(rank)[1]);
    const perf::plan how = perf::plan_for(seconds, one);
    perf::stopwatch watch(how);
    for (int batch = 0; batch < how.batches; ++batch) {
        all.barrier();
        watch.begin_batch();
        for (int i = 0; i < how.ops; ++i) all.all_reduce(data), watch.end_op();
        watch.end_batch();
    }
    std::ranges::copy(watch.numbers(), board.of(me).begin());
    all.barrier();
    std::vector<double> numbers;
    for (int rank = 0; rank < ranks; ++rank) {
        const auto theirs = board.of(rank).first(perf::stopwatch::numbers_count(how));
        numbers.insert(numbers.end(), theirs.begin(), theirs.end());
    }
    all.barrier();
    made.times = perf::summarize(how, ranks, numbers);
    return made;
}

/// All sizes on one rank.
int serve(group& all, int me, int ranks, const std::vector<std::uint64_t>& sizes, double seconds, const std::string& json, blackboard& board) {
    std::vector<perf::row> rows;
    for (const std::uint64_t bytes : sizes) {
        rows.push_back(measure(all, me, ranks, bytes, seconds, board));
        if (me == 0) std::fputs(perf::to_line(rows.back()).c_str(), stdout);
        std::fflush(stdout);
    }
    if (me == 0 && !json.empty()) std::ofstream(json) << perf::to_json(rows);
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

int run(int ranks, const std::vector<std::uint64_t>& sizes, double seconds, const std::string& json) {
    std::vector<std::vector<int>> sockets(static_cast<std::size_t>(ranks), std::vector<int>(static_cast<std::size_t>(ranks), -1));
    for (std::size_t low = 0; low < sockets.size(); ++low)
        for (std::size_t high = low + 1; high < sockets.size(); ++high) {
            const auto ends = raw_sockets::connected_pair();
            sockets[low][high] = ends[0];
            sockets[high][low] = ends[1];
        }
    void* shared = ::mmap(nullptr, sizeof(blackboard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) throw std::system_error(errno, std::system_category(), "mmap");
    fmt::print("# all_reduce, {} ranks, raw sockets, in place\n{}", ranks, perf::heading());
    std::fflush(stdout);
    std::vector<pid_t> children;
    for (int me = 0; me < ranks; ++me) {
        const pid_t child = raw_sockets::checked(::fork(), "fork");
        if (child == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            group all(me, sockets[static_cast<std::size_t>(me)]);
            std::_Exit(serve(all, me, ranks, sizes, seconds, json, *static_cast<blackboard*>(shared)));
        }
        children.push_back(child);
    }
    return wait_for(children);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"Times a float sum all-reduce over plain sockets, with the columns of tutti-perf."};
    int ranks = 2;
    double step = 4, seconds = 1;
    std::string bytes = "4..64MiB", json;
    app.add_option("-n,--ranks", ranks, "How many processes")->check(CLI::Range(1, most_ranks))->capture_default_str();
    app.add_option("--bytes", bytes, "Sizes: a list (4,64KiB,1MiB) or a range (4..64MiB)")->capture_default_str();
    app.add_option("--step", step, "The factor between the sizes of a range")->check(CLI::Range(1.1, 1e6))->capture_default_str();
    app.add_option("--seconds", seconds, "How long one size is measured, about")->check(CLI::Range(0.001, 3600.0))->capture_default_str();
    app.add_option("--json", json, "Write the results to this file, too");
    try {
        app.parse(argc, argv);
        return run(ranks, perf::sizes_in(bytes, step), seconds, json);
    } catch (const CLI::CallForHelp& help) {
        return app.exit(help);
    } catch (const std::exception& wrong) {
        fmt::print(stderr, "raw-sockets: {}\n", wrong.what());
        return 2;
    }
}
