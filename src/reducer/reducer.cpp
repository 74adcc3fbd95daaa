#include <tutti/detail/bound_task.hpp>
#include <tutti/reducer.hpp>

#include "communicator/call.hpp"
#include "communicator/inside_of.hpp"
#include "group/context_state.hpp"
#include "group/group.hpp"
#include "reducer/agreement.hpp"
#include "reducer/bucket.hpp"
#include "reducer/bucket_pipeline.hpp"
#include "reducer/gradient_marks.hpp"

#include <fmt/format.h>

#include <cstring>

namespace tutti {

namespace {

/// Returns a function that fails the communicator on all ranks, and is safe when the communicator is destroyed before the reducer.
std::function<void(std::string)> abort_of(communicator& over) {
    return [engine = detail::inside_of::get(over).engine().shared_from_this(), me = over.rank()](const std::string& why) {
        engine->fail_and_tell(detail::aborted(me, why));
    };
}

}  // namespace

/// The inside of a reducer on the host. ready() marks a gradient and packs it into its bucket's memory; the pipeline issues a full bucket
/// as an all_reduce in place; finish() awaits all buckets and copies the results back. The thread of the backward pass calls set(), the loop
/// finish().
class [[gnu::visibility("hidden")]] reducer::state final : bucket_carrier {
public:
    state(communicator& over, std::vector<parameter> parameters, const reducer_options& how)
        : over_(over),
          how_(how),
          parameters_(std::move(parameters)),
          plan_(plan_buckets(parameters_, caps_of(how), how.op)),
          agreement_(std::make_shared<agreement>(over, lines_of(parameters_, plan_.buckets, how.op))),
          marks_({over.name(), over.rank(), abort_of(over)}, parameters_, plan_) {
        for (const bucket& each : plan_.buckets) {
            memory_.emplace_back(each, fmt::format("bucket {}", memory_.size()));
            bytes_ += each.bytes();
        }
    }

    ~state() { marks_.give_up(); }

    void set(std::size_t which, gradient_marks::mark how);
    task<> finish();
    task<> agree();
    void accumulate(int passes) { marks_.accumulate(passes); }

    const parameter& at(std::size_t which) const { return marks_.at(which); }
    buffer place_of(std::size_t which) const;
    const bucket_plan& plan() const noexcept { return plan_; }
    const reducer_stats& stats() const noexcept { return stats_; }
    const birthplace& made() const noexcept { return made_; }
    event_loop& loop() const noexcept { return detail::inside_of::get(over_).context().loop(); }

private:
    struct cargo {
        cargo(const bucket& what, std::string called) : memory(what.bytes()), label(std::move(called)) {}
        bucket_memory memory;
        std::string label;
    };

    // For the pipeline, from its constructor or with its guard held.
    plan_comparison compare() override { return {agreement_->compare(), agreement_}; }
    bool agreed() const noexcept override { return agreement_->reached(); }
    future<> leave(std::size_t bucket) override;
    void landed(duration busy, duration) noexcept override { busy_ = busy; }

    void check_process() const {
        if (!made_.here()) throw made_.foreign("reducer");
    }
    void pack(std::size_t which);
    void copy_back();
    task<> check_agreement();

