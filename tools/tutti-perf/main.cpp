// tutti-perf: how long the collectives take here.
#include "measure.hpp"

#include <tutti/context.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <thread>

namespace {

using namespace perf;

/// A number without machine and date is a rumour.
std::string preface(const options& given, int ranks) {
    char host[256] = "unknown", date[32];
    ::gethostname(host, sizeof host - 1);
    const std::time_t now = std::time(nullptr);
    std::strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", std::gmtime(&now));
    return fmt::format("# {}, {} ranks, tcp, {}; host {}, {} cores, {}\n", name(given.kind), ranks, given.in_place ? "in place" : "out of place", host,
                       std::thread::hardware_concurrency(), date);
}

void print(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
}

tutti::task<int> measure_all(tutti::communicator& world, const options& given, std::ofstream& json) {
    const bool speaks = world.rank() == 0;
    if (speaks) print(preface(given, world.size()) + heading());
    std::vector<row> all;
    bool wrong = false;
    for (const std::uint64_t bytes : given.bytes) {
        auto next = measure(world, given, bytes);
        all.push_back(co_await std::move(next));
        wrong |= all.back().wrong > 0;
        if (speaks) print(to_line(all.back()));
    }
    if (speaks && json.is_open()) json << to_json(all) << std::flush;
    co_return wrong || json.bad() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    auto who = tutti::world_from_environment();
    const bool speaks = !who || who->me == 0;
    const auto parsed = parse(argc, argv, speaks);
    if (const int* code = std::get_if<int>(&parsed)) return *code;
    const options& given = std::get<options>(parsed);
    std::ofstream json;
    if (speaks && !given.json.empty()) {
        json.open(given.json);
        if (!json) {
            std::fputs(fmt::format("tutti-perf: cannot write to {}\n", given.json).c_str(), stderr);
            return 2;
        }
    }
    const std::function<tutti::task<int>(tutti::communicator&)> main = [&](tutti::communicator& world) { return measure_all(world, given, json); };
    return tutti::run(main);
}
