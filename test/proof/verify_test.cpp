#include "proof/verify.hpp"

#include <doctest/doctest.h>

#include <string_view>

using namespace tutti;

namespace {

// All ranks end with the combination of all first blocks. With `blocks`, more of them.
contract sum_everywhere(int size, int parts = 1, int inputs = 0) {
    contract promise;
    promise.spaces = {.input = inputs, .output = parts};
    for (rank me = 0; me < size; ++me) {
        terms mine;
        for (int k = 0; k < parts; ++k) {
            mine.begins.push_back({output(k), {me, k}});
            mine.ends.push_back({output(k), {every_rank, k}});
        }
        for (int k = 0; k < inputs; ++k) mine.begins.push_back({input(k), {me, k}});
        promise.ranks.push_back(mine);
    }
    return promise;
}

using rounds = std::vector<std::vector<step>>;

schedule plan_of(const rounds& all, shape spaces) {
    schedule plan(spaces);
    for (const auto& round : all) {
        for (const step& line : round) plan.add(line);
        plan.end_round();
    }
    return plan;
}

struct sample {
    std::string_view what;
    std::vector<rounds> plans;
    flaw expected;
    std::string_view why;
    shape spaces = {.output = 1};
};

}  // namespace

TEST_CASE("each flaw is told from the others and named with its place") {
    const std::vector<sample> samples = {
        {"an exchange", {{{send(1, output(0)), recv_reduce(1, output(0))}}, {{send(0, output(0)), recv_reduce(0, output(0))}}}, flaw::none, ""},
        {"unknown peer", {{{send(2, output(0))}}, {}}, flaw::bad_step, "rank 0, round 0: send to 2 output[0]: no such peer"},
        {"itself", {{}, {{send(1, output(0))}}}, flaw::bad_step, "rank 1, round 0: send to 1 output[0]: no such peer"},
        {"unknown block", {{{send(1, output(1))}}, {}}, flaw::bad_step, "rank 0, round 0: send to 1 output[1]: no such block"},
        {"no block at all", {{{send(1, output(0, 0))}}, {}}, flaw::bad_step, "rank 0, round 0: send to 1 output[0..0): no such block"},
        {"writing input", {{{recv(1, input(0))}}, {{send(0, input(0))}}}, flaw::input_written,
         "rank 0, round 0: recv from 1 input[0] writes to input", {.input = 1, .output = 1}},
        {"recv under a send", {{{send(1, output(0)), recv(1, output(0))}}, {{send(0, output(0)), recv_reduce(0, output(0))}}}, flaw::race,
         "rank 0, round 0: recv from 1 output[0] and send to 1 output[0] touch the same block at the same time"},
        {"copy onto itself", {{{copy(output(0, 2), output(1, 2))}}, {}}, flaw::race,
         "rank 0, round 0: copy output[1..3) to output[0..2) overlaps itself", {.output = 3}},
        {"send alone", {{{send(1, output(0))}}, {}}, flaw::orphan, "rank 0, round 0: send to 1 output[0] is never received"},
        {"recv alone", {{}, {{recv(0, output(0))}}}, flaw::orphan, "rank 1, round 0: recv from 0 output[0] is never sent"},
        {"two for one", {{{send(1, output(0, 2))}}, {{recv(0, output(0))}}}, flaw::size_mismatch,
         "rank 0, round 0: send to 1 output[0..2) meets rank 1's recv from 0 output[0], of another size", {.output = 2}},
        {"another block", {{{send(1, output(0))}}, {{recv(0, output(1))}}}, flaw::size_mismatch,
         "rank 0, round 0: send to 1 output[0] meets rank 1's recv from 0 output[1], of another size", {.output = 2}},
        {"one round here, two there", {{{send(1, output(0)), send(1, output(1))}}, {{recv_reduce(0, output(0))}, {recv_reduce(0, output(1))}}},
         flaw::split_round, "rank 0, round 0: send to 1 output[1] shares its round with the transfer before on one side only", {.output = 2}},
        {"both send first", {{{send(1, output(0))}, {recv_reduce(1, output(0))}}, {{send(0, output(0))}, {recv_reduce(0, output(0))}}},
         flaw::deadlock, "rank 0 waits for ever in round 0; send to 1 output[0], which stands at round 0"},
        {"sending what nobody wrote", {{{send(1, scratch(0))}}, {{recv(0, scratch(0))}}}, flaw::unwritten_read,
         "rank 0, round 0: send to 1 scratch[0] reads scratch[0] before anything is written to it", {.output = 1, .scratch = 1}},
        {"nothing done", {{}, {}}, flaw::wrong_result, "rank 0 ends with output[0] = 0, expected part 0 of every rank"},
        {"overwritten instead of added", {{{send(1, output(0))}, {recv(1, output(0))}}, {{recv(0, output(0))}, {send(0, output(0))}}},
         flaw::wrong_result, "rank 0 ends with output[0] = 0, expected part 0 of every rank"},
        {"added twice",
         {{{send(1, output(0)), recv_reduce(1, output(0))}, {send(1, output(0)), recv_reduce(1, output(0))}},
          {{send(0, output(0)), recv_reduce(0, output(0))}, {send(0, output(0)), recv_reduce(0, output(0))}}},
         flaw::wrong_result, "rank 0 ends with output[0] = ((0+1)+(0+1)), expected part 0 of every rank"},
        {"another order",
         {{{send(1, output(0)), send(2, output(0)), recv_reduce(1, output(0)), recv_reduce(2, output(0))}},
          {{send(0, output(0)), send(2, output(0)), recv_reduce(2, output(0)), recv_reduce(0, output(0))}},
          {{send(0, output(0)), send(1, output(0)), recv_reduce(0, output(0)), recv_reduce(1, output(0))}}},
         flaw::different_order, "rank 1 ends with output[0] = (0+(1+2)), another rank with ((0+1)+2)"},
    };
    for (const sample& one : samples) {
        CAPTURE(one.what);
        std::vector<schedule> plans;
        for (const rounds& all : one.plans) plans.push_back(plan_of(all, one.spaces));
        const verdict found = verify(plans, sum_everywhere(static_cast<int>(plans.size()), one.spaces.output, one.spaces.input));
        CHECK(name(found.what) == name(one.expected));
        CHECK(found.why == one.why);
    }
}

