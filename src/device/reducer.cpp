// The reducer of gradients on devices: its memory, the streams its buckets come after, and the comparison of plans over a sibling
// communicator, because the device group's own calls have another order.
#include "communicator/sibling.hpp"
#include "device/group.hpp"
#include "device/parameters.hpp"
#include "device/staging.hpp"
#include "gpu/arrival.hpp"
#include "group/spawn.hpp"
#include "reducer/agreement.hpp"
#include "reducer/bucket_pipeline.hpp"
#include "reducer/gradient_marks.hpp"

#include <tutti/detail/bound_task.hpp>
#include <tutti/gpu/copy.hpp>
#include <tutti/gpu/reducer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>

namespace tutti::gpu {
namespace {

constexpr std::size_t bucket_alignment = 256;

/// Fails the engine on all ranks, because the other ranks would wait for this one's plan.
void tell(device_group& of, error code, std::string_view why) {
    report told;
    told.code = code;
    told.peers = {of.me()};
    told.cause = fmt::format("rank {} made no reducer: {}", of.me(), why);
    of.engine->fail(std::move(told));
}

/// Outlives the reducer, because the progress loop of the ranks uses it.
struct comparison {
    std::vector<std::string> lines;
    std::unique_ptr<tutti::communicator> ranks;
    std::optional<agreement> lists;
};

task<> compare_in_sibling(std::shared_ptr<comparison> what, future<std::unique_ptr<tutti::communicator>> forming) {
    auto ranks = co_await std::move(forming);
    what->ranks = std::move(ranks);
    what->lists.emplace(*what->ranks, std::move(what->lines));
    future<> comparing = what->lists->compare();
    co_await std::move(comparing);
}

/// Held by the operations, which need it when the reducer is gone.
struct holding {
    std::vector<std::string> labels;  // by bucket
    std::vector<keep_alive> memory;
};

}  // namespace

class [[gnu::visibility("hidden")]] reducer::state final : bucket_carrier {
public:
    /// If it throws, the other ranks get its failure.
    static std::unique_ptr<state> make(communicator& over, std::vector<parameter> parameters, const reducer_options& how);
    state(communicator& over, std::vector<parameter> parameters, const reducer_options& how);
    ~state();
    /// Returns the birthplace of the communicator, which outlives the reducer.
    const birthplace& made() const noexcept { return group_.inside.made(); }
    event_loop& loop() const noexcept { return group_.inside.context().loop(); }

    /// `behind` is null on a rank without a device.
    void set(std::size_t which, gradient_marks::mark how, const stream* behind);
    /// Ends when all buckets have been averaged; with a stream, when the stream's further work comes after them.
    task<> finish(std::optional<stream> on);
    task<> agree();
    void accumulate(int passes) { marks_.accumulate(passes); }

    device_span gradient(std::size_t which) const { return static_cast<void>(marks_.at(which)), gradients_[which]; }
    const bucket_plan& plan() const noexcept { return plan_; }
    reducer_stats stats() const {
        const std::lock_guard lock(counting_);
        return stats_;
    }

private:
    struct cargo {
        std::vector<device_span> parts;
        std::vector<stream> behind;  // of gradients that have been marked
        event after;                 // the last time it was full
        operation under_way;
    };

    // With the pipeline's guard.
    plan_comparison compare() override;
    future<> end() override { return over_.watch(); }
    bool agreed() const noexcept override { return plans_->lists->reached(); }
    future<> leave(std::size_t bucket) override;
    future<> completion(std::size_t bucket) override {
        return group_.card ? arrival::of(cargoes_[bucket].after, group_.inside.context().loop()) : future<>();
    }
    void landed(duration busy, duration exposed) noexcept override;
    bool give_up() noexcept override;

    void lay_out(std::vector<parameter> parameters);
    result<> clear(std::size_t which, const stream* behind) const;
    result<> close(cargo& which);
    bool well(const result<>& done);
    task<> check_agreement();
    task<> order_behind(stream on);

