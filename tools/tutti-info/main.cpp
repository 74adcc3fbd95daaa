// tutti-info: what this build, on this host, can do. It measures nothing and joins nothing.
#include "reduce/kernel.hpp"
#include "transport/shm_transport.hpp"
#include "transport/tcp_transport.hpp"

#include <tutti/gpu/availability.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <string>
#include <thread>
#include <vector>

namespace {

using namespace tutti;

#if defined(__clang__)
constexpr const char* compiler = "clang " __clang_version__;
#else
constexpr const char* compiler = "g++ " __VERSION__;
#endif

/// As JSON has it.
std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char letter : text) {
        if (letter == '"' || letter == '\\') out += '\\';
        if (static_cast<unsigned char>(letter) < 0x20) out += fmt::format("\\u{:04x}", static_cast<unsigned>(letter));
        else out += letter;
    }
    return out + "\"";
}

std::string json_of(const gpu::library_report& what) {
    std::vector<std::string> missing;
    for (const std::string& each : what.missing) missing.push_back(quoted(each));
    return fmt::format(R"({{"usable": {}, "version": {}, "path": {}, "origin": {}, "missing": [{}], "reason": {}}})", what.usable,
                       quoted(what.version), quoted(what.path), quoted(what.origin), fmt::join(missing, ", "), quoted(what.reason));
}

std::string json_of(const gpu::availability_report& what) {
    std::vector<std::string> devices;
    for (const gpu::device_report& each : what.devices)
        devices.push_back(fmt::format(R"({{"ordinal": {}, "name": {}, "uuid": {}, "bus": {}}})", each.ordinal, quoted(each.name),
                                      quoted(each.uuid), quoted(each.bus)));
    return fmt::format(R"({{"built": {}, "driver": {}, "nccl": {}, "devices": [{}]}})", what.built, json_of(what.driver),
                       json_of(what.nccl), fmt::join(devices, ", "));
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
    fmt::print("tutti {}, built by {}\n", TUTTI_VERSION, compiler);
    fmt::print("processors: {}\n", std::thread::hardware_concurrency());
    fmt::print("instruction set of reductions: {}\n", kernel_target());
    fmt::print("TCP: {}\nshared memory: {}\n", words_of(found.tcp), words_of(found.shm));
    fmt::print("{}", gpu::to_string(found.gpu));
}

void print_json(const findings& found) {
    fmt::print(R"({{"version": {}, "compiler": {}, "processors": {}, "instruction_set": {}, "tcp": {}, "shared_memory": {}, "gpu": {}}})"
               "\n",
               quoted(TUTTI_VERSION), quoted(compiler), std::thread::hardware_concurrency(), quoted(kernel_target()),
               quoted(words_of(found.tcp)), quoted(words_of(found.shm)), json_of(found.gpu));
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Says what this build of Tutti can do on this host.", "tutti-info");
    bool json = false;
    app.add_flag("--json", json, "one line of JSON instead of lines for people");
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        fmt::print("{}", app.help());
        return 0;
    } catch (const CLI::ParseError& error) {
        fmt::print(stderr, "tutti-info: {}\n", error.what());
        return 2;
    }
    if (json) print_json(look());
    else print_lines(look());
    return 0;
}
