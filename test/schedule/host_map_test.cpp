#include "schedule/host_map.hpp"

#include <doctest/doctest.h>

using namespace tutti;

namespace {

host_map of(std::vector<int> numbers) { return host_map(numbers); }

std::vector<rank> on(const host_map& hosts, int host) {
    const auto all = hosts.ranks(host);
    return {all.begin(), all.end()};
}

}  // namespace

TEST_CASE("without numbers all ranks are on one host") {
    const host_map none;
    CHECK(none.count() == 1);
    CHECK(none.host(17) == 0);
    CHECK_FALSE(none.layered());
    CHECK_FALSE(none.even());
    CHECK(of({}) == none);
}

TEST_CASE("hosts are numbered in the order of their lowest ranks, whatever they were called") {
    const host_map hosts = of({7, -3, 7, 5, -3, 7});
    CHECK(hosts.count() == 3);
    CHECK(on(hosts, 0) == std::vector<rank>{0, 2, 5});
    CHECK(on(hosts, 1) == std::vector<rank>{1, 4});
    CHECK(on(hosts, 2) == std::vector<rank>{3});
    CHECK(hosts == of({0, 1, 0, 2, 1, 0}));
    for (int host = 0; host < hosts.count(); ++host)
        for (std::size_t place = 0; place < hosts.ranks(host).size(); ++place) {
            const rank each = hosts.ranks(host)[place];
            CHECK(hosts.host(each) == host);
            CHECK(hosts.local(each) == static_cast<int>(place));
        }
}

TEST_CASE("there are layers where some ranks share a host and others do not") {
    struct row {
        std::vector<int> numbers;
        bool layered, even;
    };
    const row rows[] = {{{4}, false, false},           {{4, 4, 4}, false, false},  {{1, 2, 3}, false, false},
                        {{1, 1, 2}, true, false},      {{1, 2, 1, 2}, true, true}, {{1, 1, 2, 2, 3, 3}, true, true},
                        {{1, 1, 2, 2, 3}, true, false}};
    for (const row& each : rows) {
        CAPTURE(each.numbers.size());
        CHECK(of(each.numbers).layered() == each.layered);
        CHECK(of(each.numbers).even() == each.even);
    }
}
