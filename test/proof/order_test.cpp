// The formulas that docs/numerics.md tells: how four contributions become one.
#include "proof/execution.hpp"
#include "proof/expected.hpp"

#include <doctest/doctest.h>

using namespace tutti;

namespace {

struct row {
    collective kind;
    std::string_view name;
    rank root;
    rank who;   // at whom
    int block;  // of its output
    int part;   // of everybody's contribution
    std::string formula;
};

/// A formula without the parts' numbers.
std::string owners(std::string formula, int part) {
    const std::string index = "." + std::to_string(part);
    for (auto at = formula.find(index); part != 0 && at != std::string::npos; at = formula.find(index)) formula.erase(at, index.size());
    return formula;
}

void check(const row& each, int size, const host_map& hosts) {
    CAPTURE(name(each.kind));
    CAPTURE(each.name);
    CAPTURE(each.who);
    const algorithm& entry = *find(each.kind, each.name);
    const auto plans = build_all(entry, size, each.root, hosts);
    const matching pairs(plans);
    const contract promise = expected(entry.kind, size, each.root, plans[0].spaces().output);
    expressions formulas;
    execution world(plans, pairs, promise, formulas);
    world.run();
    CHECK(owners(formulas.text(world.at(each.who, 0, output(each.block))), each.part) == each.formula);
}

}  // namespace

TEST_CASE("four contributions are combined by these formulas") {
    using enum collective;
    const row rows[] = {
        {all_reduce, "recursive_doubling", 0, 3, 0, 0, "((0+1)+(2+3))"},
        {all_reduce, "tree", 0, 3, 0, 0, "((0+1)+(2+3))"},
        {all_reduce, "star", 0, 3, 0, 0, "(((0+1)+2)+3)"},
        {all_reduce, "halving_doubling", 0, 3, 1, 1, "((0+1)+(2+3))"},
        {all_reduce, "halving_once", 0, 3, 1, 1, "((0+1)+(2+3))"},
        {all_reduce, "ring", 0, 3, 0, 0, "(((0+1)+2)+3)"},
        {all_reduce, "ring", 0, 3, 2, 2, "((0+(2+3))+1)"},
        {all_reduce, "direct", 0, 3, 0, 0, "(((0+1)+2)+3)"},
        {all_reduce, "direct", 0, 3, 2, 2, "((0+(1+2))+3)"},
        {all_reduce, "leaders", 0, 3, 0, 0, "((0+1)+(2+3))"},
        {all_reduce, "leaders_ring", 0, 3, 0, 0, "((0+1)+(2+3))"},
        {all_reduce, "leaders_ring", 0, 3, 1, 1, "((0+1)+(2+3))"},
        {all_reduce, "parts", 0, 3, 0, 0, "((0+1)+(2+3))"},
        {all_reduce, "parts", 0, 0, 3, 3, "((0+1)+(2+3))"},
        {reduce, "leaders", 1, 1, 0, 0, "((0+1)+(2+3))"},
        {reduce, "tree", 0, 0, 0, 0, "((0+1)+(2+3))"},
        {reduce, "tree", 1, 1, 0, 0, "((1+2)+(0+3))"},
        {reduce, "ordered_tree", 1, 1, 0, 0, "((0+1)+(2+3))"},
        {reduce_scatter, "direct", 0, 1, 0, 1, "(((0+1)+2)+3)"},
        {reduce_scatter, "direct", 0, 2, 0, 2, "((0+(1+2))+3)"},
        {reduce_scatter, "pairwise", 0, 1, 0, 1, "(((0+1)+3)+2)"},
        {reduce_scatter, "ring", 0, 2, 0, 2, "(((0+3)+1)+2)"},
        {reduce_scatter, "halving", 0, 1, 0, 1, "((0+1)+(2+3))"},
        {scan, "doubling", 0, 3, 0, 0, "((0+1)+(2+3))"},
        {scan, "chain", 0, 3, 0, 0, "(((0+1)+2)+3)"},
        {exclusive_scan, "doubling", 0, 3, 0, 0, "(0+(1+2))"},
    };
    // Ranks 0 and 1 share a host, 2 and 3 another.
    const std::vector<int> numbers{0, 0, 1, 1};
    const host_map hosts(numbers);
    for (const row& each : rows) check(each, 4, hosts);
}

TEST_CASE("eight contributions are combined like four where halving twice begins to serve") {
    const std::string formula = "(((0+1)+(2+3))+((4+5)+(6+7)))";
    check({collective::all_reduce, "recursive_doubling", 0, 5, 0, 0, formula}, 8, {});
    check({collective::all_reduce, "halving_twice", 0, 5, 1, 1, formula}, 8, {});
}
