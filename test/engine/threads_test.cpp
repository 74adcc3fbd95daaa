// Bulk lanes on several threads: results are the same, and a caller that ends an operation finds its memory untouched afterwards.
#include "engine/crew.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <random>
#include <thread>

using namespace tutti;
using test::asking;
using test::crew;
using test::end_of;
using test::lanes_of_bulk;

namespace {

/// A moment in the middle of what other threads do.
void let_work(std::uint64_t some) {
    for (std::uint64_t turn = some % 300; turn > 0; --turn) std::this_thread::yield();
}

/// Calls of all ranks, or of the first of them, with memory of their own, some of them under way.
struct long_sums {
    long_sums(crew& with, std::size_t count, int calls) : long_sums(with, count, calls, with.size()) {}
    long_sums(crew& with, std::size_t count, int calls, int callers) : memory(static_cast<std::size_t>(callers)) {
        for (rank me = 0; me < callers; ++me)
            for (int index = 0; index < calls; ++index) {
                auto& data = memory[static_cast<std::size_t>(me)].emplace_back(std::make_unique<std::vector<float>>(count, 1.0f));
                ends.push_back(with[me].issue(asking(collective::all_reduce, *data)));
            }
    }
    std::vector<std::vector<std::unique_ptr<std::vector<float>>>> memory;
    std::vector<future<>> ends;  // rank after rank
};

struct spreading {
    int lanes, threads;
};
constexpr spreading all_spreadings[] = {{1, 3}, {2, 1}, {2, 2}, {3, 2}, {3, 3}, {8, 3}};

template <class Body>
void on_each(int seeds, Body body) {
    for (const spreading& how : all_spreadings)
        for (int seed = 1; seed <= seeds; ++seed) {
            CAPTURE(how.lanes);
            CAPTURE(how.threads);
            CAPTURE(seed);
            std::mt19937_64 random{static_cast<std::uint64_t>(seed)};
            body(how, random);
        }
}

}  // namespace

TEST_CASE("operations over lanes on several threads are right, one after the other and at once") {
    on_each(6, [](spreading how, std::mt19937_64& random) {
        const int size = 2 + static_cast<int>(random() % 3);
        crew all(size, lanes_of_bulk(how.lanes, std::size_t{64} << random() % 8), how.threads, std::size_t{1} << (8 + random() % 10));
        const bool at_once = random() % 2 == 0;
        constexpr collective kinds[] = {collective::all_reduce, collective::broadcast, collective::scan};
        std::vector<std::vector<std::int32_t>> data;
        for (int index = 0; index < 12; ++index) {
            const std::size_t count = random() % 20'000;
            for (rank me = 0; me < size; ++me) data.emplace_back(count, index + me);
        }
        std::vector<future<>> ends;
        for (std::size_t index = 0; index < data.size(); ++index) {
            const std::size_t operation = index / static_cast<std::size_t>(size);
            ends.push_back(all[static_cast<rank>(index % static_cast<std::size_t>(size))].issue(asking(kinds[operation % 3], data[index])));
            if (at_once || ends.size() % static_cast<std::size_t>(size) != 0) continue;
            for (auto& each : ends) CHECK(!end_of(each).code);
            ends.clear();
        }
        for (auto& each : ends) CHECK(!end_of(each).code);
        for (std::size_t index = 0; index < data.size(); ++index) {
            const int operation = static_cast<int>(index) / size, me = static_cast<int>(index) % size;
            const int sum_of = operation % 3 == 0 ? size : me + 1;  // of how many ranks
            const int result = operation % 3 == 1 ? operation : sum_of * operation + sum_of * (sum_of - 1) / 2;
            CHECK(data[index] == std::vector<std::int32_t>(data[index].size(), result));
        }
    });
}

