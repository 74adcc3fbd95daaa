#include "base/layout.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>

using namespace tutti;

namespace {

/// Nine letters in four places: abc d efg hi.
struct letters {
    letters() {
        all.add(first.data(), 3, 1);
        all.add(nullptr, 0, 1);
        all.add(second.data(), 1, 1);
        all.add(third.data(), 3, 1);
        all.add(third.data() + 3, 0, 1);
        all.add(fourth.data(), 2, 1);
    }
    static constexpr std::byte of(char letter) { return static_cast<std::byte>(letter); }

    std::array<std::byte, 4> first{of('a'), of('b'), of('c')};
    std::array<std::byte, 2> second{of('d')};
    std::array<std::byte, 4> third{of('e'), of('f'), of('g')};
    std::array<std::byte, 2> fourth{of('h'), of('i')};
    pieces all;
};

char letter_at(const layout& memory, std::size_t element) {
    const std::byte* const found = memory.address(element);
    return found ? static_cast<char>(*found) : '-';
}

std::string runs(const layout& memory, part which) {
    std::string text;
    memory.each_run(which, [&](const std::byte* data, std::size_t count) {
        if (!text.empty()) text += '|';
        for (std::size_t index = 0; index < count; ++index) text += static_cast<char>(data[index]);
    });
    return text;
}

}  // namespace

TEST_CASE("every range of scattered elements is found, run by run") {
    const letters in;
    const layout memory{.count = 9, .scattered = &in.all};
    CHECK(runs(memory, {0, 9}) == "abc|d|efg|hi");
    const std::string whole = "abcdefghi";
    for (std::size_t first = 0; first <= 9; ++first)
        for (std::size_t count = 0; first + count <= 9; ++count) {
            std::string found = runs(memory, {first, count});
            std::erase(found, '|');
            CHECK(found == whole.substr(first, count));
        }
    CHECK(runs(memory, {2, 3}) == "c|d|e");
}

TEST_CASE("pieces that are neighbours in memory are one run, and empty ones are none") {
    std::array<std::byte, 24> memory{};
    pieces all;
    all.add(memory.data(), 0, 4);
    CHECK(all.size() == 0);
    all.add(memory.data(), 2, 4);
    all.add(memory.data() + 8, 1, 4);
    CHECK(all.size() == 1);
    all.add(memory.data() + 16, 2, 4);
    CHECK(all.size() == 2);
    all.clear();
    CHECK(all.size() == 0);
}

TEST_CASE("memory in one place is one run") {
    letters in;
    const layout memory{in.third.data(), 3, 1, 1};
    CHECK(runs(memory, {1, 2}) == "fg");
    CHECK(runs(memory, {3, 0}).empty());
}

TEST_CASE("an element is found in the piece that has it, and none beyond the last") {
    letters memory;
    layout scattered;
    scattered.scattered = &memory.all;
    std::string text;
    for (std::size_t element = 0; element < 10; ++element) text += letter_at(scattered, element);
    CHECK(text == "abcdefghi-");
    layout together;
    together.data = memory.third.data();
    CHECK(letter_at(together, 2) == 'g');
    const pieces none;
    CHECK(none.at(0, 1) == nullptr);
}
