// tutti-plan: shows the plans of the catalogue, checks them, and tells what they cost. It runs no collective.
#include "../standard_output.hpp"
#include "choose.hpp"
#include "names.hpp"
#include "simulate.hpp"

#include "algorithm/chooser.hpp"
#include "proof/expected.hpp"
#include "proof/print.hpp"
#include "schedule/cost.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <optional>

namespace {

using namespace tutti;
using namespace plan;

constexpr int most_ranks = 1024;
constexpr int most_verified_ranks = 128;
constexpr int most_simulated_ranks = 100'000;
constexpr auto hosts_help = "ranks on each host, or the host of each rank: 4, or 0,0,1,1; all on one by default";
constexpr auto costs_help =
    "tcp or shm, and numbers that differ, as in shm,cores=2,round=8e-7; numbers alone are TCP's and a core for each rank; "
    "by default shm and the cores of this machine";

struct options {
    std::string kind;
    std::string name;
    int size = 4;
    int only = -1;
    int root = 0;
    std::string sizes = "1..33";
    int slices = 1;
    std::uint32_t seed = 1;
    std::string bytes, costs, hosts;
};

int number_in(std::string_view text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > most_verified_ranks)
        throw bad_input(fmt::format("--ranks takes a number or a range as 1..33, up to {}; '{}' is neither", most_verified_ranks, text));
    return value;
}

std::pair<int, int> range_in(std::string_view text) {
    const std::size_t dots = text.find("..");
    if (dots == text.npos) return {number_in(text), number_in(text)};
    const std::pair range{number_in(text.substr(0, dots)), number_in(text.substr(dots + 2))};
    if (range.first > range.second) throw bad_input(fmt::format("--ranks {}: the range is empty", text));
    return range;
}

std::string sizes_served(const algorithm& entry) {
    if (entry.fits) return "several hosts of several ranks: --hosts";
    if (!entry.serves) return "every size";
    std::vector<int> sizes;
    for (int size = 1; size <= 33; ++size)
        if (entry.serves(size)) sizes.push_back(size);
    if (!sizes.empty() && sizes.back() - sizes.front() + 1 == static_cast<int>(sizes.size()))
        return fmt::format("sizes from {}", sizes.front());
    return fmt::format("sizes {}, ...", fmt::join(sizes, ", "));
}

void list() {
    for (const algorithm& entry : catalogue()) fmt::print("{:<15} {:<19} {}\n", name(entry.kind), entry.name, sizes_served(entry));
}

void print(const options& given) {
    const algorithm& entry = algorithm_named(given.kind, given.name);
    const host_map hosts = hosts_given(given.hosts, given.size);
    if (!serves(entry, given.size, hosts))
        throw bad_input(fmt::format("{} {} does not serve {}", given.kind, given.name, ranks_text(given.size, hosts)));
    if (given.only >= given.size) throw bad_input(fmt::format("--rank {}: ranks are 0 to {}", given.only, given.size - 1));
    if (given.root >= given.size) throw bad_input(fmt::format("--root {}: ranks are 0 to {}", given.root, given.size - 1));
    if (given.root > 0 && !has_root(entry.kind)) throw bad_input(fmt::format("{} has no root", given.kind));
    for (rank me = 0; me < given.size; ++me) {
        if (given.only >= 0 && me != given.only) continue;
        const schedule plan = entry.build({me, given.size, given.root, &hosts});
        const shape& cut = plan.spaces();
        fmt::print("rank {} of {}: {} rounds, {} steps; blocks: {} input, {} output, {} scratch\n{}", me, given.size, plan.rounds(),
                   plan.steps().size(), cut.input, cut.output, cut.scratch, to_string(plan));
    }
}

// False when some plan is wrong, which it says.
bool verify_sizes(const algorithm& entry, std::pair<int, int> sizes, const options& given) {
    int worlds = 0, wrong = 0;
    for (int size = sizes.first; size <= sizes.second; ++size)
        for (const host_map& hosts : host_maps(entry, size))
            for (const rank root : roots(entry.kind, size)) {
                const verdict found = given.slices == 1 ? verify(entry, size, root, hosts)
                                                        : verify_sliced(entry, size, root, hosts, {.slices = given.slices}, given.seed);
                ++worlds;
                if (found.correct()) continue;
                ++wrong;
                fmt::print("{} {}, {}, root {}: {}: {}\n", name(entry.kind), entry.name, ranks_text(size, hosts), root, name(found.what),
                           found.why);
            }
    fmt::print("{:<15} {:<19} {} of {} correct\n", name(entry.kind), entry.name, worlds - wrong, worlds);
    return wrong == 0;
}

