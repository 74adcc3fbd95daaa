// Streams, and what is enqueued there besides copies.
#include "gpu/sim/call.hpp"

using namespace tutti::gpu::sim;

namespace {

std::shared_ptr<work> make(work_kind kind, std::string name) {
    auto made = std::make_shared<work>();
    made->kind = kind;
    made->name = std::move(name);
    return made;
}

}  // namespace

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream* handle, unsigned int flags, int) {
    call here("cuStreamCreateWithPriority");
    if (!here) return here.driver_error();
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *handle = reinterpret_cast<CUstream>(here->make_stream(here.home(), (flags & CU_STREAM_NON_BLOCKING) == 0));
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamDestroy(CUstream handle) {
    call here("cuStreamDestroy");
    if (here->known_streams.contains(handle) && here.driver_error() != CUDA_SUCCESS)
        reinterpret_cast<stream*>(handle)->destroyed = true;  // its context is lost, and it with it
    if (!here) return here.driver_error();
    stream* const found = here.stream_of(handle);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (found == here.home().null_stream) return here.wrong(CUDA_ERROR_INVALID_HANDLE, "of the null stream");
    found->destroyed = true;
    here->woken();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamSynchronize(CUstream handle) {
    call here("cuStreamSynchronize", call::a_context | call::safety);
    if (!here) return here.driver_error();
    stream* const found = here.stream_of(handle);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    here.waits();
    const auto last = found->last;
    const context& home = here.home();
    here->wait(here.lock(), here.name() + " on " + here->name_of(*found),
               [&] { return home.fault != CUDA_SUCCESS || last == nullptr || last->done; });
    return home.fault != CUDA_SUCCESS ? home.fault : last == nullptr || last->done ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream handle, CUevent which, unsigned int) {
    call here("cuStreamWaitEvent");
    if (!here) return here.driver_error();
    stream* const found = here.stream_of(handle);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    // An event of another device may be waited for.
    if (!here->known_events.contains(which)) return here.wrong(CUDA_ERROR_INVALID_HANDLE, "for an event that does not exist");
    const event& waited = *reinterpret_cast<const event*>(which);
    if (waited.destroyed)
        return here.wrong(CUDA_ERROR_INVALID_HANDLE, "for event " + std::to_string(waited.number) + ", which was destroyed");
    if (waited.recorded && waited.recorded->captured != found->capture.has_value()) {
        if (found->capture) found->capture->broken = true;
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    auto wait = make(work_kind::wait, "wait for an event");
    if (waited.recorded) wait->after.push_back(waited.recorded);
    return here->enqueue(*found, std::move(wait));
}

CUresult CUDAAPI cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
    call here("cuLaunchHostFunc");
    if (!here) return here.driver_error();
    stream* const found = here.stream_of(handle);
    if (found == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto made = make(work_kind::host_function, "host function");
    machine::state& on = here.on();
    made->length = on.host_function_delay;
    if (!on.host_functions_called) made->end = [] { return std::optional<tutti::time_point>(); };
    made->body = [&on, function, data] {
        const std::lock_guard one_at_a_time(on.host_functions);
        on.self().in_host_function = true;
        function(data);
        on.self().in_host_function = false;
    };
    return on.enqueue(*found, std::move(made));
}

void machine::launch(CUstream where, duration length, std::function<void()> body, std::string name, std::vector<touch> touches) {
    call here("cuLaunchKernel");
    if (!here) return;
    stream* const found = here.stream_of(where);
    if (found == nullptr) return;
    for (const touch& each : touches)
        if (!here.reaches(each.address, each.bytes, "memory for a kernel")) return;
    auto made = make(work_kind::kernel, std::move(name));
    made->length = length;
    made->body = std::move(body);
    made->touches = std::move(touches);
    here->enqueue(*found, std::move(made));
}

CUresult CUDAAPI cuEventCreate(CUevent* handle, unsigned int flags) {
    call here("cuEventCreate");
    if (!here) return here.driver_error();
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if ((flags & CU_EVENT_DISABLE_TIMING) == 0) here.misuse("with timing: events that are queried are made without");
    auto made = std::make_unique<event>();
    made->number = static_cast<int>(here->events.size());
    made->home = &here.home();
    here->known_events.insert(made.get());
    *handle = reinterpret_cast<CUevent>(made.get());
    here->events.push_back(std::move(made));
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventDestroy(CUevent handle) {
    call here("cuEventDestroy");
    if (here->known_events.contains(handle) && here.driver_error() != CUDA_SUCCESS)
        reinterpret_cast<event*>(handle)->destroyed = true;  // its context is lost, and it with it
    if (!here) return here.driver_error();
    event* const found = here.event_of(handle);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    found->destroyed = true;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventRecord(CUevent handle, CUstream where) {
    call here("cuEventRecord");
    if (!here) return here.driver_error();
    event* const found = here.event_of(handle);
    stream* const target = found ? here.stream_of(where) : nullptr;
    if (target == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    auto made = make(work_kind::record, "record of an event");
    found->recorded = made->ending;
    return here->enqueue(*target, std::move(made));
}

CUresult CUDAAPI cuEventQuery(CUevent handle) {
    call here("cuEventQuery", call::a_context | call::safety);
    if (!here) return here.driver_error();
    const event* const found = here.event_of(handle);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (!found->recorded) return CUDA_SUCCESS;
    if (found->recorded->captured)
        return here.wrong(CUDA_ERROR_INVALID_VALUE, "of event " + std::to_string(found->number) + ", which was recorded in a capture");
    return found->recorded->done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult CUDAAPI cuEventSynchronize(CUevent handle) {
    call here("cuEventSynchronize", call::a_context | call::safety);
    if (!here) return here.driver_error();
    const event* const found = here.event_of(handle);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (!found->recorded) return CUDA_SUCCESS;
    if (found->recorded->captured)
        return here.wrong(CUDA_ERROR_INVALID_VALUE, "of event " + std::to_string(found->number) + ", which was recorded in a capture");
    here.waits();
    const auto recorded = found->recorded;
    const context& home = here.home();
    here->wait(here.lock(), here.name() + " of event " + std::to_string(found->number),
               [&] { return home.fault != CUDA_SUCCESS || recorded->done; });
    return home.fault != CUDA_SUCCESS ? home.fault : recorded->done ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}
