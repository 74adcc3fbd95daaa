// What is copied out of another process instead of through a ring; here the other process is this one.
#include "transport/process_memory.hpp"

#include "road_of_references.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <utility>

namespace tutti::test {
namespace {

std::uint64_t address_of(const bytes& what) { return reinterpret_cast<std::uintptr_t>(what.data()); }

/// Lanes whose near side has its long transfers fetched.
struct fetching_road : road_of_references {
    static constexpr std::size_t threshold = 100'000;

    fetching_road() : road_of_references(threshold) {
        parcel first(0, random_bytes(10, 1), 1);
        send(first);
        settle();
        CHECK(near_end->peer().ends_with(", single copy"));
    }
};

parcel moved_parcel(std::uint64_t sequence, std::size_t payload, std::size_t runs, std::size_t transfer) {
    parcel made(sequence, random_bytes(payload, sequence + 1), runs);
    made.copied_bytes = transfer;
    return made;
}

}  // namespace

TEST_CASE("runs are filled one after the other from another process, whatever their number and lengths") {
    for (const auto runs : {std::size_t{1}, std::size_t{2}, std::size_t{16}, std::size_t{17}, std::size_t{100}}) {
        CAPTURE(runs);
        const bytes one = random_bytes(70'001, 3), other = random_bytes(4'097, 4);
        bytes target(one.size() + other.size() + 5, std::byte{7});
        std::vector<std::span<std::byte>> into;
        std::span<std::byte> rest(target);
        for (std::size_t left = runs; left > 0; --left) {
            into.push_back(rest.first(left == 1 ? rest.size() : rest.size() / left / 2 * (left % 2)));  // every second one is empty
            rest = rest.subspan(into.back().size());
        }
        process_copy copy(::getpid(), into);
        CHECK_FALSE(copy.take(address_of(one), one.size()));
        CHECK_FALSE(copy.take(address_of(other), 0));
        CHECK_FALSE(copy.take(address_of(other), other.size()));
        CHECK(std::equal(one.begin(), one.end(), target.begin()));
        CHECK(std::equal(other.begin(), other.end(), target.begin() + static_cast<std::ptrdiff_t>(one.size())));
        CHECK(target.back() == std::byte{7});
    }
}

TEST_CASE("what cannot be copied is an error of the system") {
    bytes target(100);
    const std::span<std::byte> into[] = {target};
    CHECK(process_copy(::getpid(), into).take(8, 100) == std::errc::bad_address);
    CHECK(process_copy(1 << 30, into).take(address_of(target), 100) == std::errc::no_such_process);
}

TEST_CASE("nothing is taken from a process whose link has ended: another may have its number") {
    fetching_road on;
    const bytes what = random_bytes(1000, 5);
    bytes target(what.size());
    const std::span<std::byte> into[] = {target};
    const reference from[] = {reference::in_process(what)};
    CHECK_FALSE(on.far_end->near()->fetch(from, into));
    CHECK(target == what);
    on.near_end->close();
    CHECK(on.far_end->near()->fetch(from, into) == std::errc::no_such_process);
}

TEST_CASE("long transfers that are only moved are fetched, and their frames are sent when they have been") {
    fetching_road on;
    struct row {
        std::size_t payload, runs, transfer;
        bool fetched;
    };
    const row rows[] = {
        {300'001, 3, 300'001, true}, {5, 1, fetching_road::threshold, true},    {300'001, 1, 99'999, false},
        {300'001, 1, 0, false},      {300'001, most_references, 300'001, true}, {300'001, most_references + 1, 300'001, false}};
    std::uint64_t sequence = 0;
    for (const auto& [payload, runs, transfer, fetched] : rows) {
        CAPTURE(sequence);
        parcel one = moved_parcel(++sequence, payload, runs, transfer);
        on.way->there.parks_from = 0;
        on.send(one);
        CHECK(one.head.references == (fetched ? runs : 0));
        on.settle();
        if (fetched) CHECK(one.times_sent == 0);  // nobody has read it
        on.way->there.parks_from = ~std::uint64_t{0};
        on.way->resume();
        on.settle();
        CHECK(one.times_sent == 1);
        CHECK(on.way->there.payloads.back() == one.payload);
    }
    CHECK(on.way->there.heads.size() == 1 + std::size(rows));
    CHECK(on.way->there.losses == 0);
}

TEST_CASE("nothing is fetched from who does not want it") {
    road_of_references on;
    parcel first(0, random_bytes(10, 1), 1);
    on.send(first);
    on.settle();
    CHECK_FALSE(on.near_end->peer().ends_with(", single copy"));
    parcel one = moved_parcel(1, 300'000, 1, 300'000);
    on.send(one);
    CHECK(one.head.references == 0);
    on.settle();
    CHECK(on.way->there.payloads.back() == one.payload);
}

TEST_CASE("a reference to memory that is none, or that is not as long as its frame says, ends the lane") {
    const bytes memory = random_bytes(200, 1);
    const reference good = reference::in_process(memory);
    reference nowhere = good;
    nowhere.offset += 8 - good.address();
    struct row {
        reference parts[2];
        std::uint64_t payload;
        std::error_code code;
    };
    const row rows[] = {{{nowhere, good}, 400, make_error_code(std::errc::bad_address)},
                        {{good, good}, 399, error::protocol_error},
                        {{good, good}, 401, error::protocol_error},
                        {{good, {good.offset, ~std::uint64_t{0}}}, 400, error::protocol_error},
                        {{good, {0, 200}}, 400, error::protocol_error}};  // and the other in an arena
    for (const auto& [parts, payload, code] : rows) {
        CAPTURE(payload);
        fetching_road on;
        frame head;
        head.sequence = 1;
        head.references = 2;
        head.payload_bytes = payload;
        const frame_header header = encode(head);
        const std::span<const std::byte> sent[] = {header, std::as_bytes(std::span(parts))};
        CHECK(on.near_end->try_send(sent).bytes == frame_bytes + sizeof parts);
        on.settle();
        CHECK(on.way->there.losses == 1);
        CHECK(on.way->there.code.value() == code.value());
    }
}

}  // namespace tutti::test
