#include "gpu/poller.hpp"

#include "runtime/loop_local.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace tutti::gpu {
namespace {

// The time before an expected event at which the loop begins to try.
constexpr duration lead = std::chrono::microseconds(50);
// The length of one turn of a spinning loop in virtual time.
constexpr duration virtual_turn = std::chrono::microseconds(1);
// The waiters for which memory is kept while nothing is pending.
constexpr std::size_t kept_lines = 16;

}  // namespace

std::uint32_t kind_of(std::uint32_t sort, std::size_t bytes) noexcept {
    return (sort * 67 + static_cast<std::uint32_t>(std::bit_width(bytes))) % 255 + 1;
}

poller& poller::of(const std::shared_ptr<device_state>& device, event_loop& loop) {
    auto& place = detail::loop_local(loop, device);
    if (!place) place = std::make_shared<poller>(loop, device->options());
    return *std::static_pointer_cast<poller>(place);
}

poller::poller(event_loop& loop, const device_options& options)
    : detail::poll_source(loop),
      options_(options),
      interval_(options.shortest),
      timer_(loop, dated_),
      wakeup_(std::make_shared<driver_wakeup>(loop, called_)) {}

poller::~poller() {
    wakeup_->leave();
    stop_waiting();
    for (stream_line& each : lines_) each.take(came_);
    for (watched* each : came_) each->forsaken();
    rest();
}

stream_line& poller::line_of(std::uint64_t stream) {
    const auto found = std::find_if(lines_.begin(), lines_.end(), [stream](const stream_line& each) { return each.stream == stream; });
    return found != lines_.end() ? *found : lines_.emplace_back(stream);
}

void poller::add(watched& who) {
    const event_state& state = *who.what().inner();
    if (!device_) device_ = state.card();
    const time_point now = loop_.now();
    who.issue(now);
    line_of(state.stream).add(who);
    ++pending_;
    news_ = now;
    hot_until_ = later(now, options_.hot);
    interval_ = options_.shortest;
    if (!sweeping_) look_again();
}

void poller::run() noexcept {
    looking_ = false;
    timer_.stop();
    sweeping_ = true;
    sweep();
    pending_ -= came_.size();
    if (pending_ == 0) rest();  // before the waiters learn of it, so that the last of them to release the device ends it
    tell();
    sweeping_ = false;
    if (pending_ != 0) look_again();
}

// ---- a sweep

void poller::sweep() {
    if (pending_ == 0) return;
    if (device_->fault()) return fail_all();
    const on_device here(device_->driver(), device_->context());
    for (stream_line& each : lines_) {
        const std::size_t before = came_.size();
        const answer said = each.reap(came_);
        learn(each, before);
        if (came_.size() != before) each.last_came = loop_.now();
        if (said == answer::broken) return fail_all();
    }
    looked_ = loop_.now();
}

/// Fails all waiters but those whose events were found to have come, which are at the front of `came_`.
void poller::fail_all() {
    why_ = device_->fault();
    came_well_ = came_.size();
    for (stream_line& each : lines_) each.take(came_);
}

/// Takes the time at which the event was last seen pending: an event that was found late must not be expected late. Events that are found together are not
/// counted.
void poller::learn(stream_line& line, std::size_t came_before) {
    if (came_.size() != came_before + 1) return;
    const watched& one = *came_.back();
    const time_point began = std::max(one.issued(), line.last_came);
    const duration took = std::max(looked_, began) - began;
    duration& usual = one.kind() == 0 ? line.usual : usual_[one.kind() % usual_.size()];
    usual = took > usual ? took : (3 * usual + took) / 4;
}

/// A waiter that is told may add others.
void poller::tell() noexcept {
    if (came_.empty()) return;
    const time_point now = loop_.now();
    news_ = now;
    hot_until_ = later(now, options_.hot);
    interval_ = options_.shortest;
    told_.swap(came_);
    const failure* const why = std::exchange(why_, nullptr);
    for (std::size_t i = 0; i < told_.size(); ++i) told_[i]->came(why && i >= came_well_ ? why : nullptr);
    told_.clear();
}

