// Whether the sample is as good as it says.
#include "product.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace tutti;
using test::sample_case;

namespace {

/// For two factors, which levels occur together.
using pairs = std::set<std::pair<int, int>>;

pairs together(const std::vector<sample_case>& cases, std::size_t first, std::size_t second) {
    pairs found;
    for (const sample_case& one : cases) found.emplace(one.at[first], one.at[second]);
    return found;
}

}  // namespace

TEST_CASE("any two levels of any two factors that go together do so in the sample") {
    const auto whole = test::whole_product(), sample = test::covering_sample();
    for (std::size_t first = 0; first < sample_case::factors; ++first)
        for (std::size_t second = first + 1; second < sample_case::factors; ++second) {
            CAPTURE(first);
            CAPTURE(second);
            CHECK(together(sample, first, second) == together(whole, first, second));
        }
    for (const sample_case& one : sample) CHECK(test::possible(one));
    MESSAGE("a sample of ", sample.size(), " cases; the whole product has ", whole.size());
    CHECK(sample.size() * 10 < whole.size());
}

TEST_CASE("every algorithm, type and operator that go together is a subject, once") {
    std::set<std::string> seen;
    std::set<const algorithm*> entries;
    for (const test::subject& one : test::subjects()) {
        entries.insert(one.entry);
        sample_case first;
        first.at[sample_case::by_subject] = static_cast<int>(&one - test::subjects().data());
        CHECK(seen.insert(first.text() + std::to_string(one.opaque_bytes)).second);
        if (reduces(one.entry->kind) && !one.op.user()) CHECK(defined(one.op.kind(), one.type));
    }
    CHECK(entries.size() == catalogue().size());
}
