#include "options.hpp"

#include "sizes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdio>
#include <span>

namespace perf {
namespace {

using namespace tutti;

constexpr int usage_error = 2;
constexpr int most_iterations = 1'000'000;
constexpr collective measured[] = {collective::all_reduce,     collective::broadcast,  collective::reduce, collective::all_gather,
                                   collective::reduce_scatter, collective::all_to_all, collective::barrier};
constexpr data_type types[] = {data_type::f32, data_type::f64, data_type::f16, data_type::bf16, data_type::i8,
                               data_type::u8,  data_type::i32, data_type::u32, data_type::i64,  data_type::u64};
constexpr reduce_op operators[] = {sum, prod, min, max, avg};

/// The one of `all` that is called `text`.
template <class T>
T named(std::string_view text, std::span<const T> all, std::string_view what) {
    std::vector<std::string_view> names;
    for (const T each : all) {
        if (name(each) == text) return each;
        names.push_back(name(each));
    }
    throw bad_input(fmt::format("there is no {} '{}'; there are {}", what, text, fmt::join(names, ", ")));
}

int iterations_in(const std::string& text) {
    if (text == "auto") return 0;
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > most_iterations)
        throw bad_input(fmt::format("--iters takes auto or a number from 1 to {}; '{}' is neither", most_iterations, text));
    return value;
}

struct words {
    std::string kind, bytes = "4..64MiB", type = "f32", op = "sum", iterations = "auto";
    double step = 4;
};

void add_options(CLI::App& app, words& typed, options& given) {
    app.add_option("collective", typed.kind, "all_reduce, broadcast, reduce, all_gather, reduce_scatter, all_to_all or barrier")->required();
    app.add_option("--bytes", typed.bytes, "Sizes of the whole vector: a list (4,64KiB,1MiB) or a range (4..64MiB)")->capture_default_str();
    app.add_option("--step", typed.step, "The factor between the sizes of a range")->check(CLI::Range(1.1, 1e6))->capture_default_str();
    app.add_option("--type", typed.type, "f32, f64, f16, bf16, i8, u8, i32, u32, i64 or u64")->capture_default_str();
    app.add_option("--op", typed.op, "sum, prod, min, max or avg")->capture_default_str();
    app.add_option("--iters", typed.iterations, "Operations in a batch; auto: as many as fit --seconds")->capture_default_str();
    app.add_option("--seconds", given.seconds, "How long one size is measured, about")->check(CLI::Range(0.001, 3600.0))->capture_default_str();
    app.add_flag("--in-place", given.in_place, "The output is the input's memory");
    app.add_flag("--check,!--no-check", given.check, "Look at the result of one operation of each size; on by default");
    app.add_option("--json", given.json, "Write the results to this file, too");
}

options made_of(const words& typed, options given) {
    given.kind = named<collective>(typed.kind, measured, "collective");
    given.type = named<data_type>(typed.type, types, "type");
    given.reduce = named<reduce_op>(typed.op, operators, "operator");
    given.iterations = iterations_in(typed.iterations);
    given.bytes = sizes_in(typed.bytes, typed.step);
    if (given.kind == collective::barrier) given.bytes = {0};
    if (given.in_place && given.kind == collective::all_to_all) throw bad_input("all_to_all does not work in place");
    return given;
}

}  // namespace

std::variant<options, int> parse(int argc, const char* const* argv, bool speaks) {
    CLI::App app{
        "Times a collective of Tutti. Started on every rank: tutti-run -n 4 -- tutti-perf all_reduce --bytes 4..64MiB\n\n"
        "For each size: one operation whose result is checked, some to warm up, then batches of operations back to back, a barrier before\n"
        "each. A batch takes as long as its slowest rank; time_us is the median over the batches, min_us the least, p99_us of single\n"
        "operations. algbw is bytes by time; busbw is what a link carries, as nccl-tests define it. cpu: seconds of all cores that a rank\n"
        "uses for one GB of the vector. Bytes are those of the longer of input and output, rounded up to whole elements for each rank."};
    app.name("tutti-perf");
    app.footer("Exit code: 0 when all went well, 1 when a result was wrong or the communication failed, 2 for a wrong option.");
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