TEST_CASE("what is the rank's own is not read in the input once it may have been overwritten in the output") {
    schedule idle({.input = 1, .output = 1, .scratch = 1}), late = idle, meanwhile = idle, kept = idle, taken = idle;
    late.round(recv(1, output(0)));
    late.round(send(1, input(0)));
    meanwhile.round(send(1, input(0)), recv_reduce(1, output(0)));
    kept.round(copy(scratch(0), input(0)), recv_reduce(1, output(0)));
    taken.round(copy(output(0), input(0)), send(1, input(0)));
    taken.round(copy(output(0), input(0)), recv_reduce(1, output(0)));
    const auto why = [&idle](const schedule& plan) {
        const verdict found = verify(std::vector{plan, idle}, sum_everywhere(2, 1, 1));
        CHECK((found.what == flaw::race) == (found.why.find("may have written") != std::string::npos));
        return found.why;
    };
    CHECK(why(late) == "rank 0, round 1: send to 1 input[0] reads what recv from 1 output[0] may have written");
    CHECK(why(meanwhile) == "rank 0, round 0: send to 1 input[0] reads what recv_reduce from 1 output[0] may have written");
    CHECK(why(kept) == "rank 0, round 0: copy input[0] to scratch[0] reads what recv_reduce from 1 output[0] may have written");
    CHECK(why(taken).find("may have written") == std::string::npos);  // to copy it there changes nothing
    schedule again = idle, over = idle, answered = idle;
    again.round(recv_reduce(1, output(0)));
    again.round(copy(output(0), input(0)));
    over.round(recv_reduce(1, output(0)), copy(output(0), input(0)));
    answered.round(send(1, output(0)));
    answered.round(send(1, input(0)));
    answered.round(recv(1, output(0)));
    CHECK(why(again) == "rank 0, round 1: copy input[0] to output[0] reads what recv_reduce from 1 output[0] may have written");
    CHECK(why(over) == "rank 0, round 0: copy input[0] to output[0] reads what recv_reduce from 1 output[0] may have written");
    CHECK(why(answered) == "rank 0, round 1: send to 1 input[0] reads what send to 1 output[0] may have written");
    schedule parts({.input = 2, .output = 1});
    parts.round(recv_reduce(1, output(0)));
    parts.round(send(1, input(1)));
    CHECK(why(parts).find("may have written") == std::string::npos);  // the other's part is not in the output
}

TEST_CASE("plans whose spaces are not the collective's are bad, and so is a missing plan") {
    const schedule right({.output = 1}), wrong({.output = 2});
    CHECK(verify(std::vector{right, wrong}, sum_everywhere(2)).what == flaw::bad_step);
    CHECK(verify(std::vector{right}, sum_everywhere(2)).what == flaw::bad_step);
}