    communicator& over_;
    device_group& group_;
    const reducer_options how_;
    const std::vector<tutti::parameter> named_;
    const bucket_plan plan_;
    std::shared_ptr<comparison> plans_ = std::make_shared<comparison>();
    std::shared_ptr<holding> held_ = std::make_shared<holding>();
    keep_alive kept_ = held_;
    std::vector<device_span> gradients_{};  // by parameter
    std::vector<cargo> cargoes_{};          // by bucket
    std::optional<stream> meeting_;         // of streams, where a bucket comes after several
    std::size_t bytes_ = 0;
    mutable std::mutex counting_;
    reducer_stats stats_;
    gradient_marks marks_;
    std::optional<bucket_pipeline> pipeline_;
};

// ---- life

std::unique_ptr<reducer::state> reducer::state::make(communicator& over, std::vector<parameter> parameters,
                                                     const reducer_options& how) try {
    return std::make_unique<state>(over, std::move(parameters), how);
} catch (const failure& why) {
    tell(over.inner(), static_cast<error>(why.code().value()), why.details().cause);
    throw;
} catch (const std::exception& why) {
    tell(over.inner(), error::system, why.what());
    throw;
}

reducer::state::state(communicator& over, std::vector<parameter> parameters, const reducer_options& how)
    : over_(over),
      group_(over.inner()),
      how_(how),
      named_(on_the_host(parameters)),
      plan_(plan_buckets(named_, caps_of(how), how.op)),
      marks_({over.name(), over.rank(), [this](std::string why) { over_.abort(std::move(why)); }}, named_, plan_) {
    check_parameters(group_, named_, how.op);
    lay_out(std::move(parameters));
    plans_->lines = lines_of(named_, plan_.buckets, how.op);
    for (std::size_t which = 0; which < cargoes_.size(); ++which) {
        held_->labels.push_back(fmt::format("bucket {}", which));
        bytes_ += plan_.buckets[which].bytes();
        for (const device_span& part : cargoes_[which].parts)
            plans_->lines.push_back(fmt::format("in bucket {}: one operation on {} elements", which, part.count));
    }
    for (const device_span& each : gradients_) held_->memory.push_back(each.kept);
    pipeline_.emplace(static_cast<bucket_carrier&>(*this), plan_.buckets.size(), how.live);
}

reducer::state::~state() {
    marks_.give_up();
    pipeline_.reset();
    // Zeros may still be on their way, whatever has become of the buckets.
    for (const cargo& each : cargoes_) {
        if (each.after.valid()) static_cast<void>(each.after.completed(kept_));
        for (const stream& one : each.behind) static_cast<void>(one.completed(kept_));
    }
}

/// Gives every gradient its address. Those in the reducer's own memory lie in the order of buckets, one part in each.
void reducer::state::lay_out(std::vector<parameter> parameters) {
    for (parameter& each : parameters) gradients_.push_back(std::move(each.gradient));
    std::size_t all = 0;
    std::vector<std::size_t> first, here;  // by bucket: where its part begins, and the elements in it
    for (const bucket& each : plan_.buckets) {
        std::size_t count = 0;
        for (const std::size_t which : each.parameters)
            if (!gradients_[which].data) count += gradients_[which].count;
        first.push_back(all);
        here.push_back(count);
        all += (count * size_of(each.type) + bucket_alignment - 1) / bucket_alignment * bucket_alignment;
    }
    auto memory = group_.card ? allocate_device_memory(*group_.card, all) : host_memory(all);
    if (!memory) throw failure(memory.failure());
    cargoes_.resize(plan_.buckets.size());
    for (std::size_t number = 0; number < cargoes_.size(); ++number) {
        const bucket& what = plan_.buckets[number];
        std::byte* next = static_cast<std::byte*>(memory->get()) + first[number];
        if (here[number] > 0) cargoes_[number].parts.emplace_back(next, here[number], what.type, *memory);
        for (const std::size_t which : what.parameters) {
            device_span& each = gradients_[which];
            if (each.data) {
                if (each.count > 0) cargoes_[number].parts.push_back(each);
            } else if (each.count > 0) {
                each.data = next;
                each.kept = *memory;
                next += each.bytes();
            }
        }
    }
}

// ---- gradients

void reducer::state::set(std::size_t which, gradient_marks::mark how, const stream* behind) {
    const auto becomes = marks_.set(which, how);
    if (becomes == gradient_marks::consequence::refused) return;
    const std::size_t number = plan_.locations[which].bucket;
    cargo& into = cargoes_[number];
    if (!group_.card) {
        behind = nullptr;
    } else if (behind) {
        const auto same = [behind](const stream& other) { return other.handle() == behind->handle(); };
        if (std::none_of(into.behind.begin(), into.behind.end(), same)) into.behind.push_back(*behind);
    } else {
        return marks_.complain(fmt::format("parameter '{}' was marked without a stream, on a rank with a device", named_[which].name));
    }
    if (becomes == gradient_marks::consequence::waits) return;
    if (!marks_.made(which) && !well(clear(which, behind))) return;
    if (marks_.fills(which) && well(close(into))) pipeline_->full(number);
}

bool reducer::state::well(const result<>& done) {
    if (!done) marks_.complain(done.failure().details().cause, static_cast<error>(done.failure().code().value()));
    return done.has_value();
}

result<> reducer::state::clear(std::size_t which, const stream* behind) const {
    const device_span& gradient = gradients_[which];
    if (behind) return enqueue_fill(*behind, device_part(gradient.data, gradient.bytes(), gradient.kept), std::byte{0});
    if (gradient.count > 0) std::memset(gradient.data, 0, gradient.bytes());
    return {};
}

/// Records the event behind all gradients of a bucket, on the one stream or behind several.
result<> reducer::state::close(cargo& which) {
    if (!group_.card) return {};
    const stream* last = &which.behind.front();
    if (which.behind.size() > 1) {
        if (!meeting_) {
            auto made = stream::make(*group_.card);
            if (!made) return made.failure();
            meeting_ = *made;
        }
        for (const stream& each : which.behind) {
            auto here = each.record();
            if (!here) return here.failure();
            if (auto ordered = meeting_->wait(*here); !ordered) return ordered;
        }
        last = &*meeting_;
    }
    auto after = last->record();
    if (!after) return after.failure();
    which.after = std::move(*after);
    which.behind.clear();
    return {};
}

// ---- buckets

plan_comparison reducer::state::compare() {
    const auto& context = group_.inside.shared_context();
    auto forming = tutti::detail::form(context, tutti::detail::sibling(group_.inside, "for gradients"), group_.inside.watch(),
                                             group_.inside.engine().shared_from_this());
    return {tutti::detail::spawn(*context, compare_in_sibling(plans_, std::move(forming)))};  // goes on in the background
}

future<> reducer::state::leave(std::size_t bucket) {
    cargo& which = cargoes_[bucket];
    call_options options;
    options.deadline = how_.deadline;
    options.label = held_->labels[bucket].c_str();
    options.keep = &kept_;
    which.under_way = group_.all_reduce(which.parts, how_.op, which.after, options);
    return std::move(which.under_way).completed();
}

void reducer::state::landed(duration busy, duration exposed) noexcept {
    const std::lock_guard lock(counting_);
    add(stats_, bytes_, busy, exposed);
}

bool reducer::state::give_up() noexcept {
    over_.abort(fmt::format("nobody waits for the end of reducer step #{} any more", marks_.number()));
    return true;
}

// ---- steps

task<> reducer::state::finish(std::optional<stream> on) {
    gradient_marks::ending here(marks_);
    if (!marks_.complete()) {
        here.succeed();
        co_return;
    }
    if (!group_.card) on.reset();
    if (on) {
        auto leaving = pipeline_->left();
        co_await std::move(leaving);
    }
    if (!on || pipeline_->why()) {  // after a failure, too, memory is released before the caller learns of it
        auto landing = pipeline_->landed();
        co_await std::move(landing);
    }
    marks_.check();
    if (auto why = pipeline_->why()) throw failure(*why);
    auto comparison = check_agreement();
    co_await std::move(comparison);
    if (on) {
        auto ordering = order_behind(*on);
        co_await std::move(ordering);
    }
    marks_.next();
    pipeline_->renew();
    here.succeed();
}

task<> reducer::state::order_behind(stream on) {
    struct leaving {
        state& of;
        bool well = false;
        ~leaving() {
            if (!well) of.give_up();
        }
    } all{*this};
    for (cargo& each : cargoes_) {
        future<> ordered = each.under_way.wait_on(on);
        co_await std::move(ordered);
    }
    all.well = true;
}

task<> reducer::state::agree() {
    gradient_marks::ending here(marks_);
    marks_.check();
    auto comparison = pipeline_->compared();
    co_await std::move(comparison);
    if (auto why = pipeline_->why()) throw failure(*why);
    auto difference = check_agreement();
    co_await std::move(difference);
    here.succeed();
}

task<> reducer::state::check_agreement() {
    if (agreed()) co_return;
    auto telling = marks_.disagree(plans_->lists->difference());
    co_await std::move(telling);
}

// ---- what users hold

reducer::reducer(communicator& over, std::vector<parameter> parameters, reducer_options options)
    : state_(state::make(over, std::move(parameters), options)) {}
reducer::~reducer() {
    if (!state_->made().here()) leave_alone(std::move(state_));
}

void reducer::ready(std::size_t parameter, const stream& behind) { state_->set(parameter, gradient_marks::mark::ready, &behind); }
void reducer::ready(std::size_t parameter) { state_->set(parameter, gradient_marks::mark::ready, nullptr); }
void reducer::mark_unused(std::size_t parameter, const stream& behind) { state_->set(parameter, gradient_marks::mark::unused, &behind); }
void reducer::mark_unused(std::size_t parameter) { state_->set(parameter, gradient_marks::mark::unused, nullptr); }
task<> reducer::finish_on(stream compute) { return tutti::detail::bind_to_loop(state_->loop(), state_->finish(std::move(compute))); }
task<> reducer::finish() { return tutti::detail::bind_to_loop(state_->loop(), state_->finish(std::nullopt)); }
task<> reducer::agree() { return tutti::detail::bind_to_loop(state_->loop(), state_->agree()); }
void reducer::accumulate(int passes) { state_->accumulate(passes); }
device_span reducer::gradient(std::size_t parameter) const { return state_->gradient(parameter); }
std::span<const bucket> reducer::buckets() const noexcept { return state_->plan().buckets; }
reducer_stats reducer::stats() const { return state_->stats(); }

}  // namespace tutti::gpu
