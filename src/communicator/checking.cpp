#include "communicator/checking.hpp"

#include "communicator/call.hpp"
#include "communicator/checked_call.hpp"

#include <fmt/format.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace tutti::detail {
namespace {

borrowed part_of(const void* data, std::size_t bytes, bool written) noexcept {
    return {static_cast<std::byte*>(const_cast<void*>(data)), data ? bytes : 0, written};
}

std::size_t sum_of(std::span<const std::size_t> counts) noexcept { return std::accumulate(counts.begin(), counts.end(), std::size_t{0}); }

/// Returns how many elements this rank reads and writes, where its request has an input and an output.
std::pair<std::size_t, std::size_t> elements_of(const request& what, rank me, int size) noexcept {
    const std::size_t all = what.count * static_cast<std::size_t>(size);
    const std::size_t mine = what.counts.empty() ? what.count : what.counts[static_cast<std::size_t>(me)];
    switch (what.kind) {
        case collective::all_gather:
        case collective::gather: return {what.count, all};
        case collective::reduce_scatter:
        case collective::scatter: return {all, what.count};
        case collective::all_to_all: return {all, all};
        case collective::all_gather_v:
        case collective::gather_v: return {mine, what.count};
        case collective::reduce_scatter_v:
        case collective::scatter_v: return {what.count, mine};
        case collective::all_to_all_v: return {sum_of(what.counts), sum_of(what.recv_counts)};
        default: return {what.count, what.count};
    }
}

std::vector<borrowed> memory_of(const request& what, rank me, int size) {
    std::vector<borrowed> pieces;
    for (const buffer& each : what.list) pieces.push_back(part_of(each.data, each.bytes(), true));
    for (const buffer& each : what.input_list) pieces.push_back(part_of(each.data, each.bytes(), false));
    const auto [read, written] = elements_of(what, me, size);
    pieces.push_back(part_of(what.input, read * what.element_bytes(), false));
    pieces.push_back(part_of(what.output, written * what.element_bytes(), what.kind != collective::broadcast || what.root != me));
    return pieces;
}

std::string in_words(std::string call, const char* label) { return label && *label ? fmt::format("{} '{}'", call, label) : std::move(call); }

/// Enters the memory of a call in the book. If a call under way has borrowed it, the communicator fails.
template <class T>
std::unique_ptr<checked_call<T>> lend(group& of, std::vector<borrowed> pieces, std::string call) {
    auto entry = std::make_unique<borrowed_memory::entry>(of.context().borrowed(), std::move(pieces), std::move(call));
    if (entry->conflict())
        refuse(of, entry->call(), error::invalid_argument, fmt::format(" on memory that {} is still using", *entry->conflict()));
    return std::make_unique<checked_call<T>>(of, std::move(entry));
}

template <class T>
future<T> issue_one(group& of, const message_call& what, duration default_deadline) {
    auto made = lend<T>(of, {{what.memory, what.bytes(), what.what == message_call::kind::recv}}, in_words(to_string(what), what.label));
    message_call copied = what;
    copied.memory = static_cast<std::byte*>(made->memory().at(what.memory));
    future<T> inner(of.engine().messages().issue(copied, default_deadline));
    return made.release()->follow(std::move(inner));
}

}  // namespace

bool checks(group& of) noexcept { return of.context().borrowed() != nullptr; }

future<> checked(group& of, const request& what, duration default_deadline, std::uint64_t place) {
    std::string call = in_words(to_string(describe(what)), what.label);
    std::optional<calls_in_turn::turn> turn;
    if (place == 0 && of.size() > 1) turn.emplace(of.turns(), call);  // a reserved place fixes the order already
    if (turn && turn->other())
        refuse(of, call, error::invalid_argument,
               fmt::format(" on one thread while another was calling {}: chance decides their order here, which must be the same on all ranks",
                           *turn->other()));
    auto made = lend<void>(of, memory_of(what, of.who().me, of.size()), std::move(call));
    request copied = what;
    copied.input = made->memory().at(what.input);
    copied.output = made->memory().at(what.output);
    std::vector<buffer> written(what.list.begin(), what.list.end()), read(what.input_list.begin(), what.input_list.end());
    for (std::vector<buffer>* const list : {&written, &read})
        for (buffer& each : *list) each.data = made->memory().at(each.data);
    copied.list = written;
    copied.input_list = read;
    future<> inner(of.engine().issue(copied, default_deadline, place));
    return made.release()->follow(std::move(inner));
}

future<> checked_sync(group& of) {
    const auto book = of.context().borrowed();
    const void* const communicator = &of.engine();
    const std::uint64_t number = book->calls();
    return of.engine().sync().then([book, communicator, number] { book->synced(communicator, number); });
}

future<> checked_send(group& of, const message_call& what, duration default_deadline) { return issue_one<void>(of, what, default_deadline); }

future<received> checked_recv(group& of, const message_call& what, duration default_deadline) {
    return issue_one<received>(of, what, default_deadline);
}

future<> checked_exchange(group& of, std::span<const transfer> parts, const message_call& whole, duration default_deadline) {
    std::vector<borrowed> pieces;
    for (const transfer& each : parts)
        pieces.push_back(each.sends ? part_of(each.from.data, each.from.bytes(), false) : part_of(each.to.data, each.to.bytes(), true));
    auto made = lend<void>(of, std::move(pieces), in_words(to_string(whole), whole.label));
    std::vector<transfer> copied(parts.begin(), parts.end());
    for (transfer& each : copied) {
        each.from.data = made->memory().at(each.from.data);
        each.to.data = made->memory().at(each.to.data);
    }
    future<> inner(of.engine().messages().exchange(copied, whole, default_deadline));
    return made.release()->follow(std::move(inner));
}

}  // namespace tutti::detail