TEST_CASE("reductions and copies of a round are applied in the order of its steps, after its transfers") {
    // Rank 1 saves what it had, then adds, then throws the sum away; or saves the sum.
    const auto plans = [](step first, step second) {
        schedule sender({.output = 1, .scratch = 1}), receiver({.output = 1, .scratch = 1});
        sender.round(send(1, output(0)), recv_reduce(1, output(0)));
        receiver.round(send(0, output(0)), first, second);
        receiver.round(copy(output(0), scratch(0)));
        return std::vector{sender, receiver};
    };
    const step add = recv_reduce(0, output(0)), save = copy(scratch(0), output(0));
    contract promise = sum_everywhere(2);
    promise.equal_blocks = true;
    CHECK(verify(plans(add, save), promise).correct());
    CHECK(verify(plans(save, add), promise).what == flaw::wrong_result);
}

TEST_CASE("unequal blocks may only meet blocks of the same number, equal ones any") {
    contract promise;
    promise.spaces = {.output = 2};
    promise.ranks = {{{{output(0), {0, 0}}, {output(1), {0, 1}}}, {}}, {{}, {{output(1), {0, 0}}}}};
    schedule sender({.output = 2}), receiver({.output = 2});
    sender.round(send(1, output(0)));
    receiver.round(recv(0, output(1)));
    const std::vector plans{sender, receiver};
    CHECK(verify(plans, promise).what == flaw::size_mismatch);
    promise.equal_blocks = true;
    CHECK(verify(plans, promise).correct());
}

TEST_CASE("blocks of given sizes may meet where the sizes are equal, whatever their numbers") {
    contract promise;
    promise.spaces = {.input = 2, .output = 1};
    promise.ranks = {{{{input(0), {0, 0}}, {input(1), {0, 1}}}, {}, {7, 8, 7}}, {{{input(0), {1, 0}}}, {{output(0), {0, 1}}}, {7, 8, 8}}};
    const auto plans = [](blocks sent, blocks received) {
        schedule sender({.input = 2, .output = 1, .scratch = 2}), receiver({.input = 2, .output = 1, .scratch = 2});
        sender.round(send(1, sent));
        receiver.round(recv(0, received));
        return std::vector{sender, receiver};
    };
    CHECK(verify(plans(input(1), output(0)), promise).correct());
    CHECK(verify(plans(input(0), output(0)), promise).what == flaw::size_mismatch);
    // Scratch has the sizes of the input, and so many blocks at most.
    CHECK(verify(plans(input(0, 2), scratch(0, 2)), promise).what == flaw::wrong_result);  // it comes, and is of no use
    CHECK(verify(plans(input(0), scratch(1)), promise).what == flaw::size_mismatch);
    CHECK(verify(std::vector(2, schedule({.input = 2, .output = 1, .scratch = 3})), promise).what == flaw::bad_step);
    schedule copies({.input = 2, .output = 1});
    copies.round(copy(output(0), input(0)));
    CHECK(verify(std::vector{schedule({.input = 2, .output = 1}), copies}, promise).what == flaw::size_mismatch);
}

TEST_CASE("a prefix holds the contributions of the first ranks, each once") {
    contract promise;
    promise.spaces = {.output = 1};
    for (rank me = 0; me < 3; ++me) promise.ranks.push_back({{{output(0), {me, 0}}}, {{output(0), {first_ranks(me + 1), 0}}}});
    std::vector<schedule> plans(3, schedule({.output = 1}));
    plans[0].round(send(1, output(0)));
    plans[1].round(recv_reduce(0, output(0)));
    plans[1].round(send(2, output(0)));
    plans[2].round(recv_reduce(1, output(0)));
    CHECK(verify(plans, promise).correct());
    promise.ranks[1].ends[0].what.owner = first_ranks(3);
    const verdict found = verify(plans, promise);
    CHECK(found.what == flaw::wrong_result);
    CHECK(found.why.find("expected part 0 of the first 3 ranks") != std::string::npos);
}

