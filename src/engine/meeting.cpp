#include "engine/meeting.hpp"

#include "base/prefetch.hpp"
#include "engine/operation.hpp"
#include "engine/port_receiver.hpp"
#include "schedule/answers.hpp"

#include <algorithm>
#include <array>

namespace tutti {
namespace {

/// The payload that one peer has lent.
struct lent_slice {
    int step = 0;
    port_lane* from = nullptr;
    std::span<const std::span<std::byte>> runs;
    std::span<const std::span<std::byte>> answers;  // as many runs of as many bytes, where the result may be written; or none
    std::size_t begin = 0;                          // where the runs begin in the slice

    bool writable() const noexcept { return !answers.empty(); }
    /// Returns what lies in one piece from this byte of the slice on.
    std::span<std::byte> at(std::size_t offset) const noexcept { return at(runs, offset); }
    std::byte* answer_at(std::size_t offset) const noexcept { return at(answers, offset).data(); }

private:
    std::span<std::byte> at(std::span<const std::span<std::byte>> which, std::size_t offset) const noexcept {
        offset -= begin;
        for (const std::span<std::byte> run : which) {
            if (offset < run.size()) return run.subspan(offset);
            offset -= run.size();
        }
        return {};
    }
};

bool aligned(std::span<const std::span<std::byte>> runs, std::size_t element) noexcept {
    return std::all_of(runs.begin(), runs.end(),
                       [&](std::span<std::byte> run) { return reinterpret_cast<std::uintptr_t>(run.data()) % element == 0; });
}

/// Combines bytes [done, end) of a slice with all that was lent for it, in the order of the plan.
void combine_lent(operation& of, std::size_t slice, std::span<const lent_slice> all, std::size_t done, std::size_t end) noexcept {
    std::array<const std::byte*, most_merged> parts;
    std::array<std::byte*, most_merged> backs;
    while (done < end) {
        std::size_t bytes = end - done, count = 0, writable = 0;
        for (const lent_slice& each : all) {
            const auto there = each.at(done);
            bytes = std::min(bytes, there.size());
            parts[count++] = there.data();
            if (each.writable()) backs[writable++] = each.answer_at(done);
        }
        if (bytes == 0) return;  // a lane has been lost since, and lends nothing: its frame never counts, so this round does not end
        of.reduce(all.front().step, slice, done, bytes, std::span(parts).first(count), std::span(backs).first(writable));
        done += bytes;
    }
}

/// Visits every step that is reduced together with the one at `at`, itself included, and the lane that brings it, in the order of the plan.
template <class Visit>
void each_together(const cursor& at, Visit visit) noexcept {
    operation& of = at.of();
    const schedule& plan = of.program().plan();
    const blocks target = plan.steps()[static_cast<std::size_t>(at.step())].here;
    int index = of.program().first_step(at.round());
    for (const step& one : plan.round(at.round())) {
        if (one.what == action::recv_reduce && one.here == target)
            for (const recv_channel& each : of.receivers())
                if (each.at.peer() == one.peer) visit(index, each.over->lanes().front());
        ++index;
    }
}

}  // namespace

/// Decides about a frame of a sum:
///
///     combined already with the others (met)                            through: it is passed over
///     it is not lent or not aligned, or too many peers, or a user's
///       operator (peers that revoke their memory would wait for it)     here: in a bounce, as any recv_reduce
///     another part comes over a network, has landed, or does not fit    here
///     another part has not come                                         park, until it does
///     all parts are there                                               through: combine_together reads them all
landing meet(port_lane& on) noexcept {
    if (on.met) return landing::through;
    operation& of = on.at.of();
    const std::size_t slice = on.at.slice(), element = of.asked.element_bytes();
    const auto fits = [element](const port_lane& each) { return !each.over->lent().empty() && aligned(each.over->lent(), element); };
    if (!fits(on) || of.asked.op.user() || of.receivers().size() > most_merged) return landing::here;
    auto found = landing::through;
    each_together(on.at, [&](int step, port_lane& other) {
        if (&other == &on || found == landing::here) return;
        const bool far = other.over && !other.over->near();
        if (far || of.transferred(step) > slice || other.bounce_of(of, step, slice)) found = landing::here;
        else if (!other.holds(of, step, slice)) found = landing::park;
        else if (!fits(other)) found = landing::here;
    });
    return found;
}

std::size_t combine_together(port_lane& on, std::uint64_t offset, std::span<const std::byte> part, std::byte* back) noexcept {
    operation& of = on.at.of();
    const std::size_t slice = on.at.slice(), done = static_cast<std::size_t>(offset), end = done + part.size();
    if (on.met) {
        on.met = end < of.memory().transfer_bytes(on.at.step(), slice);
        return part.size();
    }
    std::array<lent_slice, most_merged> all;
    std::size_t count = 0;
    const std::span<std::byte> own(const_cast<std::byte*>(part.data()), part.size());  // it is only read there
    const std::span<std::byte> own_answer(back, back ? part.size() : 0);
    each_together(on.at, [&](int step, port_lane& other) {
        if (&other == &on) {
            all[count++] = {step, &on, {&own, 1}, std::span(&own_answer, back ? 1 : 0), done};
            return;
        }
        if (done == 0)
            for (const std::span<std::byte> run : other.over->lent()) prefetch_pages(run.data(), run.size());
        const auto answer = other.over->answer_index();
        const bool wanted = answer && of.sum_of(step, slice) == answer;
        other.answered = wanted && (done == 0 || other.answered) && other.over->begin_writing();
        other.met = true;
        const auto answers = other.over->answer_runs();
        all[count++] = {step, &other, other.over->lent(), answers.first(other.answered ? answers.size() : 0), 0};
    });
    const std::span contributions(all.data(), count);
    combine_lent(of, slice, contributions, done, end);
    for (const lent_slice& each : contributions)
        if (each.from != &on && each.from->answered) each.from->over->end_writing();
    return part.size();
}

}  // namespace tutti
