// Every function of the tables begins with a call: it is counted, held up and failed as the test asks, and what is forbidden where it is
// made is found.
#pragma once

#include "gpu/sim/state.hpp"

namespace tutti::gpu::sim {

class call {
public:
    enum : unsigned {
        nothing = 0,
        a_context = 1,  // current on this thread, and not at fault
        safety = 2,     // unsafe while a stream is being captured
    };
    explicit call(const char* name, unsigned needs = a_context, ncclComm_t comm = nullptr);
    call(const call&) = delete;
    call& operator=(const call&) = delete;
    ~call();

    machine::state* operator->() const { return &on_; }
    machine::state& on() const { return on_; }
    machine_lock& lock() { return lock_; }
    /// The caller's context.
    context& home() const { return *home_; }
    explicit operator bool() const { return refused_ == 0; }
    /// Why the call must not be carried out.
    CUresult driver_error() const { return static_cast<CUresult>(refused_); }
    ncclResult_t nccl_error() const { return by_test_ ? static_cast<ncclResult_t>(refused_) : ncclUnhandledCudaError; }

    /// Misuse by this call, with its name in front.
    void misuse(const std::string& what) { on_.misuse(name_ + " " + what); }
    CUresult wrong(CUresult code, const std::string& what);
    /// The stream or event behind a handle, if it is one of this context; else null, and misuse.
    stream* stream_of(CUstream handle);
    event* event_of(CUevent handle);
    /// The host waits: seen in the trace.
    void waits();
    /// Returns whether memory on the device, or pinned, lies there whole; else it is misuse.
    bool reaches(CUdeviceptr address, std::size_t bytes, const char* role);
    const std::string& name() const { return name_; }

private:
    void hold_up();
    void look_around(unsigned needs);

    machine::state& on_;
    machine_lock lock_;
    std::string name_;
    ncclComm_t comm_;
    context* home_ = nullptr;
    int refused_ = 0;
    bool by_test_ = false;
};

}  // namespace tutti::gpu::sim
