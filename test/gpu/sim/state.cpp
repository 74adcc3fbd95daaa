#include "gpu/sim/state.hpp"

#include <atomic>

namespace tutti::gpu::sim {
namespace {

std::uint64_t next_id() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

thread_local thread_state of_this_thread;

}  // namespace

machine::state::state(machine& owner, options chosen) : how(std::move(chosen)), id(next_id()), random(how.seed), ranks(owner) {
    ranks.polls = how.polls;
    for (int device = 0; device < how.devices; ++device) {
        contexts.push_back(std::make_unique<context>());
        contexts.back()->device = device;
    }
}

thread_state& machine::state::self() const {
    if (of_this_thread.machine != id) {
        of_this_thread = {};
        of_this_thread.machine = id;
    }
    return of_this_thread;
}

std::string machine::state::thread_name(std::thread::id who) const {
    std::string& name = thread_names[who];
    if (name.empty()) name = "thread " + std::to_string(thread_names.size());
    return name;
}

void machine::state::misuse(const std::string& what) { wrong.push_back(this_thread() + ": " + what); }

context* machine::state::context_of(CUcontext handle) {
    for (const auto& each : contexts)
        if (reinterpret_cast<CUcontext>(each.get()) == handle) return each.get();
    return nullptr;
}

context* machine::state::here() {
    context* const found = context_of(self().current);
    return found != nullptr && found->retained > 0 ? found : nullptr;
}

stream* machine::state::make_stream(context& home, bool with_null_stream) {
    auto made = std::make_unique<stream>();
    made->number = static_cast<int>(streams.size());
    made->home = &home;
    made->with_null_stream = with_null_stream;
    stream* const where = made.get();
    known_streams.insert(where);
    streams.push_back(std::move(made));
    if (how.engine == engine::threaded) where->worker = std::thread([this, where] { work_on(*where); });
    return where;
}

std::string machine::state::name_of(const stream& which) const {
    if (which.home->null_stream == &which) return "the null stream of device " + std::to_string(which.home->device);
    return "stream " + std::to_string(which.number) + " of device " + std::to_string(which.home->device);
}

void machine::state::end_threads(machine_lock& lock) {
    ending = true;
    changed.notify_all();
    lock.unlock();
    for (std::size_t index = 0; index < streams.size(); ++index)
        if (streams[index]->worker.joinable()) streams[index]->worker.join();
    lock.lock();
}

void machine::state::look_for_leaks() {
    const auto leaked = [this](const std::string& what) { wrong.push_back("at the end: " + what + " was never given back"); };
    for (const auto& each : streams)
        if (!each->destroyed && each->home->null_stream != each.get()) leaked(name_of(*each));
    for (const auto& each : events)
        if (!each->destroyed) leaked("event " + std::to_string(each->number) + " of device " + std::to_string(each->home->device));
    for (const auto& each : code)
        if (!each->unloaded) leaked("code of device " + std::to_string(each->home->device));
    for (const auto& [address, each] : memory.all()) {
        if (each.freed) continue;
        constexpr const char* kinds[] = {"device", "pinned", "registered"};
        leaked(std::string(kinds[static_cast<int>(each.what)]) + " memory of " + std::to_string(each.bytes) + " bytes");
    }
    for (const std::string& each : ranks.leaks()) leaked(each);
    for (const auto& each : contexts)
        if (each->retained > 0) leaked("the context of device " + std::to_string(each->device));
}

}  // namespace tutti::gpu::sim
