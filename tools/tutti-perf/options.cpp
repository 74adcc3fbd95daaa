#include "options.hpp"

#include "../number_in.hpp"
#include "sizes.hpp"

#include "base/transport_names.hpp"
#include "engine/lane_id.hpp"
#include "reduce/visit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdio>

namespace perf {
namespace {

using namespace tutti;

constexpr int usage_error = 2;
constexpr int most_iterations = 1'000'000;
constexpr double most_overlap_ms = 60'000;

std::string_view called(data_type type) { return name(type); }
std::string_view called(reduce_op op) { return operator_name(op); }
std::string_view called(const subject* what) { return what->name; }
std::string_view called(const algorithm* entry) { return entry->name; }

template <class Range>
std::string names_of(const Range& all) {
    std::vector<std::string_view> names;
    for (const auto& each : all) names.push_back(called(each));
    return fmt::format("{}", fmt::join(names, ", "));
}

/// The one of `all` that is called `text`.
template <class Range>
auto named(std::string_view text, const Range& all, std::string_view what) {
    for (const auto& each : all)
        if (called(each) == text) return each;
    throw bad_input(fmt::format("there is no {} '{}'; there are {}", what, text, names_of(all)));
}

std::vector<const subject*> all_subjects() {
    std::vector<const subject*> all;
    for (const subject& each : subjects()) all.push_back(&each);
    return all;
}

std::vector<const algorithm*> algorithms_of(collective kind) {
    std::vector<const algorithm*> all;
    for (const algorithm& entry : catalogue())
        if (entry.kind == kind) all.push_back(&entry);
    return all;
}

int iterations_in(const std::string& text) {
    if (text == "auto") return 0;
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > most_iterations)
        throw bad_input(fmt::format("--iters takes auto or a number from 1 to {}; '{}' is neither", most_iterations, text));
    return value;
}

std::optional<transport_kind> transport_in(const std::string& text) {
    const auto named = transport_named(text);
    if (named) return named == transport_kind::automatic ? std::nullopt : named;
    throw bad_input(fmt::format("--transport takes auto, tcp or shm, not '{}'", text));
}

struct words {
    std::string kind, bytes = "4..64MiB", type = "f32", op = "sum", algorithm = "auto", transport = "auto", iterations = "auto";
    double step = 4;
    int lanes = 1, threads = 1;
};

void add_options(CLI::App& app, words& typed, options& given) {
    app.add_option("operation", typed.kind, names_of(all_subjects()))->required();
    auto* bytes = app.add_option("--bytes", typed.bytes, "Sizes of the whole vector: a list (4,64KiB,1MiB) or a range (4..64MiB)")
                      ->capture_default_str();
    app.add_option("--step", typed.step, "The factor between the sizes of a range")
        ->check(tutti::number_in(1.1, 1e6))
        ->capture_default_str();
    app.add_option("--type", typed.type, names_of(measured_types()))->capture_default_str();
    app.add_option("--op", typed.op, names_of(measured_operators()))->capture_default_str();
    app.add_option("--algorithm", typed.algorithm, "auto: the cheapest for the size; or one of `tutti-plan list`")->capture_default_str();
    app.add_option("--transport", typed.transport, "auto, tcp or shm; auto: what TUTTI_TRANSPORT says, or shared memory within a host")
        ->capture_default_str();
    app.add_option("--lanes", typed.lanes, "Links for bulk data between two ranks")
        ->check(CLI::Range(1, most_lanes))
        ->capture_default_str();
    app.add_option("--threads", typed.threads, "Threads of each rank over which those links are spread")
        ->check(CLI::Range(1, most_lanes))
        ->capture_default_str();
    app.add_option("--iters", typed.iterations, "Operations in a batch; auto: as many as fit --seconds")->capture_default_str();
    app.add_option("--seconds", given.seconds, "How long one size is measured, about")
        ->check(tutti::number_in(0.001, 3600.0))
        ->capture_default_str();
    app.add_flag("--in-place", given.in_place, "The output is the input's memory");
    app.add_flag("--arena", given.arena, "Memory from communicator::allocate, which the ranks of a host read where it is; calls say so");
    app.add_flag("--alone", given.alone, "A barrier before each operation, which is not timed: nobody is still busy with the one before");
    app.add_flag("--cold", given.cold,
                 "Each operation takes other memory, in turn as much as fills the last cache twice, so none is in the caches");
    app.add_option("--list", given.list,
                   "Tensors instead of sizes: resnet50, or a file with an element count a line. Reduced one by one, all in flight, in "
                   "buckets of 25 MiB, and as one vector")
        ->excludes(bytes)
        ->excludes("--cold");
    app.add_option("--overlap", given.overlap_ms, "Also compute for so many milliseconds while the operation is under way")
        ->check(tutti::number_in(0.001, most_overlap_ms))
        ->excludes("--list");
    app.add_flag("--spin", given.spin, "Wait by communicator::spin instead of co_await")->excludes("--list")->excludes("--overlap");
    app.add_flag("--deterministic", given.deterministic, "Only by algorithms that combine in one order and grouping");
    app.add_flag("--check,!--no-check", given.check, "Look at the result of one operation of each size: the default");
    app.add_option("--json", given.json, "Write the results to this file, too");
}

/// The library would say so, too, once all ranks have met.
void check_operator(const options& given) {
    using enum collective;
    if (!given.reduces()) return;
    if (!defined(given.reduce, given.type))
        throw bad_input(fmt::format("operator {} is not defined for {}", called(given.reduce), name(given.type)));
    if ((given.what->kind == scan || given.what->kind == exclusive_scan) && given.reduce == reduce_op::avg)
        throw bad_input(fmt::format("{} has no avg: there is none of some ranks", given.what->name));
}

options made_of(const words& typed, options given) {
    given.what = named(typed.kind, all_subjects(), "operation");
    given.type = named(typed.type, measured_types(), "type");
    given.reduce = named(typed.op, measured_operators(), "operator");
    check_operator(given);
    if (typed.algorithm != "auto") {
        if (!given.what->kind) throw bad_input(fmt::format("{} has no algorithms", typed.kind));
        given.forced = named(typed.algorithm, algorithms_of(*given.what->kind), fmt::format("algorithm of {}", typed.kind));
    }
    given.transport = transport_in(typed.transport);
    given.lanes = typed.lanes;
    given.threads = typed.threads;
    given.iterations = iterations_in(typed.iterations);
    given.bytes = sizes_in(typed.bytes, typed.step);
    if (given.what->kind == collective::barrier) given.bytes = {0};
    if (given.in_place && !given.what->in_place(true)) throw bad_input(fmt::format("{} does not work in place", typed.kind));
    if (!given.list.empty() && given.what->kind != collective::all_reduce) throw bad_input("--list is for all_reduce");
    if ((given.overlap_ms > 0 || given.spin) && given.what->play)
        throw bad_input(fmt::format("{} is for one call; {} is several", given.spin ? "--spin" : "--overlap", typed.kind));
    return given;
}

}  // namespace

