#include "options.hpp"

#include "../number_in.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>

namespace launch {
namespace {

constexpr int usage_error = 2;
constexpr double max_seconds = 1e6;

struct usage final : CLI::Formatter {
    std::string make_usage(const CLI::App*, std::string) const override {
        return "Usage: tutti-run -n N [options] [--] program [argument ...]\n\n";
    }
};

milliseconds from_seconds(double seconds) { return std::chrono::round<milliseconds>(std::chrono::duration<double>(seconds)); }

/// Where the program stands in argv: the first word that is neither one of our options nor the value of one, or what follows "--".
/// Everything from there on belongs to the program, whatever it looks like.
int program_index(const CLI::App& app, int argc, const char* const* argv) {
    int at = 1;
    while (at < argc) {
        const std::string word = argv[at];
        if (word == "--") return at + 1;
        if (word.size() < 2 || word[0] != '-') return at;
        const bool value_inside = word[1] == '-' ? word.find('=') != std::string::npos : word.size() > 2;
        const CLI::Option* option = app.get_option_no_throw(word);
        at += option != nullptr && option->get_items_expected() > 0 && !value_inside ? 2 : 1;
    }
    return argc;
}

int complain(const std::string& what) {
    std::fprintf(stderr, "tutti-run: %s (tutti-run --help tells more)\n", what.c_str());
    return usage_error;
}

}  // namespace

std::variant<options, int> parse(int argc, const char* const* argv) {
    options wanted;
    double timeout = 0, grace = 2;
    bool bare = false, loose = false;
    CLI::App app{
        "Starts N ranks of a program on this host and ends them together.\n"
        "Each rank finds RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT in its environment.\n"
        "At that port rank 0 keeps Tutti's store: other libraries need one of their own."};
    app.name("tutti-run");
    app.formatter(std::make_shared<usage>());
    app.footer(
        "Exit code: 0 when every rank ended well; that of the first rank that failed (128 + signal when one killed it), or 75 when all others\n"
        "ended with 75 after it, which says that they have saved what they have and the job can be started again;\n"
        "1 when the output could not be written; 124 when the time limit passed; 127 when the program was not found, 126 when it could not be started; 2 for a wrong option.\n"
        "INT, TERM, HUP and QUIT are passed on to all ranks, another one of them kills; USR1 and USR2 are passed on.\n"
        "Ranks print to a pseudo-terminal, so a line is shown when it is printed, also where this command's output is a pipe or a file.\n"
        "Rank 0 reads this command's standard input unless it is a terminal; the other ranks read nothing.\n"
        "A slow reader of its output is waited for. After the time limit or a signal, one that takes nothing for 2 s loses the rest.");
    app.add_option("-n,--ranks", wanted.ranks, "How many ranks to start")->required()->check(CLI::Range(1, max_ranks))->type_name("N");
    const CLI::Option* limit = app.add_option("--timeout", timeout, "End all ranks after this time, with exit code 124")
                                   ->check(tutti::number_in(0.001, max_seconds))
                                   ->type_name("SECONDS");
    app.add_option("--grace", grace, "After a failure: time for the others to end by themselves, and again to obey SIGTERM")
        ->check(tutti::number_in(0.0, max_seconds))
        ->type_name("SECONDS")
        ->capture_default_str();
    app.add_flag("--no-prefix", bare, "Print the ranks' bytes as they are, without \"[rank] \" before their lines");
    app.add_flag(
        "--no-bind", loose,
        "Let the system move ranks from core to core also where N is twice the number of cores that they may use, three times, and so on;\n"
        "otherwise neighbouring ranks share a core there, and stay on it with all their threads");

    const int program = program_index(app, argc, argv);
    const bool marked = program <= argc && program > 1 && std::string(argv[program - 1]) == "--";
    const int ours = std::min(argc, marked ? program - 1 : program);
    try {
        app.parse(ours, argv);
    } catch (const CLI::CallForHelp& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& wrong) {
        return complain(wrong.what());
    }
    if (program >= argc) return complain("no program to start");
    wanted.command.assign(argv + program, argv + argc);
    if (limit->count() > 0) wanted.timeout = from_seconds(timeout);
    wanted.grace = from_seconds(grace);
    wanted.prefix = !bare;
    wanted.bind = !loose;
    return wanted;
}

}  // namespace launch
