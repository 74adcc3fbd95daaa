#include "runtime/loop_state.hpp"
#include "runtime/readiness.hpp"

#include <tutti/asio.hpp>
#include <tutti/error.hpp>

#include <algorithm>
#include <utility>

namespace tutti {

constinit thread_local event_loop* detail::current_loop = nullptr;

event_loop::event_loop() : impl_(std::make_unique<impl>(*this)) { impl_->io_work.emplace(impl_->own_io().get_executor()); }

event_loop::event_loop(virtual_time_t) : impl_(std::make_unique<impl>(*this)) { impl_->virtual_time = true; }

event_loop::event_loop(const detail::any_host& where) : impl_(std::make_unique<impl>(*this)) {
    impl_->guest_state = std::make_shared<detail::guest>(*this, where);
}

event_loop::~event_loop() {
    if (!impl_->made.here()) {
        leave_alone(std::move(impl_));
        return;
    }
    impl_->vacate();
    help(nullptr);
    if (impl_->guest_state) impl_->guest_state->leave();
    const std::lock_guard lock(impl_->mutex);  // a thread that has posted may still hold it
}

void event_loop::run() {
    impl& state = *impl_;
    state.check_process();
    if (state.guest_state) throw failure(error::invalid_argument, "a guest loop is run by its host");
    if (here()) throw failure(error::invalid_argument, "a loop is run from its own work");
    const detail::presence guard(*this);
    while (!state.stopping.load(std::memory_order_acquire)) {
        if (state.driven_by.load(std::memory_order_relaxed) != impl::driver::owner) state.regain_ticket();
        else if (state.wanted.load(std::memory_order_relaxed)) state.lend_ticket();
        else if (!state.virtual_time) state.turn(nullptr);
        else if (!state.virtual_turn()) break;
        state.check_process();  // a task may have forked
    }
    std::unique_lock lock(state.mutex);
    state.rest.wait(lock, [&state] { return state.driven_by == impl::driver::owner || state.take(impl::driver::owner); });
    state.driven_by = impl::driver::nobody;
    state.stopping.store(false, std::memory_order_release);
}

void event_loop::stop() noexcept {
    if (impl_->guest_state || !impl_->made.here()) return;
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
    impl_->wake();
    impl_->rest.notify_one();
}

void event_loop::post(detail::runnable& work) noexcept {
    if (!impl_->made.here()) return;
    if (here()) {
        impl_->take_remote();  // keeps the order: that work was posted before
        impl_->local.push(work);
        return;
    }
    const std::lock_guard lock(impl_->mutex);
    impl_->remote.push(work);
    impl_->remote_waiting.store(true, std::memory_order_relaxed);
    impl_->wake();
}

/// A destroyed loop has let go of all its work, so `impl_` is touched only for work that is queued.
void event_loop::withdraw(detail::runnable& work) noexcept {
    if (!detail::work_list::queued(work)) return;
    const std::lock_guard lock(impl_->mutex);  // other threads may be posting its neighbours
    detail::work_list::remove(work);
}

void event_loop::start_timer(detail::timer& work, time_point when) {
    if (!impl_->made.here()) return;
    impl_->timers.push(work, when);
    if (impl_->guest_state && !here()) impl_->guest_state->look_again();
}

/// Like withdraw(): a destroyed loop is not touched.
void event_loop::stop_timer(detail::timer& work) noexcept {
    if (detail::timer_heap::started_here(work)) impl_->timers.remove(work);
}

bool event_loop::has_virtual_time() const noexcept { return impl_->virtual_time; }

time_point event_loop::now() const noexcept {
    return impl_->virtual_time ? impl_->virtual_now : time_point(std::chrono::steady_clock::now());
}

bool event_loop::here() const noexcept { return detail::current_loop == this; }

event_loop* event_loop::current() noexcept { return detail::current_loop; }

void event_loop::impl::check_process() const {
    if (!made.here()) throw made.foreign("event loop");
}

// ---- what lives on a loop

void event_loop::impl::vacate() noexcept {
    for (;;) {
        std::unique_lock lock(mutex);
        if (dependents.empty()) break;
        detail::dependent* const last = dependents.back();
        dependents.pop_back();
        lock.unlock();
        last->let_go();
    }
    end_residents();
    loop_locals.clear();
}

void event_loop::impl::end_residents() noexcept {
    newcomers.close();
    const detail::forsaking guard;
    residents.reset();
}

void event_loop::impl::add(detail::dependent& one) {
    const std::lock_guard lock(mutex);
    dependents.push_back(&one);
}

void event_loop::impl::remove(detail::dependent& one) noexcept {
    const std::lock_guard lock(mutex);
    std::erase(dependents, &one);
}

namespace detail {

dependent::dependent(event_loop& loop) : loop_(&loop) {
    loop.inner().check_process();
    loop.inner().add(*this);
}

dependent::~dependent() {
    if (loop_ != nullptr) loop_->inner().remove(*this);
}

void end_residents(event_loop& loop) noexcept { loop.inner().end_residents(); }

std::exception_ptr foreignness_of(event_loop& loop) {
    const birthplace& made = loop.inner().made;
    return made.here() ? nullptr : std::make_exception_ptr(made.foreign("event loop"));
}

}  // namespace detail

// ---- turns

asio::io_context& event_loop::impl::own_io() {
    if (!io) io.emplace(1);
    return *io;
}

void event_loop::impl::take_remote() noexcept {
    if (!remote_waiting.load(std::memory_order_relaxed)) return;
    const std::lock_guard lock(mutex);
    local.take(remote);
    tired_at = {};
    remote_waiting.store(false, std::memory_order_relaxed);
}

void event_loop::impl::wake() {
    if (guest_state) {
        guest_state->schedule();
    } else if (asleep_in) {
        asleep_in->stop();  // unlike a handler posted to it, this allocates nothing
        asleep_in = nullptr;
    } else if (helper && driven_by.load(std::memory_order_relaxed) == driver::nobody) {
        call_the_owner();
    }
}

/// One turn: does all that can be done, and waits if there was nothing. `visitor` is the helper's loop when its thread drives.
void event_loop::impl::turn(impl* visitor) {
    hastened = begun = 0;
    take_remote();
    run_batch();
    if (!made.here()) return;
    look_at_clock(visitor ? until_clock : 0);
    if (!visitor && idle() && helped && !waits() && drive_helped()) return;
    turns += whole_turn;
    if (turns - polled_at >= until_poll) poll_io(batch / 4);  // so that work does not starve sockets
    if (!idle() || !postponed.empty()) {
        stirred = false;
        if (!eager.empty() || !postponed.empty()) try_eager();
        if (stirred) tired_at = {};
    } else if (!spin(visitor) && !(visitor && visitor->called())) {
        sleep(visitor);
    }
}

/// Returns false when nothing can ever run again.
bool event_loop::impl::virtual_turn() {
    take_remote();
    run_batch();
    if (!timers.empty()) fire_timers(virtual_now);
    if (idle()) return jump();
    poll_io(batch / 4);
    return true;
}

void event_loop::impl::run_batch() noexcept {
    for (int i = 0; i < batch && !stopping.load(std::memory_order_relaxed) && made.here(); ++i) {
        detail::runnable* work = local.pop();
        if (work == nullptr) return;
        work->run();
    }
}

void event_loop::impl::fire_timers(time_point now) noexcept {
    const std::uint64_t before = timers.started();
    while (!stopping.load(std::memory_order_relaxed)) {
        detail::timer* due = timers.pop(now, before);
        if (due == nullptr) return;
        due->run();
    }
}

bool event_loop::impl::look_at_clock(unsigned after) noexcept {
    const bool late = time_has_passed.load(std::memory_order_relaxed);
    if (!late && (timers.empty() || turns - clocked_at < after)) return false;
    if (late) time_has_passed.store(false, std::memory_order_relaxed);
    clocked_at = turns;
    if (!timers.empty()) fire_timers(self.now());
    return late;
}

bool event_loop::impl::poll_io(int limit) {
    polled_at = turns;
    if (!io) return true;
    arm_lazy();
    io->restart();
    for (int i = 0; i < limit && made.here(); ++i)
        if (io->poll_one() == 0) return true;
    return false;
}

/// Virtual time: asks the sockets, then moves the clock to the next timer. Returns false when nothing can ever run again.
bool event_loop::impl::jump() {
    arm_all();
    if (io) {
        io->restart();
        if (io->poll() != 0) return true;
    }
    if (!idle()) return true;
    if (timers.next() == no_deadline) return false;
    virtual_now = std::max(virtual_now, timers.next());
    return true;
}

}  // namespace tutti
