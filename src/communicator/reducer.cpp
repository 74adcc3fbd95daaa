#include <tutti/reducer.hpp>

#include "communicator/agreement.hpp"
#include "communicator/bucket.hpp"
#include "communicator/flight.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <optional>

namespace tutti {
namespace {

constexpr std::size_t named_limit = 8;  // parameters in one message

std::vector<std::size_t> caps_of(const reducer_options& how) {
    std::vector<std::size_t> caps(how.caps.begin(), how.caps.end());
    if (caps.empty()) caps = {how.first_bucket, how.bucket};
    for (const std::size_t cap : caps)
        if (cap < reducer::least_cap)
            throw failure(error::invalid_argument, fmt::format("a bucket's cap is {} bytes, the least is {}; write 25 * tutti::MiB for 25 MiB", cap, reducer::least_cap));
    if (how.op != avg && how.op != sum) throw failure(error::invalid_argument, fmt::format("gradients are combined by avg or sum, not {}", name(how.op)));
    if (how.live == 0) throw failure(error::invalid_argument, "at least one bucket must be allowed under way");
    return caps;
}

/// What the ranks must have alike, the buckets in the order in which they leave. The name is last: it may be cut off.
std::vector<std::string> lines_of(std::span<const parameter> parameters, std::span<const bucket> buckets, reduce_op op) {
    std::vector<std::string> lines{fmt::format("operator {}", name(op))};
    for (std::size_t which = 0; which < buckets.size(); ++which)
        for (const std::size_t index : buckets[which].parameters) {
            const parameter& each = parameters[index];
            lines.push_back(fmt::format("in bucket {}: {} x {} of parameter {} '{}'", which, name(each.gradient.type), each.gradient.count, index, each.name));
        }
    return lines;
}

}  // namespace

double overlap::ratio() const noexcept {
    if (exposed <= duration()) return 1;
    if (exposed >= busy) return 0;
    return 1 - static_cast<double>(exposed.count()) / static_cast<double>(busy.count());
}

class reducer::state final {
public:
    enum class mark : std::uint8_t { none, ready, unused };

    state(communicator& over, std::vector<parameter> parameters, const reducer_options& how)
        : over_(over), parameters_(std::move(parameters)), plan_(plan_buckets(parameters_, caps_of(how))),
          agreement_(over, lines_of(parameters_, plan_.buckets, how.op)), flight_(over, plan_.buckets, how, agreement_), marks_(parameters_.size()),
          touched_(parameters_.size()), waiting_(plan_.buckets.size()) {
        for (const bucket& each : plan_.buckets) bytes_ += each.bytes();
        open_step();
    }

    void set(std::size_t which, mark how);
    task<> finish();
    task<> agree();
    void accumulate(int passes);

    const parameter& at(std::size_t which) const;
    buffer place_of(std::size_t which) const;
    const bucket_plan& plan() const noexcept { return plan_; }
    const reducer_stats& stats() const noexcept { return stats_; }

private:
    /// finish() is going on; when it is left otherwise than by `succeed`, the reducer has failed.
    class ending {
    public:
        explicit ending(state& of);
        ~ending();
        void succeed() noexcept { well_ = true; }

    private:
        state& of_;
        bool well_ = false;
    };

    void open_pass();
    void open_step();
    void pack(std::size_t which);
    void copy_back();
    void count(duration exposed);
    task<> check_agreement();
    void check_missing();
    void complain(std::string what);
    void throw_complaint();
    report told(error code, std::string cause) const;

    communicator& over_;
    const std::vector<parameter> parameters_;
    const bucket_plan plan_;
    agreement agreement_;
    flight flight_;

    // By the thread of the backward pass, then by that of finish().
    std::vector<mark> marks_;           // in this pass, by parameter
    std::vector<bool> touched_;         // ready in this step, by parameter
    std::vector<std::size_t> waiting_;  // parameters not marked in the last pass, by bucket
    std::size_t marked_ = 0;
    int passes_ = 1;
    int pass_ = 0;
    std::uint64_t step_ = 1;
    std::size_t bytes_ = 0;
    reducer_stats stats_;

