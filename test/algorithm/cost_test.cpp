// The costs that the algorithms' comments claim.
#include "schedule/cost.hpp"
#include "algorithm/catalogue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>

using namespace tutti;

namespace {

int log2_up(int size) { return static_cast<int>(std::bit_width(static_cast<unsigned>(size) - 1)); }
int log2_down(int size) { return static_cast<int>(std::bit_width(static_cast<unsigned>(size))) - 1; }
bool power_of_two(int size) { return std::has_single_bit(static_cast<unsigned>(size)); }

// The work of a busiest rank: rounds, and bytes of a vector of one byte.
struct busiest {
    int rounds = 0;
    double sent = 0, reduced = 0, far_sent = 0;
    int messages = 0;
};

busiest busiest_of(const algorithm& entry, int size, const host_map& hosts = {}) {
    busiest most;
    for (rank me = 0; me < size; ++me) {
        const cost mine = count(entry.build({me, size, 0, &hosts}), me, hosts);
        most.rounds = std::max(most.rounds, mine.rounds);
        most.sent = std::max(most.sent, mine.bytes(mine.sent, 1));
        most.reduced = std::max(most.reduced, mine.bytes(mine.reduced, 1));
        most.far_sent = std::max(most.far_sent, mine.bytes(mine.far_sent, 1));
        most.messages = std::max(most.messages, mine.messages);
    }
    return most;
}

using formula = double (*)(int size);
double none(int) { return 0; }
double one(int) { return 1; }
double two(int) { return 2; }
double others(int p) { return p - 1; }
double twice_others(int p) { return 2 * (p - 1); }
double share(int p) { return double(p - 1) / p; }
double two_shares(int p) { return 2 * share(p); }
double tree_depth(int p) { return log2_up(p); }
double two_depths(int p) { return 2 * log2_up(p); }
// The largest subtree below a root: half of the ranks, or what is left of them.
double half_below(int p) { return std::max(p - (1 << (log2_up(p) - 1)), log2_up(p) > 1 ? 1 << (log2_up(p) - 2) : 0); }
double folding(int p) { return power_of_two(p) ? 0 : 1; }
int core(int p) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(p))); }
double core_share(int p) { return share(core(p)); }
double doubling(int p) { return log2_down(p) + folding(p); }
// Where ranks fold, either one of a pair or one that has the whole vector is the busiest.
double halving_sent(int p, int halvings) {
    const double left = 1.0 / (1 << halvings), whole = 2 * (1 - left) + (log2_down(p) - halvings) * left;
    return power_of_two(p) ? whole : std::max(whole, 1 + whole / 2);
}
double halving_reduced(int p, int halvings) {
    const double left = 1.0 / (1 << halvings), whole = 1 - left + (log2_down(p) - halvings) * left;
    return power_of_two(p) ? whole : std::max(whole, (1 + whole) / 2);
}

struct claim {
    collective kind;
    std::string_view name;
    formula rounds, sent, reduced;
};

