#include <tutti/world.hpp>

#include "rendezvous/launcher.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace tutti {
namespace {

/// A number, and the variable that it is from.
struct number {
    int value = 0;
    std::string variable;
    explicit operator bool() const noexcept { return !variable.empty(); }
};

failure bad(std::string why) { return failure(error::bad_launch, std::move(why)); }

/// Looks variables up, and keeps the first mistake.
class reader {
public:
    explicit reader(const environment& variables) : variables_(variables) {}

    std::string text(const char* names) { return find(names).second; }

    number integer(const char* names, int least, int most) {
        const auto [variable, value] = find(names);
        number found{0, variable};
        if (variable.empty()) return found;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), found.value);
        if (error != std::errc() || end != value.data() + value.size()) fail(fmt::format("{}={} is not a whole number", variable, value));
        else if (found.value < least || found.value > most)
            fail(fmt::format("{}={} is not between {} and {}", variable, value, least, most));
        return found;
    }

    bool any_set(const char* names) { return !find(names).first.empty(); }
    void fail(std::string why) {
        if (!wrong_) wrong_ = bad(std::move(why));
    }
    const std::optional<failure>& wrong() const noexcept { return wrong_; }

private:
    /// Returns the first variable that is set, of the names separated by spaces, with its value.
    std::pair<std::string, std::string> find(std::string_view names) {
        while (!names.empty()) {
            const std::size_t end = std::min(names.find(' '), names.size());
            const std::string name(names.substr(0, end));
            if (std::optional<std::string> value = variables_(name)) return {name, *std::move(value)};
            names.remove_prefix(std::min(end + 1, names.size()));
        }
        return {};
    }

    const environment& variables_;
    std::optional<failure> wrong_;
};

constexpr int max_size = 1 << 24;

struct claim {
    number rank, size;
};

bool speaks(const launcher& one, reader& read, const environment& variables) {
    return one.applies != nullptr ? one.applies(variables) : read.any_set(one.rank) || read.any_set(one.size);
}

claim claimed_by(const launcher& one, reader& read) {
    return {read.integer(one.rank, 0, max_size - 1), read.integer(one.size, 1, max_size)};
}

void compare(const char* what, const launcher& first, const number& a, const launcher& second, const number& b, reader& read) {
    if (!a || !b || a.value == b.value) return;
    read.fail(fmt::format("{} says {} {} ({}={}), but {} says {} ({}={})", first.name, what, a.value, a.variable, a.value, second.name,
                          b.value, b.variable, b.value));
}

void require(const launcher& one, const char* names, const char* because, int value, reader& read) {
    read.fail(fmt::format("{} is not set, although {}={} is: {} has to tell both",
                          std::string_view(names).substr(0, std::string_view(names).find(' ')), because, value, one.name));
}

void read_local(world& all, const launcher& one, reader& read) {
    const number local_rank = read.integer(one.local_rank, 0, max_size - 1), local_size = read.integer(one.local_size, 1, max_size);
    if (local_rank) all.local_rank = local_rank.value;
    if (local_size) all.local_size = local_size.value;
    if (!local_size && std::string_view(one.name) == "Slurm")
        if (const number node = read.integer("SLURM_NODEID", 0, max_size))
            all.local_size = slurm_tasks_on_node(read.text("SLURM_STEP_TASKS_PER_NODE SLURM_TASKS_PER_NODE"), node.value);
    if (local_size && local_size.value > all.size)
        read.fail(fmt::format("{}={}, but there are only {} ranks in all", local_size.variable, local_size.value, all.size));
    if (local_rank && local_size && local_rank.value >= local_size.value)
        read.fail(fmt::format("{}={}, but {}={}", local_rank.variable, local_rank.value, local_size.variable, local_size.value));
}

void read_meeting_point(world& all, const launcher& one, reader& read) {
    constexpr std::string_view file = "file:";
    const std::string chosen = read.text("TUTTI_STORE");
    if (!chosen.empty()) {
        if (!chosen.starts_with(file) || chosen.size() == file.size())
            return read.fail(fmt::format("TUTTI_STORE={} is not understood; file:PATH is", chosen));
        all.store_path = chosen.substr(file.size());
        if (all.job.empty())
            read.fail(fmt::format("TUTTI_STORE={} needs TUTTI_JOB, a name that no earlier run with this file has had", chosen));
        return;
    }
    all.master_address = read.text("MASTER_ADDR");
    const number port = read.integer("TUTTI_STORE_PORT MASTER_PORT", 1, 65535);
    // torchrun's agent may keep a store of its own at MASTER_PORT; ours then has the next one.
    const bool taken = port.variable == "MASTER_PORT" && read.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
    all.master_port = static_cast<std::uint16_t>(port.value + (taken ? (port.value < 65535 ? 1 : -1) : 0));
    if (all.size > 1 && all.master_address.empty() && (one.tells_master || port))
        read.fail(fmt::format("MASTER_ADDR is not set; {} ranks need it to find rank 0", all.size));
    if (all.size > 1 && !port && (one.tells_master || !all.master_address.empty()))
        read.fail(fmt::format("MASTER_PORT is not set; {} ranks need it to find rank 0", all.size));
    if (all.me == 0)
        if (const number inherited = read.integer("TUTTI_STORE_FD", 0, max_size)) all.store_descriptor = inherited.value;
}

void read_world(world& all, const launcher& one, const claim& told, reader& read) {
    if (!told.rank) return require(one, one.rank, told.size.variable.c_str(), told.size.value, read);
    if (!told.size) return require(one, one.size, told.rank.variable.c_str(), told.rank.value, read);
    if (told.rank.value >= told.size.value)
        return read.fail(
            fmt::format("{}={}, but {}={}: ranks count from 0", told.rank.variable, told.rank.value, told.size.variable, told.size.value));
    all.me = told.rank.value;
    all.size = told.size.value;
    all.source = one.name;
    all.job = read.text((std::string("TUTTI_JOB ") + one.job).c_str());
    all.epoch = static_cast<std::uint32_t>(read.integer((std::string("TUTTI_EPOCH ") + one.epoch).c_str(), 0, max_size).value);
    read_local(all, one, read);
    read_meeting_point(all, one, read);
}

}  // namespace

result<world> world_from(const environment& variables) {
    world all;
    reader read(variables);
    const launcher* winner = nullptr;
    claim told;
    for (const launcher& one : known_launchers()) {
        if (!speaks(one, read, variables)) continue;
        if (winner == nullptr) {
            winner = &one;
            told = claimed_by(one, read);
        } else if (winner->level <= one.level) {
            const claim other = claimed_by(one, read);
            compare("rank", *winner, told.rank, one, other.rank, read);
            compare("size", *winner, told.size, one, other.size, read);
        }
    }
    if (winner != nullptr && !read.wrong()) read_world(all, *winner, told, read);
    if (read.wrong()) return *read.wrong();
    if (all.size == 1) {
        all.local_rank = 0;
        all.local_size = 1;
    }
    return all;
}

result<world> world_from_environment() {
    return world_from([](const std::string& variable) -> std::optional<std::string> {
        const char* value = std::getenv(variable.c_str());
        return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
    });
}

bool on_one_host(const world& all) noexcept { return all.local_size == all.size; }

}  // namespace tutti