bool serves_some(const algorithm& entry, std::pair<int, int> sizes) {
    for (int size = sizes.first; size <= sizes.second; ++size)
        if (!host_maps(entry, size).empty()) return true;
    return false;
}

int verify_all(const options& given) {
    const std::pair sizes = range_in(given.sizes);
    if (!given.kind.empty() && given.name.empty()) collective_named(given.kind);
    if (!given.name.empty() && !serves_some(algorithm_named(given.kind, given.name), sizes))
        throw bad_input(fmt::format("--ranks {}: {} {} serves none of these", given.sizes, given.kind, given.name));
    bool correct = true;
    for (const algorithm& entry : catalogue())
        if ((given.kind.empty() || name(entry.kind) == given.kind) && (given.name.empty() || entry.name == given.name))
            correct &= verify_sizes(entry, sizes, given);
    return correct ? 0 : 1;
}

void costs(const options& given) {
    const collective kind = collective_named(given.kind);
    const auto bytes = static_cast<std::size_t>(kind == collective::barrier ? 0 : bytes_in("--bytes", given.bytes));
    const cost_model costs = costs_given(given.costs);
    const host_map hosts = hosts_given(given.hosts, given.size);
    chooser choices(given.size, costs, {}, false, hosts);
    const algorithm& choice = choices.choose(kind, bytes);
    fmt::print("{} of {} bytes, {}; each number is the largest of any rank\n", given.kind, bytes, ranks_text(given.size, hosts));
    const bool between = hosts.count() > 1;
    fmt::print("{:<19} {:>7} {:>9} {:>14} {:>14} {:>14}{}\n", "algorithm", "rounds", "messages", "sent bytes", "reduced bytes",
               "estimated us", between ? "  sent to other hosts" : "");
    for (const algorithm& entry : catalogue()) {
        if (entry.kind != kind || !serves(entry, given.size, hosts)) continue;
        int rounds = 0, messages = 0;
        double sent = 0, reduced = 0, far = 0;
        for (rank me = 0; me < given.size; ++me) {
            const cost mine = count(entry.build({me, given.size, 0, &hosts}), me, hosts);
            rounds = std::max(rounds, mine.rounds);
            messages = std::max(messages, mine.messages);
            sent = std::max(sent, mine.bytes(mine.sent, static_cast<double>(bytes)));
            reduced = std::max(reduced, mine.bytes(mine.reduced, static_cast<double>(bytes)));
            far = std::max(far, mine.bytes(mine.far_sent, static_cast<double>(bytes)));
        }
        const estimate takes(entry, given.size, costs, hosts);
        fmt::print("{:<19} {:>7} {:>9} {:>14.0f} {:>14.0f} {:>14.2f}{}{}\n", entry.name, rounds, messages, sent, reduced,
                   takes.seconds(static_cast<double>(bytes)) * 1e6, between ? fmt::format("  {:>19.0f}", far) : "",
                   &entry == &choice ? "  chosen" : "");
    }
    std::vector<std::string> ranges;
    for (const chooser::range& next : choices.ranges(kind))
        ranges.push_back(fmt::format("{} from {} bytes", next.choice->name, next.from_bytes));
    fmt::print("chosen: {}\n", fmt::join(ranges, ", "));
}

void add_choose(CLI::App& app, choose_options& given) {
    CLI::App* choosing = app.add_subcommand("choose", "which algorithm is taken for how many bytes, and what each would cost there");
    choosing->add_option("collective", given.kind, "all_reduce, for example")->required();
    choosing->add_option("--ranks", given.size, "how many ranks")->required()->check(CLI::Range(1, most_ranks));
    choosing->add_option("--bytes", given.bytes, "of the whole vector, a range")->capture_default_str();
    choosing->add_option("--costs", given.costs, costs_help);
    choosing->add_option("--hosts", given.hosts, hosts_help);
    choosing->add_option("--tuning", given.tuning, "a file that tools/fit-costs --write-tuning wrote, whose choice comes first");
    choosing->add_flag("--deterministic", given.deterministic, "only algorithms that combine in one order and grouping");
    choosing->callback([&] { choose(given); });
}

