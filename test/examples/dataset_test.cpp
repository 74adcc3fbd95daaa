#include "digits/dataset.hpp"

#include "digits/input_error.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>

using namespace digits;

namespace {

// Rows whose pixels and labels differ from row to row.
std::string rows(int count) {
    std::string text;
    for (int row = 0; row < count; ++row) {
        for (int column = 0; column < pixel_count; ++column) text += std::to_string((row + column) % 17) + ",";
        text += std::to_string(row % 10) + "\n";
    }
    return text;
}

std::string message(const std::string& text) {
    try {
        (void)parse(text, "digits.csv");
    } catch (const input_error& error) {
        return error.what();
    }
    return "no error";
}

// A row of zeros whose column `column` (counted from 1) reads `field`.
std::string row_with(int column, const std::string& field) {
    std::string row;
    for (int i = 1; i <= pixel_count + 1; ++i) row += (i == 1 ? "" : ",") + (i == column ? field : "0");
    return row + "\n";
}

}  // namespace

TEST_CASE("pixels become 0 to 1 and labels stay as they are") {
    const dataset all = parse(rows(20), "x");
    REQUIRE(all.count() == 20);
    CHECK(all.pixels.size() == 20 * pixel_count);
    CHECK(all.pixels[0] == 0.0F);
    CHECK(all.pixels[8] == 0.5F);
    CHECK(all.pixels[16] == 1.0F);
    CHECK(all.labels[13] == 3);
}

TEST_CASE("the last row may lack its line end") {
    std::string text = rows(12);
    text.pop_back();
    CHECK(parse(text, "x") == parse(rows(12), "x"));
}

TEST_CASE("a malformed row is named with its line, what was found and what was expected") {
    const struct {
        std::string row;
        const char* expected;
    } cases[] = {
        {"\n", "digits.csv:4: found an empty line, expected 64 pixels and a label, separated by commas"},
        {"7\n", "digits.csv:4: found 1 column, expected 64 pixels and a label, separated by commas"},
        {row_with(1, "1,2"), "digits.csv:4: found 66 columns, expected 64 pixels and a label, separated by commas"},
        {row_with(1, "17"), "digits.csv:4: found '17' in column 1, expected a pixel from 0 to 16"},
        {row_with(9, "-1"), "digits.csv:4: found '-1' in column 9, expected a pixel from 0 to 16"},
        {row_with(64, "1.5"), "digits.csv:4: found '1.5' in column 64, expected a pixel from 0 to 16"},
        {row_with(2, ""), "digits.csv:4: found '' in column 2, expected a pixel from 0 to 16"},
        {row_with(3, " 4"), "digits.csv:4: found ' 4' in column 3, expected a pixel from 0 to 16"},
        {row_with(3, "99999999999999999999"), "digits.csv:4: found '99999999999999999999' in column 3, expected a pixel from 0 to 16"},
        {row_with(65, "10"), "digits.csv:4: found '10' in column 65, expected a label from 0 to 9"},
        {row_with(65, "3\r"), "digits.csv:4: found '3\r' in column 65, expected a label from 0 to 9"},
        {row_with(5, std::string(1000, 'x')),
         "digits.csv:4: found 'xxxxxxxxxxxxxxxxxxxxxxxx...' in column 5, expected a pixel from 0 to 16"},
    };
    for (const auto& each : cases) CHECK(message(rows(3) + each.row + rows(20)) == each.expected);
}

TEST_CASE("a file without enough rows is refused") {
    CHECK(message("") == "digits.csv: found 0 rows, expected at least 10");
    CHECK(message(rows(9)) == "digits.csv: found 9 rows, expected at least 10");
    CHECK(message(rows(10)) == "no error");
}

TEST_CASE("a file that cannot be read is named with the reason") {
    CHECK_THROWS_WITH_AS((void)load("/nowhere/digits.csv"), "cannot open /nowhere/digits.csv: No such file or directory", input_error);
    CHECK_THROWS_WITH_AS((void)load("/"), "cannot read /: Is a directory", input_error);
    CHECK_THROWS_WITH_AS((void)load("/dev/zero"), "/dev/zero is larger than 67108864 bytes", input_error);
}

TEST_CASE("the real data loads, and its test part is a fifth with every digit in it") {
    const dataset all = load(DIGITS_DATA);
    REQUIRE(all.count() == 1797);
    const split parts = divide(all);
    CHECK(parts.test.count() == 359);
    CHECK(parts.training.count() == 1438);
    std::array<int, class_count> seen{};
    for (const auto label : parts.test.labels) ++seen[label];
    CHECK(*std::min_element(seen.begin(), seen.end()) > 20);
}

TEST_CASE("dividing loses and doubles no image") {
    const dataset all = parse(rows(170), "x");  // all different: pixels repeat every 17 rows, labels every 10
    const split parts = divide(all);
    CHECK(divide(all).test == parts.test);
    std::vector<bool> found(all.count());
    for (const dataset* part : {&parts.test, &parts.training})
        for (std::size_t i = 0; i < part->count(); ++i)
            for (std::size_t j = 0; j < all.count(); ++j) {
                const auto image = part->pixels.begin() + static_cast<std::ptrdiff_t>(i * pixel_count);
                const auto original = all.pixels.begin() + static_cast<std::ptrdiff_t>(j * pixel_count);
                if (part->labels[i] == all.labels[j] && std::equal(image, image + pixel_count, original)) {
                    CHECK_FALSE(found[j]);
                    found[j] = true;
                }
            }
    CHECK(std::count(found.begin(), found.end(), true) == 170);
}

TEST_CASE("control characters in a message become visible") { CHECK(one_line("a\r\nb\x7f") == "a\\x0d\\x0ab\\x7f"); }
