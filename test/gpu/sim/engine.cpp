// Time, and what it does to the streams. Stepped: the thread that moves the clock serves all of them. Threaded: each has a thread.
#include "gpu/sim/state.hpp"

#include <tutti/event_loop.hpp>

#include <algorithm>
#include <numeric>

namespace tutti::gpu::sim {

time_point machine::state::now() {
    if (how.engine == engine::threaded) return std::chrono::steady_clock::now();
    if (loop != nullptr && loop_thread == std::this_thread::get_id()) clock = std::max(clock, loop->now());
    return clock;
}

CUresult machine::state::enqueue(stream& where, std::shared_ptr<work> what) {
    if (where.claimed_by != nullptr && what->comm != where.claimed_by)
        misuse(what->name + " on " + name_of(where) + " while " + ranks.name_of(where.claimed_by) +
               " is in progress: nothing may be enqueued there before ncclCommGetAsyncError has said success");
    what->enqueued = now();
    if (where.capture) {
        what->ending->captured = true;
        if (what->comm != nullptr) misuse(what->name + " on " + name_of(where) + ", which is being captured");
        return where.capture->broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
    }
    const bool is_null = where.home->null_stream == &where;
    for (const auto& other : streams) {
        if (other->home != where.home || !other->with_null_stream || !is_null) continue;
        if (other->capture) {
            other->capture->broken = true;
            misuse(what->name + " on the null stream while " + name_of(*other) + ", which waits for it, is being captured");
            return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
        if (other->last) what->after.push_back(other->last);
    }
    if (where.with_null_stream && where.home->null_stream != nullptr && where.home->null_stream->last)
        what->after.push_back(where.home->null_stream->last);
    where.last = what->ending;
    where.queue.push_back(std::move(what));
    woken();
    return CUDA_SUCCESS;
}

namespace {

/// Returns whether the memory is still there; else the work must not touch it.
bool may_touch(machine::state& on, const stream& where, const work& what) {
    for (const touch& each : what.touches) {
        const allocation* found = on.memory.find(each.address);
        if (found != nullptr && !found->freed) continue;
        on.wrong.push_back(what.name + " on " + on.name_of(where) + " touches memory that " +
                           (found ? found->freed_by + " has freed" : "was unregistered") + " while it was queued");
        return false;
    }
    return true;
}

void begin(machine::state& on, work& what) {
    what.now = work::phase::running;
    what.started = on.now();
    if (what.engine_free != nullptr) what.started = std::max(what.started, *what.engine_free);
    what.due = what.started + what.length;
    if (on.how.jitter > duration{})
        what.due += duration(static_cast<duration::rep>(on.random() % static_cast<std::uint64_t>(on.how.jitter.count() + 1)));
    if (what.engine_free != nullptr) *what.engine_free = what.due;
    if (what.arrive) what.arrive();
    on.woken();
}

}  // namespace

bool machine::state::progress(stream& where, machine_lock& lock) {
    if (where.busy || where.queue.empty() || where.home->fault != CUDA_SUCCESS) return false;
    const std::shared_ptr<work> first = where.queue.front();
    bool begun = false;
    if (first->now == work::phase::waiting && !first->dropped) {
        if (!std::all_of(first->after.begin(), first->after.end(), [](const auto& each) { return each->done; })) return false;
        begin(*this, *first);
        begun = true;
    }
    if (!first->dropped) {
        const std::optional<time_point> due = first->end ? first->end() : first->due;
        if (!due || *due > now()) return begun;
        where.busy = true;
        if (may_touch(*this, where, *first)) {
            if (first->body) {
                lock.unlock();
                first->body();
                lock.lock();
            }
            if (first->settle) first->settle();
        }
        where.busy = false;
        if (where.home->fault != CUDA_SUCCESS) return true;
        const time_point end = how.engine == engine::threaded ? now() : *due;
        history.intervals.push_back(
            {first->kind, first->name, where.number, where.home->device, first->bytes, first->enqueued, first->started, end});
    }
    first->now = work::phase::ended;
    first->ending->done = true;
    if (!where.queue.empty() && where.queue.front() == first) where.queue.pop_front();
    woken();
    return true;
}

bool machine::state::settle(machine_lock& lock) {
    bool any = false;
    for (bool again = true; again;) {
        again = false;
        std::vector<std::size_t> order(streams.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t index : order)
            if (progress(*streams[index], lock)) again = any = true;
    }
    return any;
}

std::optional<time_point> machine::state::next() const {
    std::optional<time_point> first;
    if (!sleepers.empty()) first = *sleepers.begin();
    for (const auto& each : streams) {
        if (each->busy || each->queue.empty() || each->home->fault != CUDA_SUCCESS) continue;
        const work& head = *each->queue.front();
        if (head.now != work::phase::running) continue;
        const std::optional<time_point> due = head.end ? head.end() : head.due;
        if (due && *due > clock && (!first || *due < *first)) first = due;
    }
    return first;
}

bool machine::state::step(machine_lock& lock) {
    now();
    if (settle(lock)) return true;
    const std::optional<time_point> when = next();
    if (!when) return false;
    clock = std::max(clock, *when);
    changed.notify_all();
    settle(lock);
    return true;
}

void machine::state::advance(machine_lock& lock, time_point until) {
    settle(lock);
    for (auto when = next(); when && *when <= until; when = next()) {
        clock = std::max(clock, *when);
        changed.notify_all();
        settle(lock);
        if (sleepers.contains(*when)) break;  // who slept goes on first
    }
    clock = std::max(clock, until);
    changed.notify_all();
    settle(lock);
}

// For a call that blocks. The clock belongs to the thread of the loop that drives the machine, unless that stands still.
bool machine::state::move_on(machine_lock& lock, time_point since, time_point moved) {
    const bool mine = loop == nullptr || loop_thread == std::this_thread::get_id();
    if (mine ? step(lock) : settle(lock)) return true;
    changed.wait_for(lock, std::chrono::milliseconds(1));
    const time_point now = std::chrono::steady_clock::now();
    if (!mine && now - moved > std::chrono::milliseconds(500) && step(lock)) return true;
    return now - since < how.patience;
}

void machine::state::drain(machine_lock& lock, const std::string& what, const context& home) {
    if (how.engine != engine::threaded) return;
    std::vector<std::shared_ptr<mark>> all;
    for (const auto& each : streams)
        if (each->home == &home && each->last) all.push_back(each->last);
    wait(lock, what,
         [&] { return home.fault != CUDA_SUCCESS || std::all_of(all.begin(), all.end(), [](const auto& each) { return each->done; }); });
}

void machine::state::spend(machine_lock& lock, duration length) {
    if (how.engine == engine::threaded) {
        const time_point until = now() + length;
        while (!ending && now() < until) changed.wait_until(lock, until);
    } else if (loop != nullptr && loop_thread != std::this_thread::get_id()) {
        const time_point until = clock + length;
        const auto mine = sleepers.insert(until);
        woken();
        wait(lock, "a slow call", [&] { return clock >= until; });
        sleepers.erase(mine);
    } else {
        advance(lock, now() + length);
    }
}

void machine::state::work_on(stream& where) {
    machine_lock lock(guard);
    while (!ending && !(where.destroyed && where.queue.empty())) {
        if (progress(where, lock)) continue;
        if (ending) break;
        const work* const head = where.queue.empty() ? nullptr : where.queue.front().get();
        std::optional<time_point> due;
        if (head != nullptr && head->now == work::phase::running && where.home->fault == CUDA_SUCCESS)
            due = head->end ? head->end() : head->due;
        if (due) changed.wait_until(lock, *due);
        else changed.wait(lock);
    }
}

void machine::state::woken() {
    changed.notify_all();
    if (loop == nullptr) return;
    if (loop_thread == std::this_thread::get_id()) arm();
    else if (!rearming.exchange(true)) loop->post(rearm);
}

void machine::state::arm() noexcept {
    loop->stop_timer(alarm);
    loop->start_timer(alarm, loop->now());
}

void machine::state::arm_for_another_thread() noexcept {
    rearming = false;
    arm();
}

void machine::state::fire() noexcept {
    machine_lock lock(guard);
    advance(lock, loop->now());
    loop->stop_timer(alarm);
    if (const auto when = next()) loop->start_timer(alarm, *when);
}

std::string machine::state::user_of(CUdeviceptr address, std::size_t bytes) const {
    for (const auto& where : streams) {
        if (where->home->fault != CUDA_SUCCESS) continue;
        for (const auto& each : where->queue)
            for (const touch& part : each->touches)
                if (part.address < address + bytes && address < part.address + part.bytes && !each->dropped)
                    return each->name + " on " + name_of(*where);
    }
    return {};
}

}  // namespace tutti::gpu::sim
