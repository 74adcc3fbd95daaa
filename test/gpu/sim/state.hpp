// The inside of a machine, for its own files: what is behind the handles, and the engine that moves it.
//
// One lock guards everything. It is let go while a body runs: a kernel's, a copy's, a host function.
#pragma once

#include "gpu/sim/kernel.hpp"
#include "gpu/sim/machine.hpp"
#include "gpu/sim/memory.hpp"
#include "gpu/sim/nccl_ranks.hpp"

#include <tutti/detail/timer.hpp>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <utility>

namespace tutti::gpu::sim {

using machine_lock = std::unique_lock<std::mutex>;

/// The knowledge that a machine has of a thread.
struct thread_state {
    std::uint64_t machine = 0;  // whose
    CUcontext current = nullptr;
    CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    bool in_host_function = false;
    int group_depth = 0;
    std::vector<group_part> group;
    std::string host;
};

struct failing {
    int code = 0;
    int after = 0;
    int times = 0;
};

struct machine::state {
    state(machine& owner, options how);

    // state.cpp
    thread_state& self() const;
    std::string thread_name(std::thread::id who) const;
    std::string this_thread() const { return thread_name(std::this_thread::get_id()); }
    /// "thread 2: what"
    void misuse(const std::string& what);
    void end_threads(machine_lock& lock);
    void look_for_leaks();

    context* context_of(CUcontext handle);
    /// The context of this thread, or null.
    context* here();
    stream* make_stream(context& home, bool with_null_stream);
    /// Null, and misuse, where there is no such stream or event.
    stream* stream_of(CUstream handle);
    event* event_of(CUevent handle);
    std::string name_of(const stream& which) const;

    // engine.cpp
    time_point now();
    /// Appends to a stream; with an error nothing is.
    CUresult enqueue(stream& where, std::shared_ptr<work> what);
    /// Moves the first work of a stream on; whether anything has changed.
    bool progress(stream& where, machine_lock& lock);
    bool settle(machine_lock& lock);
    /// When the next work that is running ends.
    std::optional<time_point> next() const;
    bool step(machine_lock& lock);
    void advance(machine_lock& lock, time_point until);
    /// For calls that block; false when they were given up.
    template <class Done>
    bool wait(machine_lock& lock, const std::string& what, Done done);
    bool move_on(machine_lock& lock, time_point since, time_point moved);
    /// Until what is enqueued in the context now is done. Not with the stepped engine, where the thread that waits may be the one who ends it.
    void drain(machine_lock& lock, const std::string& what, const context& home);
    void spend(machine_lock& lock, duration length);
    void work_on(stream& where);
    void woken();  // something may run that could not before
    void fire() noexcept;
    void arm() noexcept;
    void arm_for_another_thread() noexcept;
    /// Names the queued work that touches the memory; empty if none does.
    std::string user_of(CUdeviceptr address, std::size_t bytes) const;

    // capture.cpp
    /// Null, or why this thread may not make an unsafe call now; the capture is then broken.
    const char* captured_elsewhere();

    const options how;
    const std::uint64_t id;
    mutable std::mutex guard;
    std::condition_variable changed;
    bool ending = false;
    bool ended = false;

    time_point clock{};
    event_loop* loop = nullptr;
    std::thread::id loop_thread;
    detail::alarm<&state::fire> alarm{*this};
    detail::callback<&state::arm_for_another_thread> rearm{*this};
    std::atomic<bool> rearming = false;
    std::multiset<time_point> sleepers;
    std::mt19937_64 random;

    std::vector<std::unique_ptr<context>> contexts;  // by device
    std::vector<std::unique_ptr<stream>> streams;
    std::vector<std::unique_ptr<event>> events;
    std::set<const void*> known_streams, known_events;  // also destroyed ones
    std::map<std::string, kernel, std::less<>> kernels;
    std::vector<std::unique_ptr<loaded_code>> code;
    std::vector<std::unique_ptr<function>> functions;
    sim::memory memory;
    nccl_ranks ranks;

    std::vector<std::string> wrong;
    sim::trace history;
    std::mutex host_functions;  // one at a time
    duration host_function_delay{};
    bool host_functions_called = true;

    struct entered {
        std::string name;
        ncclComm_t comm;
        std::thread::id thread;
    };
    std::vector<entered> inside;
    std::map<std::string, std::map<std::thread::id, std::size_t>, std::less<>> calls;
    std::set<std::string, std::less<>> sticking;
    std::map<std::string, int, std::less<>> stuck;
    std::map<std::string, duration, std::less<>> slowness;
    std::map<std::string, failing, std::less<>> failures;
    mutable std::map<std::thread::id, std::string> thread_names;
};

template <class Done>
bool machine::state::wait(machine_lock& lock, const std::string& what, Done done) {
    const time_point since = std::chrono::steady_clock::now();
    time_point moved = since, seen = clock;
    while (!done()) {
        if (ending) return false;
        if (how.engine == engine::threaded) {
            changed.wait(lock);
        } else if (!move_on(lock, since, moved)) {
            misuse(what + " waits for what never ends");
            return false;
        }
        if (std::exchange(seen, clock) != clock) moved = std::chrono::steady_clock::now();
    }
    return true;
}

}  // namespace tutti::gpu::sim
