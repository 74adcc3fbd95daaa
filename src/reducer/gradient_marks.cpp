#include "reducer/gradient_marks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>

namespace tutti {
namespace {

constexpr std::size_t named_limit = 8;  // parameters in one message

}  // namespace

double overlap::ratio() const noexcept {
    if (exposed <= duration()) return 1;
    if (exposed >= busy) return 0;
    return 1 - static_cast<double>(exposed.count()) / static_cast<double>(busy.count());
}

void add(reducer_stats& to, std::uint64_t bytes, duration busy, duration exposed) noexcept {
    to.last = {1, bytes, busy, exposed};
    to.total.steps += 1;
    to.total.bytes += bytes;
    to.total.busy += busy;
    to.total.exposed += exposed;
}

gradient_marks::gradient_marks(owner whose, std::span<const parameter> parameters, const bucket_plan& plan)
    : whose_(std::move(whose)),
      parameters_(parameters),
      plan_(plan),
      marks_(parameters.size()),
      made_(parameters.size()),
      waiting_(plan.buckets.size()) {
    open_step();
}

// ---- marking

gradient_marks::consequence gradient_marks::set(std::size_t which, mark how) {
    bool too_early = false;
    {
        const std::lock_guard lock(guard_);
        if (failed_ || complaint_) return consequence::refused;  // finish() reports it
        too_early = ending_;
    }
    std::string wrong;
    if (too_early) wrong = "a parameter was marked while finish() or agree() was going on: await it first";
    else if (which >= parameters_.size()) wrong = fmt::format("there is no parameter {}, only {}", which, parameters_.size());
    else if (marks_[which] != mark::none)
        wrong = fmt::format("parameter '{}' was marked twice in one backward pass", parameters_[which].name);
    if (!wrong.empty()) {
        complain(std::move(wrong));
        return consequence::refused;
    }
    marks_[which] = how;
    ++marked_;
    if (how == mark::ready) made_[which] = true;
    return pass_ + 1 < passes_ ? consequence::waits : consequence::goes;
}

// ---- passes and steps

void gradient_marks::open_pass() {
    std::fill(marks_.begin(), marks_.end(), mark::none);
    marked_ = 0;
}

void gradient_marks::open_step() {
    open_pass();
    pass_ = 0;
    std::fill(made_.begin(), made_.end(), false);
    for (std::size_t which = 0; which < waiting_.size(); ++which) waiting_[which] = plan_.buckets[which].parameters.size();
}

void gradient_marks::next() {
    ++step_;
    open_step();
}

void gradient_marks::accumulate(int passes) {
    if (passes < 1) throw failure(told(error::invalid_argument, fmt::format("a step has at least one backward pass, not {}", passes)));
    if (pass_ != 0 || marked_ != 0) throw failure(told(error::invalid_argument, "accumulate() was called in the middle of a step"));
    passes_ = passes;
}

gradient_marks::ending::ending(gradient_marks& of) : of_(of) {
    const std::lock_guard lock(of.guard_);
    if (of.ending_) throw failure(of.told(error::invalid_argument, "finish() or agree() was called while another was going on"));
    of.ending_ = true;
}

gradient_marks::ending::~ending() {
    const std::lock_guard lock(of_.guard_);
    of_.ending_ = false;
    if (!well_) of_.failed_ = true;
}

bool gradient_marks::complete() {
    check_missing();
    check();
    if (pass_ + 1 == passes_) return true;
    ++pass_;
    open_pass();
    return false;
}

// ---- mistakes

report gradient_marks::told(error code, std::string cause) const {
    report what;
    what.code = code;
    what.operation = "reducer step";
    what.sequence = step_;
    what.communicator = whose_.communicator;
    what.local = whose_.me;
    what.root = whose_.me;
    what.cause = std::move(cause);
    return what;
}

void gradient_marks::check_missing() {
    if (marked_ == parameters_.size()) return;
    {
        const std::lock_guard lock(guard_);
        if (failed_ || complaint_) return;  // that is the cause
    }
    std::vector<std::string_view> names;
    std::size_t missing = 0;
    for (std::size_t which = 0; which < parameters_.size(); ++which)
        if (marks_[which] == mark::none && ++missing <= named_limit) names.push_back(parameters_[which].name);
    complain(fmt::format("{} of {} parameters got no gradient: '{}'{}; mark_unused() tells that one is not used", missing,
                         parameters_.size(), fmt::join(names, "', '"), missing > named_limit ? " and others" : ""));
}

void gradient_marks::give_up() noexcept {
    if (marked_ == 0 || pass_ + 1 != passes_) return;  // before the last pass no rank waits
    {
        const std::lock_guard lock(guard_);
        if (complaint_) return;  // all ranks know it
    }
    whose_.abort(fmt::format("the reducer was destroyed in the middle of step #{}{}", step_,
                             std::uncaught_exceptions() > 0 ? ", by an exception on its way" : ""));
}

/// Records the complaint for finish(), and fails the communicator so that the other ranks learn why they wait in vain.
void gradient_marks::complain(std::string what, error code) {
    {
        const std::lock_guard lock(guard_);
        if (complaint_) return;
        complaint_.emplace(told(code, what));
    }
    whose_.abort(fmt::format("reducer step #{}: {}", step_, what));
}

void gradient_marks::check() const {
    const std::lock_guard lock(guard_);
    if (complaint_) throw failure(*complaint_);
}

task<> gradient_marks::disagree(task<std::string> difference) {
    std::string text = co_await std::move(difference);
    {
        const std::lock_guard lock(guard_);
        if (!complaint_) complaint_.emplace(told(error::mismatch, "ranks disagree about the gradients: " + text));
    }
    check();
}

const parameter& gradient_marks::at(std::size_t which) const {
    if (which >= parameters_.size())
        throw failure(told(error::invalid_argument, fmt::format("there is no parameter {}, only {}", which, parameters_.size())));
    return parameters_[which];
}

}  // namespace tutti