TEST_CASE("sums of fractions have the same bits over however many lanes and threads") {
    std::vector<float> first;
    on_each(3, [&first](spreading how, std::mt19937_64& random) {
        crew all(3, lanes_of_bulk(how.lanes, 1000), how.threads, std::size_t{1} << (9 + random() % 9));
        std::mt19937_64 fractions{99};
        std::vector<std::vector<float>> data(3, std::vector<float>(30'000));
        for (auto& rank_data : data)
            for (float& each : rank_data) each = std::uniform_real_distribution<float>(-1, 1)(fractions);
        std::vector<future<>> ends;
        for (rank me = 0; me < 3; ++me) ends.push_back(all[me].issue(asking(collective::all_reduce, data[static_cast<std::size_t>(me)], avg)));
        for (auto& each : ends) CHECK(!end_of(each).code);
        if (first.empty()) first = data[0];
        for (const auto& each : data) CHECK(each == first);
    });
}

TEST_CASE("a dropped future lets go of memory at which other threads work") {
    on_each(12, [](spreading how, std::mt19937_64& random) {
        engine_settings settings = lanes_of_bulk(how.lanes, 32 * KiB);
        settings.forced = {find(collective::all_reduce, "ring")};  // half of what it receives lands in the caller's memory
        crew all(2, settings, how.threads);
        all.slow_down();
        for (long_sums first(all, 10, 1); auto& each : first.ends) CHECK(!end_of(each).code);  // lanes are there from now on
        long_sums sums(all, 50'000, 2);
        let_work(random());
        const std::size_t which = random() % 2;
        { const auto gone = std::move(sums.ends[which]); }
        // Only its own memory is free: over several lanes it may have ended, first or second, while the other one is under way.
        std::unique_ptr<std::vector<float>>& mine = sums.memory[0][which];
        std::fill(mine->begin(), mine->end(), 77.0f);
        let_work(random());
        CHECK(*mine == std::vector<float>(mine->size(), 77.0f));
        mine.reset();
        for (const std::size_t left : {1 - which, std::size_t{2}, std::size_t{3}}) {
            const report told = end_of(sums.ends[left]);
            CHECK((!told.code || told.code == error::cancelled || (left > 1 && told.code == error::peer_died)));
        }
    });
}

TEST_CASE("cancelling, failing and shutting down end what other threads work at") {
    struct row {
        const char* what;
        error code;
        void (*end)(crew&, long_sums&);
    };
    const row rows[] = {
        {"cancelled", error::cancelled, [](crew&, long_sums& sums) { sums.ends[0].cancel(); }},
        {"failed by another thread", error::aborted,
         [](crew& all, long_sums&) {
             report why;
             why.code = error::aborted;
             all[0].engine().fail_and_tell(why);
         }},
        {"dropped", error::aborted, [](crew& all, long_sums&) { all[0].engine().drop(); }},
        {"shut down", error::closed, [](crew& all, long_sums&) { all[0].shut_down(); }},
    };
    for (const row& each : rows) {
        CAPTURE(each.what);
        int ended_early = 0;
        on_each(6, [&](spreading how, std::mt19937_64& random) {
            crew all(3, lanes_of_bulk(how.lanes, 16 * KiB), how.threads, 64 * KiB);
            all.slow_down();
            long_sums sums(all, 30'000, 2, random() % 3 == 0 ? 2 : 3);  // while one rank has not called, no operation can end
            let_work(random());
            each.end(all, sums);
            bool failed = false;
            for (std::size_t index = 0; index < sums.ends.size(); ++index) {
                const report told = end_of(sums.ends[index]);
                failed |= told.code == each.code;
                // Others may lose their links to rank 0 before they hear why; when it shuts down, it may hear of that.
                const bool lost = told.code == error::peer_died && (index > 1 || each.code == error::closed);
                CHECK((!told.code || told.code == each.code || lost));
            }
            for (auto& memory : sums.memory)
                for (auto& data : memory) std::fill(data->begin(), data->end(), 77.0f);
            if (!failed) return;
            ++ended_early;
            let_work(random());
            for (auto& memory : sums.memory)
                for (auto& data : memory) CHECK(*data == std::vector<float>(data->size(), 77.0f));
        });
        CHECK(ended_early > 0);
    }
}

TEST_CASE("a rank may leave when its data is on its way, over lanes on other threads too") {
    on_each(6, [](spreading how, std::mt19937_64& random) {
        crew all(2, lanes_of_bulk(how.lanes, 1000), how.threads, 1 * MiB);
        std::vector<float> data[3] = {std::vector<float>(50'000, 1), std::vector<float>(50'000, 2), std::vector<float>(50'000, 3)};
        auto sent = all[0].issue(asking(collective::broadcast, data[0]));
        auto came = all[1].issue(asking(collective::broadcast, data[1]));
        CHECK(!end_of(sent).code);
        while (!all[0].idle()) std::this_thread::yield();
        all[0].say_goodbye();
        all[0].shut_down();
        CHECK(!end_of(came).code);
        CHECK(data[1] == data[0]);
        let_work(random());
        auto never = all[1].issue(asking(collective::broadcast, data[2]));
        CHECK(end_of(never).code == error::peer_left);
    });
}

TEST_CASE("a user's operator is called by one thread at a time, and what it throws fails the communicator") {
    static std::atomic<int> inside{0}, most{0};
    static std::atomic<long> calls{0};
    static const custom_op<std::int32_t> alone("alone", commutes::yes, [](const std::int32_t& one, const std::int32_t& other) {
        int now = ++inside, before = most;
        while (now > before && !most.compare_exchange_weak(before, now)) {}
        if (++calls == 1'000'000) throw std::runtime_error("the millionth");
        --inside;
        return one + other;
    });
    for (const spreading how : {spreading{2, 2}, spreading{3, 3}}) {
        inside = most = 0;
        calls = 0;
        crew all(2, lanes_of_bulk(how.lanes, 8 * KiB), how.threads);
        std::vector<std::int32_t> data[2] = {std::vector<std::int32_t>(200'000, 1), std::vector<std::int32_t>(200'000, 2)};
        std::vector<future<>> ends;
        // One rank combines, so the threads that are inside at once are of one communicator.
        for (int turn = 0; turn < 3; ++turn) {
            for (const rank me : {0, 1}) {
                request what = asking(collective::reduce, data[me], alone);
                what.input = me == 1 ? data[1].data() : nullptr;
                what.output = me == 0 ? data[0].data() : nullptr;
                ends.push_back(all[me].issue(what));
            }
        }
        for (auto& each : ends) CHECK(!end_of(each).code);
        CHECK(most == 1);
        CHECK(data[0] == std::vector<std::int32_t>(200'000, 7));
        calls = 900'000;
        ends.clear();
        for (const rank me : {0, 1}) {
            request what = asking(collective::reduce, data[me], alone);
            what.input = me == 1 ? data[1].data() : nullptr;
            what.output = me == 0 ? data[0].data() : nullptr;
            ends.push_back(all[me].issue(what));
        }
        const report told = end_of(ends[0]);
        CHECK(told.code == error::aborted);
        CHECK(told.cause.find("operator 'alone' threw on rank 0") == 0);
    }
}