void add_simulate(CLI::App& app, simulate_words& given) {
    CLI::App* simulating =
        app.add_subcommand("simulate", "how long each algorithm would take on a network on paper, beside the lower bound");
    simulating->add_option("--ranks", given.size, "how many ranks")->required()->check(CLI::Range(1, most_simulated_ranks));
    simulating->add_option("--collective", given.kind, "all_reduce, for example")->capture_default_str();
    simulating->add_option("--bytes", given.bytes, "of the whole vector: 4, 64KiB, 1GiB")->required();
    simulating->add_option("--latency", given.latency, "between a byte's leaving and its arrival: 20us")->required();
    simulating->add_option("--bandwidth", given.bandwidth, "of every rank's card, each way, a second: 100Gbit, 12.5GB")->required();
    simulating->add_option("--overhead", given.overhead, "of each message, at both cards")->capture_default_str();
    simulating->add_option("--reduce-bandwidth", given.reduce_bandwidth, "of combining and copying, a second: 20GB; in no time by default");
    simulating->add_option("--slice", given.slice, "bytes of a slice")->capture_default_str();
    simulating->add_option("--algorithm", given.name, "one of `tutti-plan list`, or all")->capture_default_str();
    simulating->callback([&] { plan::simulate(given); });
}

int run(int argc, char** argv) {
    options given;
    choose_options choosing;
    simulate_words simulating;
    CLI::App app{"Shows the plans of Tutti's collectives, checks them, and tells what they cost.", "tutti-plan"};
    app.require_subcommand(1);
    app.footer(
        "Examples:\n  tutti-plan print all_reduce ring --ranks 4 --rank 1\n  tutti-plan verify --ranks 1..33\n"
        "  tutti-plan cost all_reduce --ranks 4 --bytes 64KiB\n  tutti-plan choose all_reduce --ranks 4\n"
        "  tutti-plan simulate --ranks 10000 --latency 20us --bandwidth 100Gbit --bytes 1GiB --slice 1MiB   (takes a minute)\n"
        "Exit code: 0 well, 1 a wrong plan, or output that could not be written, 2 bad input.");
    app.add_subcommand("list", "every algorithm and the rank counts it serves")->callback([] { list(); });
    add_choose(app, choosing);
    add_simulate(app, simulating);

    CLI::App* printing = app.add_subcommand("print", "the plan of every rank, or of one");
    printing->add_option("collective", given.kind, "all_reduce, for example")->required();
    printing->add_option("algorithm", given.name, "ring, for example")->required();
    printing->add_option("--ranks", given.size, "how many ranks")->required()->check(CLI::Range(1, most_ranks));
    printing->add_option("--rank", given.only, "only this one")->check(CLI::Range(0, most_ranks - 1));
    printing->add_option("--root", given.root, "of the collectives that have one; 0 by default")->check(CLI::Range(0, most_ranks - 1));
    printing->add_option("--hosts", given.hosts, hosts_help);
    printing->callback([&] { print(given); });

    int code = 0;
    CLI::App* verifying = app.add_subcommand("verify", "run all ranks symbolically: mismatches, races, deadlocks, wrong results");
    verifying->add_option("collective", given.kind, "only this one");
    verifying->add_option("algorithm", given.name, "only this one");
    verifying->add_option("--ranks", given.sizes, fmt::format("a number or a range, up to {}; 1..33 by default", most_verified_ranks));
    verifying->add_option("--slices", given.slices, "cut every transfer in so many and take events in random order")
        ->check(CLI::Range(1, 64));
    verifying->add_option("--seed", given.seed, "of that order; 1 by default");
    verifying->callback([&] { code = verify_all(given); });

    CLI::App* counting = app.add_subcommand("cost", "rounds, bytes and estimated time of every algorithm, and which is chosen");
    counting->add_option("collective", given.kind, "all_reduce, for example")->required();
    counting->add_option("--ranks", given.size, "how many ranks")->required()->check(CLI::Range(1, most_ranks));
    counting->add_option("--bytes", given.bytes, "of the whole vector: 4, 64KiB, 25MiB")->required();
    counting->add_option("--costs", given.costs, costs_help);
    counting->add_option("--hosts", given.hosts, hosts_help);
    counting->callback([&] { costs(given); });

    const auto called = [&](const CLI::App* command) { return command->get_name() == argv[1]; };
    if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(called).empty())
        throw bad_input(fmt::format("there is no command '{}'; there are list, print, verify, cost, choose, simulate", argv[1]));
    try {
        app.parse(argc, argv);
        return code;
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return app.exit(error);  // --help
        throw bad_input(fmt::format("{} (tutti-plan --help tells more)", error.what()));
    }
}

}  // namespace

int main(int argc, char** argv) {
    return with_output("tutti-plan", [&] {
        try {
            return run(argc, argv);
        } catch (const bad_input& error) {
            fmt::print(stderr, "tutti-plan: {}\n", error.what());
            return 2;
        }
    });
}