const claim claims[] = {
    {collective::all_reduce, "ring", twice_others, two_shares, share},
    {collective::all_reduce, "recursive_doubling", [](int p) { return log2_down(p) + 2 * folding(p); },
     [](int p) { return log2_down(p) + folding(p); }, [](int p) { return log2_down(p) + folding(p); }},
    {collective::all_reduce, "halving_doubling", [](int p) { return 2 * (log2_down(p) + folding(p)); },
     [](int p) { return power_of_two(p) ? 2 * share(p) : 1 + core_share(p); },
     [](int p) { return std::max(p - 2 * (p - core(p)) > 0 ? core_share(p) : 0, power_of_two(p) ? 0 : (1 + core_share(p)) / 2); }},
    {collective::all_reduce, "halving_once", [](int p) { return log2_down(p) + 1 + 2 * folding(p); },
     [](int p) { return halving_sent(p, 1); }, [](int p) { return halving_reduced(p, 1); }},
    {collective::all_reduce, "halving_twice", [](int p) { return log2_down(p) + 2 + 2 * folding(p); },
     [](int p) { return halving_sent(p, 2); }, [](int p) { return halving_reduced(p, 2); }},
    {collective::all_reduce, "tree", two_depths, tree_depth, tree_depth},
    {collective::all_reduce, "star", two, others, others},
    {collective::all_reduce, "direct", two, two_shares, share},
    {collective::broadcast, "tree", tree_depth, tree_depth, none},
    {collective::broadcast, "scatter", [](int p) { return tree_depth(p) + others(p); }, two_shares, none},
    {collective::reduce, "tree", tree_depth, one, tree_depth},
    {collective::all_gather, "ring", others, share, none},
    {collective::all_gather, "recursive_doubling", tree_depth, share, none},
    {collective::all_gather, "bruck", tree_depth, share, none},
    {collective::all_gather, "direct", one, share, none},
    {collective::all_gather, "pairwise", others, share, none},
    {collective::reduce_scatter, "ring", others, share, share},
    {collective::reduce_scatter, "direct", one, share, share},
    {collective::reduce_scatter, "pairwise", others, share, share},
    {collective::all_to_all, "pairwise", others, share, none},
    {collective::all_to_all, "direct", one, share, none},
    {collective::all_to_all, "bruck", [](int p) { return tree_depth(p) + 1; }, nullptr, none},
    {collective::barrier, "dissemination", tree_depth, nullptr, nullptr},
    {collective::reduce, "ordered_tree", tree_depth, one, tree_depth},
    {collective::gather, "direct", one, [](int p) { return 1.0 / p; }, none},
    {collective::gather, "tree", tree_depth, [](int p) { return half_below(p) / double(p); }, none},
    {collective::scatter, "direct", one, share, none},
    {collective::scatter, "tree", tree_depth, share, none},
    {collective::scan, "doubling", tree_depth, tree_depth, tree_depth},
    {collective::scan, "chain", [](int p) { return p == 2 ? 1.0 : 2.0; }, one, one},
    {collective::exclusive_scan, "doubling", [](int p) { return 1.0 + log2_up(p - 1); }, [](int p) { return 1.0 + log2_up(p - 1); },
     [](int p) { return 1.0 * log2_up(p - 1); }},
    {collective::all_gather_v, "ring", others, share, none},
    {collective::all_gather_v, "recursive_doubling", tree_depth, share, none},
    {collective::all_gather_v, "bruck", tree_depth, share, none},
    {collective::all_gather_v, "direct", one, share, none},
    {collective::reduce_scatter_v, "direct", one, share, share},
    {collective::reduce_scatter_v, "pairwise", others, share, share},
    {collective::gather_v, "direct", one, [](int p) { return 1.0 / p; }, none},
    {collective::scatter_v, "direct", one, share, none},
    {collective::all_to_all_v, "direct", one, share, none},
    {collective::reduce_scatter, "halving", [](int p) { return log2_down(p) + folding(p) + (p > 2); },
     [](int p) { return p > 2 ? 1 : share(p); }, nullptr},
    {collective::reduce_scatter_v, "halving", [](int p) { return log2_down(p) + folding(p) + (p > 2); },
     [](int p) { return p > 2 ? 1 : share(p); }, nullptr},
};

/// Of algorithms that know of hosts: as many ranks on each.
using layered_formula = double (*)(int hosts, int ranks);
struct layered_claim {
    collective kind;
    std::string_view name;
    layered_formula rounds, sent, reduced;
    formula far_sent;  // by hosts; of one rank
    layered_formula far_share = nullptr;  // of far_sent; null: all
};
double no_bytes(int, int) { return 0; }

const layered_claim layered_claims[] = {
    {collective::all_reduce, "leaders", [](int h, int l) { return two_depths(l) + log2_down(h) + 2 * folding(h); },
     [](int h, int l) { return tree_depth(l) + doubling(h); }, [](int h, int l) { return tree_depth(l) + doubling(h); }, doubling},
    {collective::all_reduce, "leaders_ring", [](int h, int l) { return two_depths(l) + twice_others(h); },
     [](int h, int l) { return tree_depth(l) + two_shares(h); }, [](int h, int l) { return tree_depth(l) + share(h); }, two_shares},
    {collective::all_reduce, "parts", [](int h, int l) { return twice_others(l) + twice_others(h); },
     [](int h, int l) { return two_shares(h * l); }, [](int h, int l) { return share(h * l); }, two_shares,
     [](int, int l) { return 1.0 / l; }},
    {collective::broadcast, "leaders", [](int h, int l) { return tree_depth(h) + tree_depth(l); },
     [](int h, int l) { return tree_depth(h) + tree_depth(l); }, no_bytes, tree_depth},
    {collective::broadcast, "leaders_scatter", [](int h, int l) { return tree_depth(h) + others(h) + tree_depth(l); },
     [](int h, int l) { return two_shares(h) + tree_depth(l); }, no_bytes, two_shares},
    {collective::reduce, "leaders", [](int h, int l) { return tree_depth(h) + tree_depth(l); }, [](int, int) { return 1.0; },
     [](int h, int l) { return tree_depth(h) + tree_depth(l); }, one},
    {collective::barrier, "leaders", [](int h, int l) { return two_depths(l) + tree_depth(h); }, nullptr, nullptr, nullptr},
    {collective::all_gather, "leaders", [](int h, int l) { return 1 + tree_depth(h) + tree_depth(l); },
     [](int h, int l) { return share(h) + tree_depth(l); }, no_bytes, share},
    {collective::all_gather_v, "leaders", [](int h, int l) { return 1 + tree_depth(h) + tree_depth(l); },
     [](int h, int l) { return share(h) + tree_depth(l); }, no_bytes, share},
};

}  // namespace

