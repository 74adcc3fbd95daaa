// Every function that the public headers declare, and the library defines, can be linked with, whatever compiler made both.
#include <tutti/asio.hpp>
#include <tutti/detail/build.hpp>
#include <tutti/fiber.hpp>
#include <tutti/tutti.hpp>
#if TUTTI_GPU
#include <tutti/gpu.hpp>
#endif

#include <cstdio>

using namespace tutti;

namespace {

/// Their addresses are what the linker has to find.
template <class... Functions>
std::size_t found(Functions*... functions) {
    return (std::size_t{functions != nullptr} + ...);
}

}  // namespace

int main() {
    std::size_t all = found(
        &error_category, &make_error_code, &file_store, static_cast<std::unique_ptr<store> (*)(memory_table&)>(&memory_store), &open_store, &prefixed,
        &store_prefix, &store_over, &world_from, &world_from_environment, &on_one_host, &listen_address, &with_environment,
        static_cast<std::string (*)(const report&)>(&to_string), static_cast<int (*)(std::function<task<int>(communicator&)>, context_options)>(&run),
        static_cast<int (*)(std::function<task<>(communicator&)>, context_options)>(&run), &detail::allocate_frame, &detail::recycle_frame,
        &detail::start_child, &detail::throw_cancelled, &detail::throw_no_tasks, &detail::run_to_end, &detail::check_awaitable,
        &detail::told_if_empty, &detail::block, &detail::block_for, &detail::hasten, &detail::note_told, &detail::hindrance,
        &detail::start_bound, &detail::residents_of, &detail::foreignness_of, &detail::host_of, &detail::queue_call);
#if TUTTI_GPU
    all += found(&gpu::availability, static_cast<std::string (*)(const gpu::availability_report&)>(&gpu::to_string), &gpu::fill,
                 &gpu::enqueue_fill, &gpu::allocate_device_memory, &gpu::allocate_pinned_memory,
                 static_cast<future<> (*)(const gpu::stream&, gpu::device_part, gpu::host_part)>(&gpu::copy),
                 static_cast<result<> (*)(const gpu::stream&, const gpu::device_part&, const gpu::host_part&)>(&gpu::enqueue_copy));
#endif
    const event_loop loop;
    const context home;  // and classes
    std::printf("%zu functions\n", all);
    return all > 0 ? 0 : 1;
}
