// Which message meets which receive, against a model that looks at one after the other; and that their number costs nothing.
#include "engine/matcher.hpp"
#include "support/seeds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <random>

using namespace tutti;

namespace {

message& receive_of(std::deque<message>& all, rank source, message_tag tag) {
    message& made = all.emplace_back();
    made.asked = probe_of(source, tag);
    made.call = all.size();
    return made;
}

/// The matcher beside two plain lists.
class rehearsal {
public:
    explicit rehearsal(std::uint64_t seed)
        : random_(seed),
          size_(1 + random_() % 6),
          tags_(1 + random_() % 40),
          matcher_(static_cast<int>(size_)) {}

    void run() {
        for (int turn = 0; turn < 3000; ++turn) {
            const auto kind = random_() % 16;
            if (kind < 5) arrive();
            else if (kind < 10) receive();
            else if (kind < 12) cancel();
            else if (kind < 14) take_back();
            else check();
            if (random_() % 1000 == 0) {
                matcher_.clear();
                posted_.clear();
                kept_.clear();
                taken_.clear();
            }
        }
    }

private:
    rank any_rank() { return static_cast<rank>(random_() % size_); }
    rank some_source() { return random_() % 3 == 0 ? any_source : any_rank(); }
    message_tag some_tag() { return random_() % 4 == 0 ? any_tag : random_() % tags_ * 0x1'0000'0001; }

    void arrive() {
        received what;
        what.source = any_rank();
        what.tag = random_() % tags_ * 0x1'0000'0001;
        const auto fits = [&](const message* each) { return each->asked.matches(what.source, what.tag); };
        const auto expected = std::find_if(posted_.begin(), posted_.end(), fits);
        message* const found = matcher_.claim(what.source, what.tag);
        REQUIRE(found == (expected == posted_.end() ? nullptr : *expected));
        if (found) posted_.erase(expected);
        else kept_.push_back(&matcher_.keep(what, ++number_, random_() % 30, matcher_.next_arrival()));
    }
    unexpected* expect(rank source, message_tag tag) {
        message_call asked = probe_of(source, tag);
        const auto fits = [&](const unexpected* each) { return asked.matches(each->what.source, each->what.tag); };
        const auto expected = std::find_if(kept_.begin(), kept_.end(), fits);
        unexpected* const found = matcher_.find(source, tag);
        REQUIRE(found == (expected == kept_.end() ? nullptr : *expected));
        return found;
    }
    void receive() {
        const rank source = some_source();
        const message_tag tag = some_tag();
        if (unexpected* const found = expect(source, tag)) {
            matcher_.take(*found);
            std::erase(kept_, found);
            if (random_() % 3 == 0) taken_.push_back(found);
            else matcher_.free(*found);
            return;
        }
        message& waiting = receive_of(calls_, source, tag);
        matcher_.reserve(1);
        matcher_.post(waiting);
        posted_.push_back(&waiting);
    }
    void cancel() {
        if (posted_.empty()) return;
        const auto which = posted_.begin() + static_cast<std::ptrdiff_t>(random_() % posted_.size());
        matcher_.withdraw(**which);
        posted_.erase(which);
    }
    /// A receive gives its message back, which takes its old place.
    void take_back() {
        if (taken_.empty()) return;
        unexpected* const one = taken_.back();
        taken_.pop_back();
        matcher_.put_back(*one);
        kept_.push_back(one);
        std::sort(kept_.begin(), kept_.end(), [](const unexpected* a, const unexpected* b) { return a->arrival < b->arrival; });
    }
    void check() {
        static_cast<void>(expect(some_source(), some_tag()));
        for (rank source = any_source; source < static_cast<rank>(size_); ++source) {
            const auto from = [source](const unexpected* each) { return source == any_source || each->what.source == source; };
            CHECK(matcher_.kept_messages(source) == static_cast<std::size_t>(std::count_if(kept_.begin(), kept_.end(), from)));
            const auto named = [source](const message* each) { return each->asked.peer == source; };
            const auto first = std::find_if(posted_.begin(), posted_.end(), named);
            CHECK(matcher_.waiting(source) == (first == posted_.end() ? nullptr : *first));
        }
    }

    std::mt19937_64 random_;
    const std::size_t size_;
    const std::size_t tags_;
    std::deque<message> calls_;
    matcher matcher_;
    std::vector<message*> posted_;
    std::vector<unexpected*> kept_;
    std::vector<unexpected*> taken_;
    std::uint64_t number_ = 0;
};

}  // namespace

TEST_CASE("messages and receives meet as a model says that looks at one after the other") {
    for (std::uint64_t seed = 0; seed < test::seeds(30); ++seed) {
        CAPTURE(seed);
        rehearsal(seed).run();
    }
}

TEST_CASE("200,000 open receives, and as many messages, are matched without looking at all of them") {
    // Looked at one after the other they would take minutes.
    constexpr message_tag tags = 200'000;
    matcher both(2);
    std::deque<message> calls;
    for (message_tag tag = 0; tag < tags; ++tag) {
        message& waiting = receive_of(calls, 1, tag);
        both.reserve(1);
        both.post(waiting);
    }
    for (message_tag tag = tags; tag-- > 0;) REQUIRE(both.claim(1, tag) == &calls[tag]);
    CHECK(both.waiting(1) == nullptr);
    for (message_tag tag = 0; tag < tags; ++tag) both.keep({1, tag, 0, data_type::f32}, tag, 0, both.next_arrival());
    for (message_tag tag = tags; tag-- > 0;) {
        unexpected* const found = both.find(tag % 2 == 0 ? 1 : any_source, tag);
        REQUIRE(found);
        REQUIRE(found->number == tag);
        both.take(*found);
        both.free(*found);
    }
    CHECK(both.find(any_source, any_tag) == nullptr);
}
