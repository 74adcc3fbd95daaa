#include "options.hpp"

#include "../number_in.hpp"
#include "sizes.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace gpu_bench {
namespace {

struct words {
    std::string modes = "adaptive,spin,timer,host_function,thread,flag", buckets = "1MiB,8MiB,25MiB", chunk = "2MiB", bytes = "4,4KiB,1MiB",
                launches = "auto", polling = "adaptive";
};

std::vector<std::string> parts_of(const std::string& list) { return CLI::detail::split(list, ','); }

tutti::gpu::poll_mode mode_in(const std::string& text) {
    const auto* const mode = std::find_if(std::begin(poll_modes), std::end(poll_modes), [&](auto known) { return name(known) == text; });
    if (mode == std::end(poll_modes))
        throw perf::bad_input(
            fmt::format("ways of polling are adaptive, spin, timer, host_function and thread, and of latency flag, too, not '{}'", text));
    return *mode;
}

int launches_in(const std::string& text) {
    if (text == "auto") return 0;
    int value = 0;
    if (!CLI::detail::lexical_cast(text, value) || value < 1 || value > 1000000)
        throw perf::bad_input(fmt::format("--launches takes auto or a number from 1 to 1000000; '{}' is neither", text));
    return value;
}

void add_latency(CLI::App& app, words& typed, options& given) {
    auto* part = app.add_subcommand("latency", "How late a coroutine goes on after the device, for each way of finding out");
    part->add_option("--modes", typed.modes,
                     "Of device_options::polling; flag: without a poller, by a word in pinned memory that the stream writes")
        ->capture_default_str();
    part->add_option("--lengths-us", given.lengths_us, "For which the device works, each time")
        ->delimiter(',')
        ->check(tutti::number_in(1.0, 1e6))
        ->capture_default_str();
    part->add_option("--samples", given.samples,
                     "Of each; fewer of those that take long. As many again while another thread launches kernels, which are counted")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
}

void add_overlap(CLI::App& app, words& typed, options& given) {
    auto* part = app.add_subcommand("overlap", "How much of the communication of a training step hides behind its computing");
    part->add_option("--buckets", typed.buckets, "Bytes that each layer communicates: a list")->capture_default_str();
    part->add_option("--layers", given.layers, "Of the step")->check(CLI::Range(1, 10000))->capture_default_str();
    part->add_option("--steps", given.steps, "Of each variant, in turns")->check(CLI::Range(1, 100000))->capture_default_str();
    part->add_option("--launches", typed.launches, "Multiplications of each layer; auto: computing takes as long as communication")
        ->capture_default_str();
    part->add_option("--matrix", given.matrix, "Rows of the matrices that are multiplied")
        ->check(CLI::Range(16, 16384))
        ->capture_default_str();
    part->add_option("--chunk", typed.chunk, "Bytes that are staged at a time")->capture_default_str();
    part->add_option("--window", given.window, "Chunks under way")->check(CLI::Range(1, 64))->capture_default_str();
    part->add_option("--polling", typed.polling, "Of device_options: how the host hears of the device")->capture_default_str();
    part->add_flag("--everywhere", given.everywhere, "Every rank uses a device, by its number on its host, not rank 0 alone");
    part->add_option("--svg", given.svg, "Draw an overlapped step of the last size into this file");
}

void add_nccl(CLI::App& app, words& typed, options& given) {
    auto* part = app.add_subcommand("nccl", "What a call of NCCL costs through the library, and without");
    part->add_option("--bytes", typed.bytes, "Sizes: a list or a range, as of tutti-perf")->capture_default_str();
    part->add_option("--times", given.calls.times, "Operations that are timed")->check(CLI::Range(10, 10000000))->capture_default_str();
    part->add_option("--window", given.calls.window, "Operations on the stream at once, beside one by one")
        ->check(CLI::Range(2, 1024))
        ->capture_default_str();
    part->add_flag("--share-device", given.share_device, "All ranks use one device, under NCCL_HOSTIDs of their own: for tests, and slow");
}

options made_of(const CLI::App& app, const words& typed, options given) {
    given.part = app.got_subcommand("latency") ? part::latency : app.got_subcommand("overlap") ? part::overlap : part::nccl;
    for (const std::string& each : parts_of(typed.modes)) given.modes.push_back(each == name(by_flag) ? by_flag : way(mode_in(each)));
    given.polling = mode_in(typed.polling);
    given.buckets = perf::sizes_in(typed.buckets, 2);
    given.chunk_bytes = perf::sizes_in(typed.chunk, 2).at(0);
    given.calls.bytes = perf::sizes_in(typed.bytes, 4);
    given.launches = launches_in(typed.launches);
    for (const std::uint64_t each : given.buckets)
        if (each < sizeof(float)) throw perf::bad_input("--buckets of less than 4 bytes hold no number");
    if (given.chunk_bytes < 4096) throw perf::bad_input("--chunk takes 4096 bytes or more");
    return given;
}

constexpr const char* about =
    "Measures what Tutti does with GPUs. Three parts:\n\n"
    "  tutti-gpu-bench latency                      from the device's last instruction to the next one of the coroutine that waits\n"
    "  tutti-run -n 2 -- tutti-gpu-bench overlap    training steps: rank 0 with a device, the others with memory of the host\n"
    "  tutti-gpu-bench nccl                         processor time of a call, through the library and by hand\n";

}  // namespace

std::variant<options, int> parse(int argc, const char* const* argv, bool speaks) {
    CLI::App app(about, "tutti-gpu-bench");
    app.footer(
        "Exit code: 0 when all went well, 1 when a result was wrong or something failed, 2 for a wrong option, 3 where there is no\n"
        "device to measure. docs/measuring.md says what the numbers mean.");
    app.fallthrough();  // its parts, which are made below, leave it what they do not know
    words typed;
    options given;
    app.add_option("--device", given.device, "Its number among those the driver shows")->check(CLI::Range(0, 1023))->capture_default_str();
    app.add_option("--json", given.json, "Write the results to this file, too");
    add_latency(app, typed, given);
    add_overlap(app, typed, given);
    add_nccl(app, typed, given);
    app.require_subcommand(1);
    const auto complain = [&](const char* what) {
        if (speaks) std::fputs(fmt::format("tutti-gpu-bench: {} (tutti-gpu-bench --help tells more)\n", what).c_str(), stderr);
        return usage_error;
    };
    try {
        app.parse(argc, argv);
        return made_of(app, typed, given);
    } catch (const CLI::CallForHelp& help) {
        return speaks ? app.exit(help) : 0;
    } catch (const CLI::ParseError& wrong) {
        return complain(wrong.what());
    } catch (const perf::bad_input& wrong) {
        return complain(wrong.what());
    }
}

}  // namespace gpu_bench