    std::mutex guard_;
    bool ending_ = false;
    bool failed_ = false;
    std::optional<failure> complaint_;  // the first mistake, here or between the ranks
};

// ---- marking

void reducer::state::set(std::size_t which, mark how) {
    bool too_early = false;
    {
        const std::lock_guard lock(guard_);
        if (failed_ || complaint_) return;  // finish() tells
        too_early = ending_;
    }
    if (too_early) return complain("a parameter was marked while finish() or agree() was going on: await it first");
    if (which >= parameters_.size()) return complain(fmt::format("there is no parameter {}, only {}", which, parameters_.size()));
    if (marks_[which] != mark::none) return complain(fmt::format("parameter '{}' was marked twice in one backward pass", parameters_[which].name));
    marks_[which] = how;
    ++marked_;
    if (how == mark::ready) touched_[which] = true;
    if (pass_ + 1 < passes_) return;
    pack(which);
    const std::size_t into = plan_.places[which].bucket;
    if (--waiting_[into] == 0) flight_.full(into);
}

buffer reducer::state::place_of(std::size_t which) const {
    const auto [in, first] = plan_.places[which];
    const buffer& gradient = parameters_[which].gradient;
    return {flight_.memory(in) + first * size_of(gradient.type), gradient.count, gradient.type};
}

void reducer::state::pack(std::size_t which) {
    const buffer& gradient = parameters_[which].gradient;
    if (gradient.count == 0) return;
    if (!touched_[which]) std::memset(place_of(which).data, 0, gradient.bytes());
    else if (gradient.data) std::memcpy(place_of(which).data, gradient.data, gradient.bytes());
}

void reducer::state::copy_back() {
    for (std::size_t which = 0; which < parameters_.size(); ++which) {
        const buffer& gradient = parameters_[which].gradient;
        if (gradient.data && gradient.count > 0) std::memcpy(gradient.data, place_of(which).data, gradient.bytes());
    }
}

// ---- passes and steps

void reducer::state::open_pass() {
    std::fill(marks_.begin(), marks_.end(), mark::none);
    marked_ = 0;
}

void reducer::state::open_step() {
    open_pass();
    pass_ = 0;
    std::fill(touched_.begin(), touched_.end(), false);
    for (std::size_t which = 0; which < waiting_.size(); ++which) waiting_[which] = plan_.buckets[which].parameters.size();
    flight_.renew();
}

void reducer::state::accumulate(int passes) {
    if (passes < 1) throw failure(told(error::invalid_argument, fmt::format("a step has at least one backward pass, not {}", passes)));
    if (pass_ != 0 || marked_ != 0) throw failure(told(error::invalid_argument, "accumulate() was called in the middle of a step"));
    passes_ = passes;
}

void reducer::state::count(duration exposed) {
    stats_.last = {1, bytes_, flight_.busy(), exposed};
    stats_.total.steps += 1;
    stats_.total.bytes += bytes_;
    stats_.total.busy += stats_.last.busy;
    stats_.total.exposed += exposed;
}

reducer::state::ending::ending(state& of) : of_(of) {
    const std::lock_guard lock(of.guard_);
    if (of.ending_) throw failure(of.told(error::invalid_argument, "finish() or agree() was called while another was going on"));
    of.ending_ = true;
}

reducer::state::ending::~ending() {
    const std::lock_guard lock(of_.guard_);
    of_.ending_ = false;
    if (!well_) of_.failed_ = true;
}

task<> reducer::state::finish() {
    ending here(*this);
    check_missing();
    throw_complaint();
    if (pass_ + 1 < passes_) {
        ++pass_;
        open_pass();
        here.succeed();
        co_return;
    }
    const time_point begin = current_time();
    auto landing = flight_.landed();
    co_await std::move(landing);
    const duration exposed = current_time() - begin;
    throw_complaint();
    if (auto why = flight_.why()) throw failure(*why);
    auto comparison = check_agreement();
    co_await std::move(comparison);
    copy_back();
    count(exposed);
    ++step_;
    open_step();
    here.succeed();
}

task<> reducer::state::agree() {
    ending here(*this);
    throw_complaint();
    auto comparison = flight_.compared();
    co_await std::move(comparison);
    if (auto why = flight_.why()) throw failure(*why);
    auto difference = check_agreement();
    co_await std::move(difference);
    here.succeed();
}

task<> reducer::state::check_agreement() {
    if (agreement_.reached()) co_return;
    auto finding = agreement_.difference();
    std::string text = co_await std::move(finding);
    {
        const std::lock_guard lock(guard_);
        if (!complaint_) complaint_.emplace(told(error::mismatch, "ranks disagree about the gradients: " + text));
    }
    throw_complaint();
}

// ---- mistakes

report reducer::state::told(error code, std::string cause) const {
    report what;
    what.code = code;
    what.operation = "reducer step";
    what.sequence = step_;
    what.communicator = over_.name();
    what.local = over_.rank();
    what.root = over_.rank();
    what.cause = std::move(cause);
    return what;
}

void reducer::state::check_missing() {
    if (marked_ == parameters_.size()) return;
    {
        const std::lock_guard lock(guard_);
        if (failed_ || complaint_) return;  // that is the cause
    }
    std::vector<std::string_view> names;
    std::size_t missing = 0;
    for (std::size_t which = 0; which < parameters_.size(); ++which)
        if (marks_[which] == mark::none && ++missing <= named_limit) names.push_back(parameters_[which].name);
    complain(fmt::format("{} of {} parameters got no gradient: '{}'{}; mark_unused() tells that one is not used", missing, parameters_.size(),
                         fmt::join(names, "', '"), missing > named_limit ? " and others" : ""));
}

/// The other ranks wait for our buckets, and are told why they wait in vain.
void reducer::state::complain(std::string what) {
    const std::lock_guard lock(guard_);
    if (complaint_) return;
    over_.abort(fmt::format("reducer step #{}: {}", step_, what));
    complaint_.emplace(told(error::invalid_argument, std::move(what)));
}

void reducer::state::throw_complaint() {
    const std::lock_guard lock(guard_);
    if (complaint_) throw failure(*complaint_);
}

const parameter& reducer::state::at(std::size_t which) const {
    if (which >= parameters_.size()) throw failure(told(error::invalid_argument, fmt::format("there is no parameter {}, only {}", which, parameters_.size())));
    return parameters_[which];
}

// ---- what users hold

reducer::reducer(communicator& over, std::vector<parameter> parameters, reducer_options options)
    : state_(std::make_unique<state>(over, std::move(parameters), options)) {}
reducer::~reducer() = default;

void reducer::ready(std::size_t parameter) { state_->set(parameter, state::mark::ready); }
void reducer::mark_unused(std::size_t parameter) { state_->set(parameter, state::mark::unused); }
task<> reducer::finish() { return state_->finish(); }
task<> reducer::agree() { return state_->agree(); }
void reducer::accumulate(int passes) { state_->accumulate(passes); }

buffer reducer::gradient(std::size_t parameter) const {
    const buffer& registered = state_->at(parameter).gradient;
    return registered.data ? registered : state_->place_of(parameter);
}

void reducer::check_type(std::size_t parameter, data_type type) const {
    const auto& known = state_->at(parameter);
    if (known.gradient.type != type)
        throw failure(error::invalid_argument, fmt::format("parameter '{}' is {}, not {}", known.name, name(known.gradient.type), name(type)));
}

std::span<const bucket> reducer::buckets() const noexcept { return state_->plan().buckets; }
const reducer_stats& reducer::stats() const noexcept { return state_->stats(); }

}  // namespace tutti
