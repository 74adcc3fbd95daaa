// A host with simulated devices, behind the tables of the CUDA driver and NCCL.
//
// Simulated: streams, events, host functions, copies, device memory that traps on the host, captures (without graphs), sticky faults;
// NCCL's non-blocking communicators, groups, collectives with real data, split, shrink, abort. Not simulated: kernels' code (a test says
// what they do and how long it takes), graphs, limits on kernels that run at once, virtual memory, pre-multiplied sums of fp8, NCCL
// between processes and over shared streams of one group.
//
// Each mistake of a program is collected as a sentence, and everything goes on as the real thing would where that is known.
#pragma once

#include "gpu/sim/kernel.hpp"
#include "gpu/sim/options.hpp"
#include "gpu/sim/trace.hpp"
#include "gpu/sim/work.hpp"
#include "gpu/tables.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {
class event_loop;
}

namespace tutti::gpu::sim {

/// One at a time: the functions in the tables serve the machine that lives.
class machine {
public:
    explicit machine(options how = {});
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;
    /// Ends the program if there is misuse that `end` has not been asked for.
    ~machine();

    driver_table driver() const;
    nccl_table nccl() const;
    const options& how() const;

    // Time, with the stepped engine. Threads may call the tables meanwhile.
    time_point now() const;
    /// Runs what can run within this time; the clock then stands there.
    void advance(duration length);
    /// Runs what can run now; if that is nothing, moves the clock to where something can. False: nothing ever will.
    bool step();
    /// Runs until nothing can run any more.
    void run();
    /// From now on the loop's virtual time is the machine's, and its `run` runs the streams. Ends before the loop does. Once.
    void drive(event_loop& loop);

    /// A kernel: occupies the stream for this time, then does what `body` does to shadows of the memory it touches.
    void launch(CUstream where, duration length, std::function<void()> body = {}, std::string name = "kernel",
                std::vector<touch> touches = {});
    /// From now on code that is loaded has this kernel, whatever the image. `begin` is called by the launch and says how long it takes; only
    /// the body that it gives may call the machine.
    void offer(sim::kernel what);
    /// Where the bytes of device memory are.
    std::byte* shadow(CUdeviceptr address) const;
    template <class T>
    T* shadow_of(CUdeviceptr address) const {
        return reinterpret_cast<T*>(shadow(address));
    }
    /// In the order in which streams were made; the null stream is one.
    int number_of(CUstream stream) const;
    /// Returns whether nothing is queued on any stream.
    bool idle() const;

    // These do what cuStreamBeginCapture and cuStreamEndCapture do; the captured work is thrown away.
    CUresult begin_capture(CUstream where, CUstreamCaptureMode mode);
    CUresult end_capture(CUstream where);

    // Faults. Entry points have the names they have in the tables.
    /// Every call in the device's context fails with this from now on, and nothing there runs any more.
    void fault(int device, CUresult what = CUDA_ERROR_ILLEGAL_ADDRESS);
    /// After `after` more calls of an entry point, `times` calls fail with this code of CUDA or of NCCL.
    void fail(std::string_view entry_point, int code, int after = 0, int times = 1);
    /// Calls of this entry point do not return until it is released.
    void stick(std::string_view entry_point);
    void release(std::string_view entry_point);
    /// How many threads are in it now.
    int stuck(std::string_view entry_point) const;
    /// Calls of this entry point take as long as this.
    void slow(std::string_view entry_point, duration length);
    /// Host functions are called this much later than they could be.
    void delay_host_functions(duration length);
    void never_call_host_functions();

    /// Of communicators: what happens to a rank's operation, by its number among those it has enqueued on the communicator.
    void fail_operation(int rank, std::uint64_t number, ncclResult_t code);
    void hang_operation(int rank, std::uint64_t number);
    /// Every operation of the rank reaches the others this much later.
    void slow_rank(int rank, duration length);
    /// A communicator of this rank ends its initialisation with this code.
    void fail_init(int rank, ncclResult_t code);
    /// ncclCommFinalize of this rank stays in progress.
    void never_finalize(int rank);
    /// How often ncclCommGetAsyncError says ncclInProgress, from now on.
    void polls(int times);
    /// Communicators made from now on by this thread live on another host, for the check of duplicate devices; "" is this one.
    void host(std::string name);

    // NCCL cannot see that a thread has ended its calls before another begins.
    /// Calls on this communicator and its device may now come from another thread.
    void hand_over(ncclComm_t comm);

    /// How often an entry point has been called, by all threads or by this one.
    std::size_t calls(std::string_view entry_point) const;
    std::size_t own_calls(std::string_view entry_point) const;
    sim::trace trace() const;
    void forget_trace();
    /// For sentences; otherwise threads have numbers.
    void name_thread(std::string name);

    /// The sentences so far; they are then forgotten.
    std::vector<std::string> take_misuse();
    /// Ends the threaded engine's threads, looks for leaks, and gives all that was wrong, a line each: a test wants "".
    std::string end();

    /// The machine that lives, or null.
    static machine* current();

    struct state;
    state& inner() const { return *state_; }

private:
    std::unique_ptr<state> state_;
};

}  // namespace tutti::gpu::sim