std::string_view operator_name(reduce_op op) noexcept { return op == reduce_op::premul ? "premul_sum" : name(op); }

std::span<const data_type> measured_types() noexcept { return reducible_types; }
std::span<const reduce_op> measured_operators() noexcept { return library_ops; }

std::uint64_t options::count_for(std::uint64_t whole_bytes, int size) const noexcept {
    if (what->kind == collective::barrier) return 0;
    const std::uint64_t unit = size_of(type) * shares_of(*what, size);
    return (whole_bytes + unit - 1) / unit;
}

std::variant<options, int> parse(int argc, const char* const* argv, bool speaks) {
    CLI::App app{
        "Times an operation of Tutti. Started on every rank: tutti-run -n 4 -- tutti-perf all_reduce --bytes 4..64MiB\n\n"
        "For each size: one operation whose result is checked, some to warm up, then batches of operations back to back, a barrier before\n"
        "each. A batch takes as long as its slowest rank; time_us is the median over the batches, min_us the least, p99_us of single\n"
        "operations. algbw is bytes by time; busbw is what a link carries, as nccl-tests define it. cpu: seconds of all cores that a rank\n"
        "uses for one GB of the vector. Bytes are those of the longer of input and output, rounded up to whole elements for each rank.\n\n"
        "Where each rank has a count of its own (all_gather_v and so on) part r is r + 1 times as long as part 0; in all_to_all_v the part\n"
        "from rank a to rank b is (a + b) modulo P, plus 1, times as long as the shortest. send_recv: every rank sends to its right and\n"
        "receives from its left at once. ping_pong: between ranks 0 and 1, 2 and 3, and so on; the time is that of there and back, and\n"
        "busbw counts both ways. A premul_sum multiplies by 2 on even ranks and by 0.5 on odd ones.\n\n"
        "With --overlap a second line tells the time with the computation, and how much of the shorter of the two was hidden: in percent of\n"
        "all of it, and of what the cores of this host allow."};
    app.name("tutti-perf");
    app.footer(
        "Exit code: 0 when all went well, 1 when a result was wrong, the communication failed or the output could not be written, 2 for a wrong option.");
    words typed;
    options given;
    add_options(app, typed, given);
    const auto complain = [&](const char* what) {
        if (speaks) std::fputs(fmt::format("tutti-perf: {} (tutti-perf --help tells more)\n", what).c_str(), stderr);
        return usage_error;
    };
    try {
        app.parse(argc, argv);
        return made_of(typed, given);
    } catch (const CLI::CallForHelp& help) {
        return speaks ? app.exit(help) : 0;
    } catch (const CLI::ParseError& wrong) {
        return complain(wrong.what());
    } catch (const bad_input& wrong) {
        return complain(wrong.what());
    }
}

}  // namespace perf
