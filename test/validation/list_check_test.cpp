#include "validation/list_check.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>

using namespace tutti;

namespace {

alignas(8) std::array<std::byte, 4096> memory;

bool overlap(const buffer& one, const buffer& other) {
    const auto* first = static_cast<const std::byte*>(one.data);
    const auto* second = static_cast<const std::byte*>(other.data);
    return first < second + other.bytes() && second < first + one.bytes() && one.count > 0 && other.count > 0;
}

/// Returns whether there is a complaint; it is one of those that are `allowed`, and there is one where there are any.
bool named(const detail::complaint& found, const std::vector<std::string>& allowed) {
    CHECK(found.has_value() == !allowed.empty());
    if (found) CHECK(std::find(allowed.begin(), allowed.end(), *found) != allowed.end());
    return found.has_value();
}

}  // namespace

TEST_CASE("exactly the lists in which two buffers overlap are refused, and the two are named") {
    detail::list_check check;
    std::mt19937_64 random{7};
    int refused = 0;
    for (int turn = 0; turn < 2000; ++turn) {
        CAPTURE(turn);
        std::vector<buffer> list(random() % 8);
        for (buffer& each : list) each = {memory.data() + 4 * (random() % 400), random() % 30, data_type::f32};
        std::size_t total = 0, expected = 0;
        for (const buffer& each : list) expected += each.count;
        std::vector<std::string> allowed;
        for (std::size_t one = 0; one < list.size(); ++one)
            for (std::size_t other = one + 1; other < list.size(); ++other)
                if (overlap(list[one], list[other]))
                    allowed.push_back("the list's buffers " + std::to_string(one) + " and " + std::to_string(other) + " overlap");
        const auto found = check(list, total);
        CHECK(total == expected);
        refused += named(found, allowed);
    }
    CHECK(refused > 200);
    CHECK(refused < 1800);
}

TEST_CASE("exactly the parts that overlap another are refused, where one of them receives") {
    using part = detail::list_check::part;
    const auto meet = [](const part& one, const part& other) {
        const auto *first = static_cast<const std::byte*>(one.data), *second = static_cast<const std::byte*>(other.data);
        return (one.receives || other.receives) && one.bytes > 0 && other.bytes > 0 && first < second + other.bytes &&
               second < first + one.bytes;
    };
    detail::list_check check;
    std::mt19937_64 random{11};
    int refused = 0;
    for (int turn = 0; turn < 2000; ++turn) {
        CAPTURE(turn);
        std::vector<part> parts(random() % 10);
        for (part& each : parts) each = {memory.data() + random() % 400, random() % 100, random() % 3 == 0};
        std::vector<std::string> allowed;
        for (std::size_t one = 0; one < parts.size(); ++one)
            for (std::size_t other = one + 1; other < parts.size(); ++other)
                if (meet(parts[one], parts[other]))
                    allowed.push_back("parts " + std::to_string(one) + " and " + std::to_string(other) + " overlap, and not both are sent");
        refused += named(check.apart(std::span<const part>(parts), [](const part& each) { return each; }), allowed);
    }
    CHECK(refused > 200);
    CHECK(refused < 1800);
}

TEST_CASE("neighbours do not overlap, nor do empty buffers without memory") {
    detail::list_check check;
    std::size_t total = 0;
    const buffer list[] = {{memory.data() + 16, 4, data_type::f32},
                           {nullptr, 0, data_type::f32},
                           {memory.data(), 4, data_type::f32},
                           {memory.data() + 32, 1, data_type::f32}};
    CHECK_FALSE(check(list, total));
    CHECK(total == 9);
    CHECK_FALSE(check({}, total));
    CHECK(total == 0);
}
