// tutti-info: what this build, on this host, can do. It measures nothing and joins nothing.
#include "../standard_output.hpp"

#include "reduce/kernel.hpp"
#include "transport/shm_transport.hpp"
#include "transport/tcp_transport.hpp"

#include <tutti/gpu/availability.hpp>
#include <tutti/version.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <string>
#include <thread>

namespace {

using namespace tutti;

#if defined(__clang__)
constexpr const char* compiler = "clang " __clang_version__;
#else
constexpr const char* compiler = "g++ " __VERSION__;
#endif

using json = nlohmann::ordered_json;

json json_of(const gpu::library_report& what) {
    return {{"usable", what.usable}, {"version", what.version}, {"path", what.path},
            {"origin", what.origin}, {"missing", what.missing}, {"reason", what.reason}};
}

json json_of(const gpu::availability_report& what) {
    json devices = json::array();
    for (const gpu::device_report& each : what.devices)
        devices.push_back({{"ordinal", each.ordinal}, {"name", each.name}, {"uuid", each.uuid}, {"bus", each.bus}});
    return {{"built", what.built}, {"driver", json_of(what.driver)}, {"nccl", json_of(what.nccl)}, {"devices", devices}};
}

/// Empty when it can be had here, or why it cannot.
template <class Transport>
std::string why_not(event_loop& loop) {
    auto opened = Transport::listen(loop);
    return opened ? "" : opened.failure().what();
}

std::string words_of(const std::string& reason) { return reason.empty() ? "yes" : "no: " + reason; }

struct findings {
    std::string tcp, shm;
    gpu::availability_report gpu = gpu::availability();
};

findings look() {
    event_loop loop;
    findings all;
    all.tcp = why_not<tcp_transport>(loop);
    all.shm = why_not<shm_transport>(loop);
    return all;
}

void print_lines(const findings& found) {
    fmt::print("tutti {}, built by {}\n", version, compiler);
    fmt::print("processors: {}\n", std::thread::hardware_concurrency());
    fmt::print("instruction set of reductions: {}\n", kernel_target());
    fmt::print("TCP: {}\nshared memory: {}\n", words_of(found.tcp), words_of(found.shm));
    fmt::print("{}", gpu::to_string(found.gpu));
}

void print_json(const findings& found) {
    const json all{{"version", version},
                   {"compiler", compiler},
                   {"processors", std::thread::hardware_concurrency()},
                   {"instruction_set", kernel_target()},
                   {"tcp", words_of(found.tcp)},
                   {"shared_memory", words_of(found.shm)},
                   {"gpu", json_of(found.gpu)}};
    fmt::print("{}\n", all.dump(-1, ' ', false, json::error_handler_t::replace));
}

int tell(int argc, char** argv) {
    CLI::App app("Says what this build of Tutti can do on this host.", "tutti-info");
    bool as_json = false;
    app.add_flag("--json", as_json, "One line of JSON instead of lines for people");
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        fmt::print("{}", app.help());
        return 0;
    } catch (const CLI::ParseError& error) {
        fmt::print(stderr, "tutti-info: {} (tutti-info --help tells more)\n", error.what());
        return 2;
    }
    if (as_json) print_json(look());
    else print_lines(look());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return with_output("tutti-info", [&] { return tell(argc, argv); });
}
