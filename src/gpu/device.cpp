#include <tutti/gpu/device.hpp>

#include "gpu/device_state.hpp"
#include "gpu/libraries.hpp"
#include "gpu/stuck.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tutti::gpu {
namespace {

/// After these every call in the context fails, for as long as the process lives.
bool is_lasting(CUresult code) {
    constexpr std::array lasting{
        CUDA_ERROR_DEINITIALIZED,
        CUDA_ERROR_ECC_UNCORRECTABLE,
        CUDA_ERROR_NVLINK_UNCORRECTABLE,
        CUDA_ERROR_ILLEGAL_ADDRESS,
        CUDA_ERROR_LAUNCH_TIMEOUT,
        CUDA_ERROR_CONTEXT_IS_DESTROYED,
        CUDA_ERROR_ASSERT,
        CUDA_ERROR_HARDWARE_STACK_ERROR,
        CUDA_ERROR_ILLEGAL_INSTRUCTION,
        CUDA_ERROR_MISALIGNED_ADDRESS,
        CUDA_ERROR_INVALID_ADDRESS_SPACE,
        CUDA_ERROR_INVALID_PC,
        CUDA_ERROR_LAUNCH_FAILED,
        CUDA_ERROR_UNKNOWN,
    };
    return std::find(lasting.begin(), lasting.end(), code) != lasting.end();
}

failure told(const identity& who, int ordinal, std::string_view call, const std::string& words) {
    return failure(error::device_failed, fmt::format("device {} ({}, {}): {}: {}", ordinal, who.name, who.bus, call, words));
}

}  // namespace

// ---- the state

device_state::device_state(const driver_table& driver, identity who, int ordinal, CUcontext context, device_options options,
                           device_places places)
    : driver_(driver),
      who_(std::move(who)),
      ordinal_(ordinal),
      context_(context),
      options_(options),
      events_(driver),
      notifying_(driver),
      issuing_(places.issuing),
      polling_(places.polling),
      lifecycle_(std::make_shared<gpu::lifecycle>(places.lifecycle, options.stuck, fmt::format("device {}", ordinal))) {}

/// On the lifecycle's thread.
device_state::~device_state() {
    {
        const on_device here(driver_, context_);
        events_.clear();
        notifying_.clear();
    }
    driver_.cuDevicePrimaryCtxRelease(who_.handle);
}

result<std::shared_ptr<device_state>> device_state::open(const driver_table& driver, int ordinal, device_options options,
                                                         device_places places) {
    auto who = identify(driver, ordinal);
    if (!who) return who.failure();
    CUcontext context = nullptr;
    if (const CUresult code = driver.cuDevicePrimaryCtxRetain(&context, who->handle); code != CUDA_SUCCESS)
        return told(*who, ordinal, "cuDevicePrimaryCtxRetain", text_of(driver, code));
    std::shared_ptr<device_state> state(new device_state(driver, *who, ordinal, context, options, places), retire);
    const on_device here(driver, context);
    if (const CUresult code = state->events_.fill(); code != CUDA_SUCCESS) return state->failed("cuEventCreate", code);
    return state;
}

/// First the threads that still work for the device end, then everything is given back. All of that is done on the lifecycle's thread, since it may block.
void device_state::retire(device_state* state) {
    const auto keeper = state->lifecycle_;
    const duration patience = state->options_.stuck;
    keeper->finish([state, patience] {
        const bool issued = state->issuing_.stop(patience), polled = state->polling_.stop(patience);
        if (issued && polled) delete state;
        else stuck::keep(std::shared_ptr<const void>(state, [](const void*) {}));  // a thread that does not end may still use it
    });
}

failure device_state::failed(std::string_view call, CUresult code) {
    if (is_lasting(code)) return break_down(call, code);
    return told(who_, ordinal_, call, text_of(driver_, code));
}

const failure& device_state::break_down(std::string_view call, CUresult code) {
    const std::lock_guard lock(breaking_);
    if (!first_fault_) {
        first_fault_ = told(who_, ordinal_, call, text_of(driver_, code) + "; everything on this device fails from here on");
        fault_.store(&*first_fault_, std::memory_order_release);
    }
    return *first_fault_;
}

// ---- the handle

result<device> open_device(const driver_table& driver, int ordinal, device_options options, device_places places) {
    auto state = device_state::open(driver, ordinal, options, places);
    if (!state) return state.failure();
    return device(std::move(*state));
}

result<device> device::open(int ordinal, device_options options) {
    const auto& found = gpu::driver();
    if (!found) return *found.why_not;
    return open_device(found.table, ordinal, options);
}

int device::ordinal() const noexcept { return state_->ordinal(); }
const std::string& device::name() const noexcept { return state_->who().name; }
const std::string& device::uuid() const noexcept { return state_->who().uuid; }
const std::string& device::bus() const noexcept { return state_->who().bus; }

std::optional<failure> device::fault() const {
    if (const failure* why = state_->fault()) return *why;
    return {};
}

}  // namespace tutti::gpu
