// Real communicators against the serial oracle, with every algorithm forced in its turn.
#include "product.hpp"

#include "communicator/rehearsal.hpp"
#include "group/context_state.hpp"
#include "group/group.hpp"
#include "support/ranks.hpp"
#include "support/sanitizers.hpp"

#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>

using namespace tutti;
using test::sample_case;

namespace {

/// The work of one group of ranks, one case after the other.
class series {
public:
    series(std::span<const sample_case> cases) : cases_(cases) {}

    std::span<const sample_case> cases() const noexcept { return cases_; }
    /// Made by the rank that comes first, and gone when no rank needs it any more.
    std::shared_ptr<const test::programme::entry> entry(std::size_t index) {
        if (index == held_index_ && held_) return held_;
        const sample_case& one = cases_[index];
        test::call what{one.what().entry->kind, one.what().type, one.what().op, 0, one.count(), one.what().opaque_bytes};
        if (has_root(what.kind)) what.root = static_cast<rank>((index + one.count()) % static_cast<std::size_t>(one.size()));
        held_ = std::make_shared<test::programme::entry>(what, one.size(), index + 1, one.where() == test::place::in_place);
        held_index_ = index;
        return held_;
    }

private:
    std::span<const sample_case> cases_;
    std::shared_ptr<const test::programme::entry> held_;
    std::size_t held_index_ = 0;
};

task<> play(communicator& world, series& all) {
    for (std::size_t index = 0; index < all.cases().size(); ++index) {
        const std::shared_ptr<const test::programme::entry> one = all.entry(index);
        test::part mine(world, one->what, one->truth, one->in_place);
        auto begun = mine.begin();
        co_await std::move(begun);
        const std::string text = all.cases()[index].text();
        CAPTURE(text);  // not while others go on, who capture, too
        test::check(*one, mine);
    }
}

/// Joins, and sees to it that the algorithm is the one that was asked for.
task<> one_rank(context& home, rank me, int size, std::shared_ptr<store> meeting, const algorithm& forced, series& all) {
    const auto body = [&](communicator& world) {
        const algorithm& chosen = home.inner().groups().back()->engine().chosen(forced.kind, 0);
        REQUIRE(&chosen == &forced);
        return play(world, all);
    };
    const test::rank_body playing = body;
    auto work = test::detail::one_rank(home, me, size, std::move(meeting), playing);
    co_await std::move(work);
}

void run_series(std::span<const sample_case> cases) {
    const sample_case& first = cases.front();
    const algorithm& forced = *first.what().entry;
    context_options options;
    options.slice_bytes = first.slice_bytes();
    options.small_bytes = first.lane().small_bytes;
    options.lanes = first.lane().bulk;
    options.threads = first.lane().threads;
    const bool own_threads = options.threads > 1;  // which run in real time, over shared memory and sockets
    series all(cases);
    std::optional<event_loop> loop;
    if (own_threads) loop.emplace();
    else loop.emplace(event_loop::virtual_time);
    memory_network network;
    memory_table table;
    std::vector<std::unique_ptr<context>> homes;
    std::vector<task<>> ranks;
    for (rank me = 0; me < first.size(); ++me) {
        options.host = test::host_of(forced, me);
        homes.push_back(own_threads ? std::make_unique<context>(options)
                                    : std::make_unique<context>(*loop, std::make_unique<memory_transport>(*loop, network), options));
        homes.back()->inner().force({&forced});
        ranks.push_back(one_rank(*homes.back(), me, first.size(), memory_store(table), forced, all));
    }
    run(*loop, when_all(std::move(ranks)));
}

bool asked_for(std::string_view what) {
    const char* const said = std::getenv("TUTTI_TEST_PROPERTY");
    return said && said == what;
}

}  // namespace

TEST_CASE("every algorithm gives the serial result with every type, operator, size, count, memory, lane and slice" *
          doctest::timeout(3600)) {
    std::vector<sample_case> cases = asked_for("all") ? test::whole_product() : test::covering_sample();
    if (asked_for("threads")) std::erase_if(cases, [](const sample_case& each) { return each.lane().threads == 1; });
    std::size_t row = 0;
    if (test::sanitized && !asked_for("all")) std::erase_if(cases, [&](const sample_case&) { return row++ % 5 != 0; });
    CHECK(cases.size() > 0);
    std::stable_sort(cases.begin(), cases.end(),
                     [](const sample_case& one, const sample_case& other) { return one.group() < other.group(); });
    const auto began = std::chrono::steady_clock::now();
    std::size_t groups = 0;
    for (std::size_t first = 0, next; first < cases.size(); first = next, ++groups) {
        for (next = first; next < cases.size() && cases[next].group() == cases[first].group();) ++next;
        run_series(std::span(cases).subspan(first, next - first));
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    MESSAGE(cases.size(), " cases of ", test::subjects().size(), " subjects in ", groups, " groups of ranks, in ", took.count(), " s");
}