// ---- the next one

bool poller::hot(time_point now) const {
    switch (options_.polling) {
        case poll_mode::spin: return true;
        case poll_mode::timer:
        case poll_mode::host_function: return false;
        case poll_mode::adaptive:
        case poll_mode::thread: break;
    }
    if (now < hot_until_) return true;
    return std::any_of(lines_.begin(), lines_.end(), [&](const stream_line& each) {
        const time_point soon = predicted(each);
        return soon != no_deadline && soon - lead <= now && now < later(soon, options_.hot);
    });
}

time_point poller::predicted(const stream_line& line) const {
    if (line.empty()) return no_deadline;
    const std::uint32_t kind = line.front().kind();
    const duration usual = kind == 0 ? line.usual : usual_[kind % usual_.size()];
    return usual == duration{} ? no_deadline : std::max(line.front().issued(), line.last_came) + usual;
}

/// For a loop that goes to sleep.
time_point poller::next_date(time_point now) {
    calls_wanted_ = false;
    if (options_.polling == poll_mode::spin) return now + virtual_turn;
    if (options_.polling == poll_mode::host_function) {
        calls_wanted_ = true;
        return later(now, options_.watchdog);
    }
    if (hot(now)) {
        interval_ = options_.shortest;
        return later(now, options_.shortest);
    }
    time_point date = now + interval_;
    interval_ = std::min(2 * interval_, options_.longest);
    if (options_.polling == poll_mode::timer) return date;
    if (now - news_ >= options_.cold) {
        calls_wanted_ = true;
        date = later(now, options_.watchdog);
    }
    for (const stream_line& each : lines_)
        if (const time_point soon = predicted(each); soon != no_deadline && soon - lead > now) date = std::min(date, soon - lead);
    return date;
}

void poller::look_again() {
    const time_point now = loop_.now();
    next_look_ = next_date(now);
    const bool soon = hot(now);
    if (timer_.when() != no_deadline && timer_.when() > next_look_) timer_.start(next_look_);
    expect(soon);
    if (soon) stir();
    if (!std::exchange(looking_, true)) wait();
    else if (calls_wanted_) ask_for_calls();  // it may have been armed before
}

/// The loop is about to sleep, or asks the kernel on the way.
void poller::arm() {
    if (options_.polling == poll_mode::spin && !loop_.has_virtual_time()) return ready();
    if (timer_.when() > next_look_) timer_.start(next_look_);
    if (calls_wanted_) ask_for_calls();
}

void poller::dated() noexcept { ready(); }

void poller::called() noexcept {
    wakeup_->heard();
    ready();
}

/// Nothing is pending: no date, and nothing of the device is kept.
void poller::rest() noexcept {
    timer_.stop();
    if (!device_) return;
    for (stream_line& each : lines_)
        if (each.notifying) device_->notifying().give(std::exchange(each.notifying, nullptr));
    if (lines_.size() > kept_lines) lines_.clear();
    device_.reset();
}

// ---- host functions

void poller::ask_for_calls() {
    if (device_->fault()) return;
    const on_device here(device_->driver(), device_->context());
    for (stream_line& each : lines_)
        if (!each.empty() && each.called_for != each.front().what().inner()->ticket) ask_for_call(each);
}

/// Puts a host function behind the event, on a stream that carries no work, because it holds up the work behind it. If that fails, the poller still looks
/// every 10 ms.
void poller::ask_for_call(stream_line& line) {
    const driver_table& driver = device_->driver();
    if (!line.notifying) line.notifying = device_->notifying().take();
    if (!line.notifying) return;
    const event_state& oldest = *line.front().what().inner();
    line.called_for = oldest.ticket;
    if (driver.cuStreamWaitEvent(line.notifying, oldest.handle, 0) != CUDA_SUCCESS) return;
    wakeup_->expect();
    const auto wake = [](void* which) { static_cast<driver_wakeup*>(which)->wake(); };
    if (driver.cuLaunchHostFunc(line.notifying, wake, wakeup_.get()) != CUDA_SUCCESS) wakeup_->expect_less();
}

}  // namespace tutti::gpu