TEST_CASE("slices wait for each other as rounds do") {
    schedule mine({.output = 1}), theirs({.output = 1});
    mine.round(send(1, output(0)), recv_reduce(1, output(0)));
    theirs.round(send(0, output(0)), recv_reduce(0, output(0)));
    for (std::uint32_t seed = 1; seed <= 20; ++seed) CHECK(verify_sliced(std::vector{mine, theirs}, sum_everywhere(2), {.slices = 3}, seed).correct());

    schedule first({.output = 1}), second({.output = 1});
    first.round(send(1, output(0)));
    first.round(recv_reduce(1, output(0)));
    second.round(send(0, output(0)));
    second.round(recv_reduce(0, output(0)));
    const verdict found = verify_sliced(std::vector{first, second}, sum_everywhere(2), {.slices = 2}, 1);
    CHECK(found.what == flaw::deadlock);
    CHECK(found.why == "rank 0 waits for ever in round 0, slice 0; send to 1 output[0], which stands at round 0");
}

TEST_CASE("where memory is lent a rank that waits for all that it adds up must not keep another from sending its part") {
    // Rank 2 gives its part to rank 1 when it has heard from rank 0, which speaks when it has its memory back.
    schedule first({.output = 1}), sums({.output = 1}), last({.output = 1});
    first.round(send(1, output(0)));
    first.round(send(2, output(0)));
    sums.round(recv_reduce(0, output(0)), recv_reduce(2, output(0)));
    last.round(recv_reduce(0, output(0)));
    last.round(send(1, output(0)));
    contract promise = sum_everywhere(3);
    promise.repeats_allowed = true;
    promise.ranks[0].ends.clear();
    promise.ranks[2].ends.clear();
    const std::vector plans{first, sums, last};
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        CHECK(verify_sliced(plans, promise, {.slices = 2}, seed).correct());
        CHECK(verify_sliced(plans, promise, {.slices = 2, .lent = true}, seed).what == flaw::deadlock);
    }
}

TEST_CASE("a sum in another order than that of ranks is right, unless the contract asks for that order") {
    // Rank 0 adds rank 2 before rank 1.
    schedule centre({.output = 1}), leaf({.output = 1});
    centre.round(recv_reduce(2, output(0)), recv_reduce(1, output(0)));
    leaf.round(send(0, output(0)));
    contract promise = sum_everywhere(3);
    promise.ranks[1].ends.clear();
    promise.ranks[2].ends.clear();
    CHECK(verify(std::vector{centre, leaf, leaf}, promise).correct());
    promise.ordered = true;
    const verdict found = verify(std::vector{centre, leaf, leaf}, promise);
    CHECK(found.what == flaw::not_in_order);
    CHECK(found.why == "rank 0 ends with output[0] = ((0+2)+1), which is not the order of ranks");
}

TEST_CASE("a sum over the first ranks counts for the order of ranks, too") {
    // Rank 2 adds what rank 0 sends to its own, and then what rank 1 sends.
    schedule first({.input = 1, .output = 1}), second = first, third = first;
    first.round(copy(output(0), input(0)), send(2, input(0)));
    second.round(copy(output(0), input(0)), send(2, input(0)));
    third.round(copy(output(0), input(0)));
    third.round(recv_reduce(0, output(0)));
    third.round(recv_reduce(1, output(0)));
    contract promise = sum_everywhere(3);
    promise.spaces = {.input = 1, .output = 1};
    for (rank each = 0; each < 3; ++each) {
        terms& one = promise.ranks[static_cast<std::size_t>(each)];
        one.begins = {{input(0), {each, 0}}};
        one.ends.clear();
    }
    promise.ranks[2].ends = {{output(0), {first_ranks(3), 0}}};
    CHECK(verify(std::vector{first, second, third}, promise).correct());
    promise.ordered = true;
    CHECK(verify(std::vector{first, second, third}, promise).what == flaw::not_in_order);
}

TEST_CASE("a sum in the order of ranks may be grouped in another way, unless the contract asks for the one") {
    // Of four, from left to right.
    schedule centre({.output = 1}), leaf({.output = 1});
    centre.round(recv_reduce(1, output(0)), recv_reduce(2, output(0)), recv_reduce(3, output(0)));
    leaf.round(send(0, output(0)));
    contract promise = sum_everywhere(4);
    for (std::size_t other = 1; other < 4; ++other) promise.ranks[other].ends.clear();
    promise.ordered = true;
    CHECK(verify(std::vector{centre, leaf, leaf, leaf}, promise).correct());
    promise.grouped = true;
    const verdict found = verify(std::vector{centre, leaf, leaf, leaf}, promise);
    CHECK(found.what == flaw::other_grouping);
    CHECK(found.why == "rank 0 ends with output[0] = (((0+1)+2)+3), and not as ((0+1)+(2+3))");
}
