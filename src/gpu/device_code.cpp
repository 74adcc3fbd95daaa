#include <tutti/gpu/device_code.hpp>

#include "gpu/stream_state.hpp"

#include <fmt/format.h>

namespace tutti::gpu {

class [[gnu::visibility("hidden")]] device_code_state final {
public:
    device_code_state(std::shared_ptr<device_state> where, CUmodule handle, std::string name)
        : card(std::move(where)),
          module_handle(handle),
          image(std::move(name)) {}
    device_code_state(const device_code_state&) = delete;
    device_code_state& operator=(const device_code_state&) = delete;
    // Unloading may wait for the device.
    ~device_code_state() {
        card->lifecycle().later("cuModuleUnload", [at = card.get(), handle = module_handle] {
            const on_device here(at->driver(), at->context());
            at->driver().cuModuleUnload(handle);
        });
    }

    const std::shared_ptr<device_state> card;
    const CUmodule module_handle;
    const std::string image;
};

namespace {

const char* missing_symbol(const driver_table& driver) {
    if (!driver.cuModuleLoadData) return "cuModuleLoadData";
    if (!driver.cuModuleGetFunction) return "cuModuleGetFunction";
    if (!driver.cuModuleUnload) return "cuModuleUnload";
    return driver.cuLaunchKernel ? nullptr : "cuLaunchKernel";
}

}  // namespace

result<device_code> device_code::load(const device& where, const device_image& image) {
    if (image.bytes.empty())
        return failure(error::unsupported,
                       fmt::format("{} is not in this program: it was built without nvcc, the compiler for devices", image.name));
    device_state& card = *where.inner();
    if (const char* missing = missing_symbol(card.driver()))
        return failure(error::unsupported, fmt::format("{} cannot be loaded: the driver lacks {}", image.name, missing));
    CUmodule handle = nullptr;
    auto loaded = card.call(fmt::format("cuModuleLoadData of {}", image.name),
                            [&](const driver_table& driver) { return driver.cuModuleLoadData(&handle, image.bytes.data()); });
    if (!loaded) return loaded.failure();
    return device_code(std::make_shared<device_code_state>(where.inner(), handle, image.name));
}

result<kernel> device_code::find(const std::string& name) const {
    CUfunction handle = nullptr;
    bool there = true;
    auto found = state_->card->call(fmt::format("cuModuleGetFunction of {}", name), [&](const driver_table& driver) {
        const CUresult code = driver.cuModuleGetFunction(&handle, state_->module_handle, name.c_str());
        there = code != CUDA_ERROR_NOT_FOUND;
        return there ? code : CUDA_SUCCESS;
    });
    if (!found) return found.failure();
    if (!there) return failure(error::invalid_argument, fmt::format("{} has no kernel {}", state_->image, name));
    return kernel(state_, handle, "cuLaunchKernel of " + name);
}

result<> kernel::launch_at(const stream& on, const kernel_shape& shape, void** parameters) const {
    device_state& card = *code_->card;
    if (on.inner()->card()->context() != card.context())  // a device that was opened twice is one
        return failure(error::invalid_argument, fmt::format("{}: it was loaded into device {}, the stream is one of device {}", call_,
                                                            card.ordinal(), on.inner()->card()->ordinal()));
    return card.call(call_, [&](const driver_table& driver) {
        return driver.cuLaunchKernel(handle_, shape.blocks.x, shape.blocks.y, shape.blocks.z, shape.threads.x, shape.threads.y,
                                     shape.threads.z, shape.shared_bytes, on.handle(), parameters, nullptr);
    });
}

}  // namespace tutti::gpu
