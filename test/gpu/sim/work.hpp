// The contents of a device's streams: work in order, marks that tell when it has ended, events that point at marks.
#pragma once

#include "gpu/sim/trace.hpp"

#include <cuda.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace tutti::gpu::sim {

struct communicator;
struct stream;

/// The end of a piece of work, for the threads that wait for it.
struct mark {
    bool done = false;
    bool captured = false;  // recorded in a stream that was being captured: it never runs
};

/// Memory that a piece of work reads or writes, on the device or pinned.
struct touch {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
};

struct work {
    enum class phase { waiting, running, ended };
    work_kind kind = work_kind::kernel;
    std::string name;
    std::size_t bytes = 0;
    duration length{};
    time_point* engine_free = nullptr;  // of the copy engine it needs: when that is free
    std::vector<std::shared_ptr<mark>> after;
    std::vector<touch> touches;
    std::function<void()> body;                      // when its time is over; without the machine's lock
    std::function<void()> arrive;                    // when it is the first of its stream; with the lock
    std::function<std::optional<time_point>()> end;  // instead of started + length; nothing: not known yet
    std::function<void()> settle;                    // after the body, with the lock
    communicator* comm = nullptr;                    // of NCCL's work

    phase now = phase::waiting;
    bool dropped = false;  // by an abort: it ends without having done anything
    time_point enqueued{};
    time_point started{};
    time_point due{};
    std::shared_ptr<mark> ending = std::make_shared<mark>();
};

struct context {
    int device = 0;
    int retained = 0;
    CUresult fault = CUDA_SUCCESS;  // sticky
    time_point engine_in{};         // copies from the host
    time_point engine_out{};        // and to it
    stream* null_stream = nullptr;
};

struct capture {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    std::thread::id thread;
    bool broken = false;
};

struct stream {
    int number = 0;
    context* home = nullptr;
    bool with_null_stream = true;  // waits for the null stream, and it for this one
    std::deque<std::shared_ptr<work>> queue;
    std::shared_ptr<mark> last;  // of what was enqueued last
    bool busy = false;           // a thread is in the first work's body
    bool destroyed = false;
    std::optional<sim::capture> capture;
    communicator* claimed_by = nullptr;  // a communicator in progress is still enqueuing here
    std::thread worker;
};

struct event {
    int number = 0;
    context* home = nullptr;
    std::shared_ptr<mark> recorded;  // null: never
    bool destroyed = false;
};

}  // namespace tutti::gpu::sim
