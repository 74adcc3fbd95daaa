#include "gpu/sim/state.hpp"

#include <tutti/event_loop.hpp>

#include "base/check.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace tutti::gpu::sim {
namespace {

std::atomic<machine*> living{nullptr};

}  // namespace

machine::machine(options how) : state_(std::make_unique<state>(*this, std::move(how))) {
    TUTTI_CHECK(living.exchange(this) == nullptr, "one simulated machine lives at a time");
}

machine::~machine() {
    const std::string wrong = end();
    living = nullptr;
    if (wrong.empty()) return;
    std::fprintf(stderr, "a simulated machine ends, and nobody has asked what was wrong:\n%s", wrong.c_str());
    std::abort();
}

machine* machine::current() { return living; }

const options& machine::how() const { return state_->how; }

time_point machine::now() const {
    const machine_lock lock(state_->guard);
    return state_->now();
}

void machine::advance(duration length) {
    machine_lock lock(state_->guard);
    state_->advance(lock, state_->now() + length);
}

bool machine::step() {
    machine_lock lock(state_->guard);
    return state_->step(lock);
}

void machine::run() {
    while (step()) continue;
}

void machine::drive(event_loop& loop) {
    const machine_lock lock(state_->guard);
    TUTTI_CHECK(state_->how.engine == engine::stepped && loop.has_virtual_time(), "virtual time drives the stepped engine");
    TUTTI_CHECK(state_->loop == nullptr, "a machine is driven by one loop");
    state_->loop = &loop;
    state_->loop_thread = std::this_thread::get_id();
    state_->woken();
}

void machine::offer(sim::kernel what) {
    const machine_lock lock(state_->guard);
    std::string name = what.name;
    state_->kernels.insert_or_assign(std::move(name), std::move(what));
}

std::byte* machine::shadow(CUdeviceptr address) const {
    const machine_lock lock(state_->guard);
    return state_->memory.shadow(address);
}

int machine::number_of(CUstream handle) const {
    const machine_lock lock(state_->guard);
    if (state_->known_streams.contains(handle)) return reinterpret_cast<stream*>(handle)->number;
    context* const home = state_->here();
    return home != nullptr && home->null_stream != nullptr ? home->null_stream->number : -1;
}

bool machine::idle() const {
    const machine_lock lock(state_->guard);
    for (const auto& each : state_->streams)
        if (!each->queue.empty()) return false;
    return true;
}

void machine::fault(int device, CUresult what) {
    const machine_lock lock(state_->guard);
    state_->contexts.at(static_cast<std::size_t>(device))->fault = what;
    state_->woken();
}

void machine::fail(std::string_view entry_point, int code, int after, int times) {
    const machine_lock lock(state_->guard);
    state_->failures[std::string(entry_point)] = {code, after, times};
}

void machine::stick(std::string_view entry_point) {
    const machine_lock lock(state_->guard);
    state_->sticking.emplace(entry_point);
}

void machine::release(std::string_view entry_point) {
    const machine_lock lock(state_->guard);
    if (const auto found = state_->sticking.find(entry_point); found != state_->sticking.end()) state_->sticking.erase(found);
    state_->changed.notify_all();
}

int machine::stuck(std::string_view entry_point) const {
    const machine_lock lock(state_->guard);
    const auto found = state_->stuck.find(entry_point);
    return found == state_->stuck.end() ? 0 : found->second;
}

void machine::slow(std::string_view entry_point, duration length) {
    const machine_lock lock(state_->guard);
    state_->slowness[std::string(entry_point)] = length;
}

void machine::delay_host_functions(duration length) {
    const machine_lock lock(state_->guard);
    state_->host_function_delay = length;
}

void machine::never_call_host_functions() {
    const machine_lock lock(state_->guard);
    state_->host_functions_called = false;
}

std::size_t machine::calls(std::string_view entry_point) const {
    const machine_lock lock(state_->guard);
    std::size_t all = 0;
    if (const auto found = state_->calls.find(entry_point); found != state_->calls.end())
        for (const auto& [who, times] : found->second) all += times;
    return all;
}

std::size_t machine::own_calls(std::string_view entry_point) const {
    const machine_lock lock(state_->guard);
    const auto found = state_->calls.find(entry_point);
    if (found == state_->calls.end()) return 0;
    const auto mine = found->second.find(std::this_thread::get_id());
    return mine == found->second.end() ? 0 : mine->second;
}

trace machine::trace() const {
    const machine_lock lock(state_->guard);
    return state_->history;
}

void machine::forget_trace() {
    const machine_lock lock(state_->guard);
    state_->history = {};
}

void machine::name_thread(std::string name) {
    const machine_lock lock(state_->guard);
    state_->thread_names[std::this_thread::get_id()] = std::move(name);
}

std::vector<std::string> machine::take_misuse() {
    const machine_lock lock(state_->guard);
    return std::exchange(state_->wrong, {});
}

std::string machine::end() {
    machine_lock lock(state_->guard);
    if (!state_->ended) {
        if (event_loop* const loop = std::exchange(state_->loop, nullptr)) {
            loop->stop_timer(state_->alarm);
            loop->withdraw(state_->rearm);
        }
        state_->end_threads(lock);
        state_->look_for_leaks();
        state_->ended = true;
    }
    std::string all;
    for (const std::string& each : std::exchange(state_->wrong, {})) all += each + "\n";
    return all;
}

}  // namespace tutti::gpu::sim
