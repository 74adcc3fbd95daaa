// tutti-perf: how long the collectives take here.
#include "../standard_output.hpp"
#include "measure.hpp"
#include "sizes.hpp"
#include "tensors.hpp"

#include "communicator/run_as.hpp"

#include <tutti/context.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <fstream>

namespace {

using namespace perf;

/// A number without machine and date is a rumour.
std::string preface(const options& given, const std::string& ranks, int cores) {
    char host[256] = "unknown", date[32];
    ::gethostname(host, sizeof host - 1);
    const std::time_t now = std::time(nullptr);
    std::strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", std::gmtime(&now));
    const std::string list = given.list.empty() ? "" : fmt::format(" of {} ({} tensors)", given.list, tensors_of(given.list).size());
    const bool in_place = !given.list.empty() || given.what->in_place(given.in_place);
    return fmt::format("# {}{}, {}, {}{}; host {}, {} cores, {}\n", given.what->name, list, ranks, in_place ? "in place" : "out of place",
                       given.arena ? ", memory from the arena" : "", host, cores, date);
}

int complain(bool speaks, const std::string& text) {
    if (speaks) std::fputs(fmt::format("tutti-perf: {}\n", text).c_str(), stderr);
    return 2;
}

tutti::task<int> measure_all(tutti::communicator& world, const options& given, int local_ranks, tutti::engine& inside,
                             std::ofstream& json) {
    const bool speaks = world.rank() == 0;
    const std::string ranks =
        world.hosts() > 1 ? fmt::format("{} ranks on {} hosts", world.size(), world.hosts()) : fmt::format("{} ranks", world.size());
    if (given.forced != nullptr && !serves(*given.forced, world.size(), inside.who().hosts))
        co_return complain(speaks, fmt::format("{} does not serve {}", given.forced->name, ranks));
    const shared_cores host = co_await cores_of(world, local_ranks, inside);
    if (speaks) tutti::print_now(preface(given, ranks, host.cores) + heading());
    std::vector<row> all;
    bool wrong = false;
    const report tell = [&](const row& made, const std::string& note) {
        all.push_back(made);
        wrong |= made.wrong > 0;
        if (speaks) tutti::print_now(to_line(made) + note);
    };
    co_await measure(world, given, host, inside, tell);
    if (speaks && json.is_open()) json << to_json(all) << std::flush;
    if (json.bad()) co_return complain(speaks, fmt::format("cannot write to {}", given.json));
    co_return wrong ? 1 : 0;
}

int measure_as(const tutti::world& who, const options& given, std::ofstream& json) {
    std::vector<const tutti::algorithm*> forced;
    if (given.forced != nullptr) forced.push_back(given.forced);
    const int local_ranks = who.local_size > 0 ? who.local_size : who.size;
    auto settings = tutti::with_environment({});
    if (!settings) return complain(who.me == 0, settings.failure().what());
    if (given.transport) settings->transport = *given.transport;
    settings->deterministic |= given.deterministic;
    if (given.forced != nullptr && settings->deterministic && !deterministic(*given.forced, who.size))
        return complain(who.me == 0, fmt::format("{} is not deterministic", given.forced->name));
    settings->lanes = given.lanes;
    settings->threads = given.threads;
    const tutti::inside_task main = [&](tutti::communicator& world, tutti::engine& inside) {
        return measure_all(world, given, local_ranks, inside, json);
    };
    return tutti::run_as(who, forced, main, *settings);
}

int measure_as_told(int argc, char** argv) {
    auto who = tutti::world_from_environment();
    const bool speaks = !who || who->me == 0;
    const auto parsed = parse(argc, argv, speaks);
    if (const int* code = std::get_if<int>(&parsed)) return *code;
    const options& given = std::get<options>(parsed);
    if (!who) return complain(true, who.failure().what());
    std::ofstream json;
    try {
        if (!given.list.empty()) tensors_of(given.list);
    } catch (const bad_input& wrong) {
        return complain(speaks, wrong.what());
    }
    if (speaks && !given.json.empty()) {
        json.open(given.json);
        if (!json) return complain(true, fmt::format("cannot write to {}", given.json));
    }
    return measure_as(*who, given, json);
}

}  // namespace

int main(int argc, char** argv) {
    return tutti::with_output("tutti-perf", [&] { return measure_as_told(argc, argv); });
}