    const birthplace made_;
    communicator& over_;
    const reducer_options how_;
    const std::vector<parameter> parameters_;
    const bucket_plan plan_;
    const std::shared_ptr<agreement> agreement_;
    std::vector<cargo> memory_{};  // by bucket
    gradient_marks marks_;
    duration busy_{};  // of the last step
    std::size_t bytes_ = 0;
    reducer_stats stats_;
    bucket_pipeline pipeline_{*this, plan_.buckets.size(), how_.live};
};

// ---- gradients

void reducer::state::set(std::size_t which, gradient_marks::mark how) {
    check_process();
    if (marks_.set(which, how) != gradient_marks::consequence::goes) return;
    pack(which);
    if (marks_.fills(which)) pipeline_.full(plan_.locations[which].bucket);
}

buffer reducer::state::place_of(std::size_t which) const {
    const auto [in, first] = plan_.locations[which];
    const buffer& gradient = parameters_[which].gradient;
    return {memory_[in].memory.data() + first * size_of(gradient.type), gradient.count, gradient.type};
}

void reducer::state::pack(std::size_t which) {
    const buffer& gradient = parameters_[which].gradient;
    if (gradient.count == 0) return;
    if (!marks_.made(which)) std::memset(place_of(which).data, 0, gradient.bytes());
    else if (gradient.data) std::memcpy(place_of(which).data, gradient.data, gradient.bytes());
}

void reducer::state::copy_back() {
    for (std::size_t which = 0; which < parameters_.size(); ++which) {
        const buffer& gradient = parameters_[which].gradient;
        if (gradient.data && gradient.count > 0) std::memcpy(gradient.data, place_of(which).data, gradient.bytes());
    }
}

// ---- buckets and steps

future<> reducer::state::leave(std::size_t bucket) {
    const auto& what = plan_.buckets[bucket];
    call_options options;
    options.deadline = how_.deadline;
    options.label = memory_[bucket].label.c_str();
    return over_.all_reduce(buffer(memory_[bucket].memory.data(), what.count, what.type), how_.op, options);
}

task<> reducer::state::finish() {
    check_process();
    gradient_marks::ending here(marks_);
    if (!marks_.complete()) {
        here.succeed();
        co_return;
    }
    const time_point begin = current_time();
    auto landing = pipeline_.landed();
    co_await std::move(landing);
    const duration exposed = current_time() - begin;
    marks_.check();
    if (auto why = pipeline_.why()) throw failure(*why);
    auto comparison = check_agreement();
    co_await std::move(comparison);
    copy_back();
    add(stats_, bytes_, busy_, exposed);
    marks_.next();
    pipeline_.renew();
    here.succeed();
}

task<> reducer::state::agree() {
    check_process();
    gradient_marks::ending here(marks_);
    marks_.check();
    auto comparison = pipeline_.compared();
    co_await std::move(comparison);
    if (auto why = pipeline_.why()) throw failure(*why);
    auto difference = check_agreement();
    co_await std::move(difference);
    here.succeed();
}

task<> reducer::state::check_agreement() {
    if (agreement_->reached()) co_return;
    auto telling = marks_.disagree(agreement_->difference());
    co_await std::move(telling);
}

// ---- what users hold

reducer::reducer(communicator& over, std::vector<parameter> parameters, reducer_options options)
    : state_(std::make_unique<state>(over, std::move(parameters), options)) {}
reducer::~reducer() {
    if (!state_->made().here()) leave_alone(std::move(state_));
}

void reducer::ready(std::size_t parameter) { state_->set(parameter, gradient_marks::mark::ready); }
void reducer::mark_unused(std::size_t parameter) { state_->set(parameter, gradient_marks::mark::unused); }
task<> reducer::finish() { return detail::bind_to_loop(state_->loop(), state_->finish()); }
task<> reducer::agree() { return detail::bind_to_loop(state_->loop(), state_->agree()); }
void reducer::accumulate(int passes) { state_->accumulate(passes); }

buffer reducer::gradient(std::size_t parameter) const {
    const buffer& registered = state_->at(parameter).gradient;
    return registered.data ? registered : state_->place_of(parameter);
}

void reducer::check_type(std::size_t parameter, data_type type) const {
    const auto& known = state_->at(parameter);
    if (known.gradient.type != type)
        throw failure(error::invalid_argument,
                      fmt::format("parameter '{}' is {}, not {}", known.name, name(known.gradient.type), name(type)));
}

std::span<const bucket> reducer::buckets() const noexcept { return state_->plan().buckets; }
const reducer_stats& reducer::stats() const noexcept { return state_->stats(); }

}  // namespace tutti