TEST_CASE("every algorithm costs what its comment claims") {
    CHECK(std::size(claims) + std::size(layered_claims) == catalogue().size());
    for (const claim& it : claims)
        for (int size = 2; size <= 33; ++size) {
            const algorithm* entry = find(it.kind, it.name);
            REQUIRE(entry != nullptr);
            if (!serves(*entry, size)) continue;
            CAPTURE(name(it.kind));
            CAPTURE(it.name);
            CAPTURE(size);
            const busiest most = busiest_of(*entry, size);
            CHECK(most.rounds == it.rounds(size));
            if (it.sent) CHECK(most.sent == doctest::Approx(it.sent(size)));
            if (it.reduced) CHECK(most.reduced == doctest::Approx(it.reduced(size)));
        }
}

TEST_CASE("every algorithm that knows of hosts costs what its comment claims, with ranks in a row or in turns") {
    for (const layered_claim& it : layered_claims)
        for (const int hosts : {2, 3, 4, 5, 7, 8})
            for (const int ranks : {2, 3, 4, 5, 8})
                for (const bool in_turns : {false, true}) {
                    const algorithm* entry = find(it.kind, it.name);
                    REQUIRE(entry != nullptr);
                    std::vector<int> numbers;
                    for (rank each = 0; each < hosts * ranks; ++each) numbers.push_back(in_turns ? each % hosts : each / ranks);
                    CAPTURE(name(it.kind));
                    CAPTURE(it.name);
                    CAPTURE(hosts);
                    CAPTURE(ranks);
                    CAPTURE(in_turns);
                    const busiest most = busiest_of(*entry, hosts * ranks, host_map(numbers));
                    CHECK(most.rounds == it.rounds(hosts, ranks));
                    if (it.sent) CHECK(most.sent == doctest::Approx(it.sent(hosts, ranks)));
                    if (it.reduced) CHECK(most.reduced == doctest::Approx(it.reduced(hosts, ranks)));
                    const double far_share = it.far_share ? it.far_share(hosts, ranks) : 1;
                    if (it.far_sent) CHECK(most.far_sent == doctest::Approx(it.far_sent(hosts) * far_share));
                }
}

TEST_CASE("Bruck's all_to_all sends half the vector in each round when the size is a power of two, in one message each way") {
    for (const int size : {2, 4, 8, 16, 32}) {
        const busiest most = busiest_of(*find(collective::all_to_all, "bruck"), size);
        CHECK(most.sent == doctest::Approx(0.5 * log2_up(size)));
        CHECK(most.messages == 2 * log2_up(size));
    }
}

TEST_CASE("a reduce_scatter by halving reduces the others' shares when the size is a power of two, and otherwise hardly more than the vector") {
    for (int size = 2; size <= 33; ++size) {
        CAPTURE(size);
        const busiest most = busiest_of(*find(collective::reduce_scatter, "halving"), size);
        if (power_of_two(size)) CHECK(most.reduced == doctest::Approx(share(size)));
        else CHECK(most.reduced <= 1.25);
    }
}

TEST_CASE("a direct exchange is one message to and from everybody") {
    for (const collective kind : {collective::all_gather, collective::reduce_scatter, collective::all_to_all})
        CHECK(busiest_of(*find(kind, "direct"), 9).messages == 16);
}

TEST_CASE("an ordered reduce to another root than 0 takes one round more") {
    const algorithm& entry = *find(collective::reduce, "ordered_tree");
    for (const int size : {2, 3, 8, 33})
        CHECK(count(entry.build({0, size, size - 1})).rounds == count(entry.build({0, size, 0})).rounds + 1);
}
