// The machine on which the conformance tests run: a simulated one in real time, or with -Dgpu_tests=real the driver, NCCL and devices of this host.
#pragma once

#include "gpu/device.hpp"
#include "gpu/libraries.hpp"

#include <tutti/gpu/device.hpp>
#include <tutti/gpu/device_code.hpp>
#include <tutti/gpu/stream.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace tutti::test {

#ifdef TUTTI_GPU_TESTS_REAL
inline constexpr bool simulated = false;
#else
inline constexpr bool simulated = true;
#endif
/// Why nothing can be tried here; `nccl`: with NCCL. Nothing where it can.
std::optional<std::string> missing_here(bool nccl);
/// Names the machine on which the tests run, for people.
std::string whereabouts(bool nccl);

class testbed {
public:
    explicit testbed(int devices = 1);
    /// All that was opened has been given back.
    ~testbed();

    const gpu::driver_table& cuda() const { return cuda_; }
    const gpu::nccl_table& nccl() const { return nccl_library().table; }
    const gpu::loaded<gpu::nccl_table>& nccl_library() const;
    /// There may be less of them than asked for.
    int devices() const;
    /// The library's own handle of a device.
    gpu::device open(gpu::device_options options = {}, int ordinal = 0) const;
    /// The call that comes is wrong on purpose: a simulator says so, a real driver just refuses it, or does it another way.
    void provoke(const std::function<void()>& call);
    /// Code to load, with the kernels of kernels.cu; without bytes where none was built.
    const gpu::device_image& code() const;
    const void* image() const { return code().bytes.data(); }
    /// As the driver's calls of this name; what has been captured is thrown away.
    CUresult begin_capture(CUstream where, CUstreamCaptureMode mode) const;
    CUresult end_capture(CUstream where) const;
    /// False after ten seconds of waiting for it.
    bool eventually(const std::function<bool()>& what) const;
    /// Until it is in progress no more; ncclInProgress after ten seconds.
    ncclResult_t settled(ncclComm_t comm) const;

private:
    struct machine;
    std::unique_ptr<machine> machine_;
    gpu::driver_table cuda_;
};

/// Holds up a stream until it is opened: a host function that waits.
class gate {
public:
    gate(const testbed& bed, CUstream where);
    gate(const testbed& bed, const gpu::stream& where);
    gate(const gate&) = delete;
    gate& operator=(const gate&) = delete;
    ~gate() { open(); }
    /// Work behind it can run from now on.
    void open();

private:
    struct latch {
        std::atomic<bool> open = false;
        std::atomic<bool> passed = false;
    };
    static void hold(void* data);
    const testbed& bed_;
    latch latch_;
};

}  // namespace tutti::test
