#include "algorithm/catalogue.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace tutti;

TEST_CASE("every entry can be found by its name, and its number is its place") {
    std::set<std::string> seen;
    for (const algorithm& entry : catalogue()) {
        CAPTURE(entry.name);
        CHECK(find(entry.kind, entry.name) == &entry);
        CHECK(&catalogue()[static_cast<std::size_t>(number(entry))] == &entry);
        CHECK(seen.insert(std::string(name(entry.kind)) + "/" + std::string(entry.name)).second);
    }
    CHECK(find(collective::barrier, "ring") == nullptr);
    CHECK(find(collective::all_reduce, "") == nullptr);
    CHECK(catalogue().size() < 256);  // the number travels in one byte
}

TEST_CASE("every collective of the catalogue is served at every size") {
    for (const collective kind : {collective::all_reduce, collective::broadcast, collective::reduce, collective::all_gather,
                                  collective::reduce_scatter, collective::all_to_all, collective::barrier})
        for (int size = 1; size <= 33; ++size) {
            bool served = false;
            for (const algorithm& entry : catalogue()) served |= entry.kind == kind && serves(entry, size);
            CHECK(served);
        }
}
