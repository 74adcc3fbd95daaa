// Random messages against a model of a few lines: what each receive must get when everything has arrived before the next call.
#include "engine/table.hpp"
#include "support/seeds.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <list>
#include <random>

using namespace tutti;
using test::why;

namespace {

struct call {
    std::vector<int> memory;
    received expected;  // of a receive: source -1 while the model has no message for it
    int id = 0;         // what every element of its message must be
    future<> sent;
    future<received> got;
};

/// One rank's messages and receives that have not met.
struct shelf {
    struct waiting_message {
        received what;
        int id;
    };
    struct waiting_receive {
        rank source;
        message_tag tag;
        call* which;
    };
    std::list<waiting_message> messages;
    std::list<waiting_receive> receives;

    static bool fit(rank source, message_tag tag, const received& what) {
        return (source == any_source || source == what.source) && (tag == any_tag || tag == what.tag);
    }
    const waiting_message* find(rank source, message_tag tag) const {
        for (const auto& each : messages)
            if (fit(source, tag, each.what)) return &each;
        return nullptr;
    }
    void send(const received& what, int id) {
        for (auto each = receives.begin(); each != receives.end(); ++each) {
            if (!fit(each->source, each->tag, what)) continue;
            each->which->expected = what;
            each->which->id = id;
            receives.erase(each);
            return;
        }
        messages.push_back({what, id});
    }
    void recv(rank source, message_tag tag, call& which) {
        for (auto each = messages.begin(); each != messages.end(); ++each) {
            if (!fit(source, tag, each->what)) continue;
            which.expected = each->what;
            which.id = each->id;
            messages.erase(each);
            return;
        }
        receives.push_back({source, tag, &which});
    }
};

class comparison {
public:
    explicit comparison(std::uint64_t seed) : random_(seed), size_(1 + static_cast<int>(random_() % 5)), table_(size_, settings(), 64 + random_() % 2000), shelves_(static_cast<std::size_t>(size_)) {}

    void run() {
        for (int turn = 0; turn < 400; ++turn) {
            step();
            table_.settle();
            check();
        }
        drain();
    }

private:
    engine_settings settings() {
        engine_settings made;
        made.slice_bytes = 16 + random_() % 1000;
        made.messages.eager_bytes = random_() % 200;
        made.messages.kept_bytes = random_() % 1000;
        return made;
    }
    rank any_rank() { return static_cast<rank>(random_() % static_cast<std::uint64_t>(size_)); }
    rank some_source() { return random_() % 3 == 0 ? any_source : any_rank(); }
    message_tag some_tag() { return random_() % 4 == 0 ? any_tag : random_() % 3; }
    shelf& at(rank who) { return shelves_[static_cast<std::size_t>(who)]; }

    void step() {
        const rank me = any_rank(), source = some_source();
        const message_tag tag = some_tag();
        const auto kind = random_() % 10;
        if (kind < 5) {
            send(me, any_rank(), random_() % 3);
        } else if (kind < 8) {
            recv(me, source, tag);
        } else {
            const auto seen = table_[me].try_probe(source, tag);
            const auto* there = at(me).find(source, tag);
            REQUIRE(seen.has_value() == (there != nullptr));
            if (seen) CHECK(*seen == there->what);
            if (kind == 9) try_recv(me, source, tag);
        }
    }
    void send(rank from, rank to, message_tag tag) {
        const std::size_t count = random_() % 4 == 0 ? random_() % 400 : random_() % 6;
        call& made = calls_.emplace_back();
        made.memory.assign(count, ++ids_);
        at(to).send({from, tag, count, data_type::i32}, ids_);
        made.sent = table_[from].send(made.memory, to, tag);
    }
    void recv(rank me, rank source, message_tag tag) {
        call& made = calls_.emplace_back();
        made.memory.assign(400, 0);
        at(me).recv(source, tag, made);
        made.got = table_[me].recv(made.memory, source, tag);
    }
    void try_recv(rank me, rank source, message_tag tag) {
        call& made = calls_.emplace_back();
        made.memory.assign(400, 0);
        auto taken = table_[me].try_recv(made.memory, source, tag);
        if (taken) {
            at(me).recv(source, tag, made);
            made.got = std::move(*taken);
        }
    }
    /// Receives that have a message have ended with it; the others wait.
    void check() {
        for (call& each : calls_) {
            if (!each.got.valid()) continue;
            const bool matched = each.expected.source >= 0;
            REQUIRE(each.got.ready() == matched);
            if (!matched) continue;
            REQUIRE(each.got.get() == each.expected);
            for (std::size_t index = 0; index < 400; ++index) REQUIRE(each.memory[index] == (index < each.expected.count ? each.id : 0));
        }
    }
    void drain() {
        for (rank me = 0; me < size_; ++me) {
            while (!at(me).messages.empty()) recv(me, any_source, any_tag);
            while (!at(me).receives.empty()) {
                const auto& next = at(me).receives.front();
                send(next.source == any_source ? any_rank() : next.source, me, next.tag == any_tag ? 9 : next.tag);
            }
        }
        table_.settle();
        check();
        for (call& each : calls_)
            if (each.sent.valid()) REQUIRE(!why(each.sent).code);
    }

    std::mt19937_64 random_;
    const int size_;
    test::table table_;
    std::vector<shelf> shelves_;
    std::deque<call> calls_;
    int ids_ = 0;
};

}  // namespace

TEST_CASE("random messages are matched as the model says") {
    for (std::uint64_t seed = 0; seed < test::seeds(20); ++seed) {
        CAPTURE(seed);
        comparison(seed).run();
    }
}
