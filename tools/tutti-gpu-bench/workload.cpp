#include "workload.hpp"

namespace device_images {
extern const tutti::gpu::device_image busy;
}

namespace gpu_bench {
namespace {

using namespace tutti;

constexpr unsigned tile = 16, fill_blocks = 256, fill_threads = 256;

void demand(const result<>& done) {
    if (!done) throw done.failure();
}

}  // namespace

const gpu::device_image& busy_image() noexcept { return device_images::busy; }

workload::workload(const gpu::device& where, const gpu::device_image& image, unsigned n)
    : where_(where),
      code_(gpu::device_code::load(where, image).value()),
      delay_(code_.find("delay").value()),
      nothing_(code_.find("nothing").value()),
      multiply_(code_.find("multiply").value()),
      fill_(code_.find("fill").value()),
      n_((n + tile - 1) / tile * tile),
      matrices_(gpu::device_buffer<float>::allocate(where, std::size_t{3} * n_ * n_).value()) {
    const gpu::stream filling = gpu::stream::make(where).value();
    fill(filling, matrices_.data(), matrices_.size(), 0.001f);
    filled_ = filling.record().value();
}

void workload::wait(const gpu::stream& on) const { demand(on.wait(*filled_)); }

void workload::delay(const gpu::stream& on, duration length, unsigned* flag, unsigned value) const {
    demand(delay_.launch(on, {}, static_cast<unsigned long long>(length / std::chrono::nanoseconds(1)), flag, value));
}

void workload::nothing(const gpu::stream& on) const { demand(nothing_.launch(on, {})); }

void workload::multiply(const gpu::stream& on, int times) const {
    const std::size_t each = std::size_t{n_} * n_;
    const gpu::kernel_shape shape{.blocks = {n_ / tile, n_ / tile}, .threads = {tile, tile}};
    for (int i = 0; i < times; ++i)
        demand(multiply_.launch(on, shape, static_cast<const float*>(matrices_.data()), static_cast<const float*>(matrices_.data() + each),
                                matrices_.data() + 2 * each, n_));
}

void workload::fill(const gpu::stream& on, float* to, std::size_t count, float value) const {
    demand(fill_.launch(on, {.blocks = {fill_blocks}, .threads = {fill_threads}}, to, static_cast<unsigned long long>(count), value));
}

}  // namespace gpu_bench
