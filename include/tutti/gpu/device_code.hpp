// Device code, and its launch on a stream. Programs with the CUDA runtime have `<<<>>>` for that; this needs the driver only.
#pragma once

#include <tutti/gpu/device.hpp>
#include <tutti/gpu/stream.hpp>
#include <tutti/result.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

struct CUfunc_st;  // cuda.h: CUfunction

namespace [[gnu::visibility("default")]] tutti {
namespace gpu {

class device_code_state;

/// Compiled device code that the build put into the program. No bytes: the build had no device compiler.
struct device_image {
    const char* name;  // of the file
    std::span<const std::byte> bytes;
};

/// A size in up to three directions.
struct kernel_extent {
    unsigned x = 1, y = 1, z = 1;
};

/// The number of blocks of a kernel, of threads in each, and of shared bytes of each block besides those that the kernel declares.
struct kernel_shape {
    kernel_extent blocks, threads;
    unsigned shared_bytes = 0;
};

/// A function of loaded code. A handle that copies share; the code stays loaded while a handle is left.
class kernel {
public:
    /// Launches the kernel: enqueued when the call returns. The arguments are copied. Their types must be exactly those of the kernel's
    /// parameters, which cannot be checked. Memory that they point to must live until the device has finished with it.
    template <class... Parameters>
    result<> launch(const stream& on, const kernel_shape& shape, const Parameters&... parameters) const {
        static_assert((std::is_trivially_copyable_v<Parameters> && ...), "a device gets the bytes of its parameters");
        std::tuple<Parameters...> copies(parameters...);
        return std::apply(
            [&](auto&... each) {
                std::array<void*, sizeof...(each) + 1> addresses{static_cast<void*>(&each)...};
                return launch_at(on, shape, addresses.data());
            },
            copies);
    }

private:
    friend class device_code;
    kernel(std::shared_ptr<device_code_state> code, CUfunc_st* handle, std::string call) noexcept
        : code_(std::move(code)),
          handle_(handle),
          call_(std::move(call)) {}
    result<> launch_at(const stream& on, const kernel_shape& shape, void** parameters) const;

    std::shared_ptr<device_code_state> code_;
    CUfunc_st* handle_;
    std::string call_;  // for messages
};

/// An image, loaded into one device. A handle that copies share.
class device_code {
public:
    /// Loads an image. May block while the driver compiles for a device that the image has no code for. error::unsupported if the program
    /// was built without device code, or the driver cannot load any.
    static result<device_code> load(const device& where, const device_image& image);

    /// Returns the kernel of an `extern "C"` name; error::invalid_argument if the image has none.
    result<kernel> find(const std::string& name) const;

private:
    explicit device_code(std::shared_ptr<device_code_state> state) noexcept : state_(std::move(state)) {}

    std::shared_ptr<device_code_state> state_;
};

}  // namespace gpu
}  // namespace tutti
