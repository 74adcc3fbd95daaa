// The pipeline of a program without futures of devices: a thread for each stage, each of which blocks, and chunks that go from one to the next.
// The copies and the collectives of the host are the same as those of the library's engine that stages; so what differs is the driving.
#pragma once

#include "training.hpp"

#include <tutti/detail/future_source.hpp>
#include <tutti/gpu/device_buffer.hpp>
#include <tutti/gpu/pinned_buffer.hpp>
#include <tutti/gpu/stream.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace gpu_bench {

/// Elements of the buckets, and where they lie in pinned memory.
struct chunk {
    std::size_t first = 0, count = 0;
    int slot = 0;
};

/// From one thread to another.
class handover {
public:
    void put(const chunk& what);
    /// Blocks until there is one; none is left and none will come where it is closed.
    std::optional<chunk> take();
    void close();

private:
    std::mutex guard_;
    std::condition_variable changed_;
    std::deque<chunk> all_;
    bool closed_ = false;
};

/// The threads of one step, and the future of their end: with the first failure, or when all have ended.
class stages {
public:
    ~stages() { join(); }
    /// The stages under way must have ended. `stop` is called where one of the new ones fails, and makes the rest of them end.
    tutti::future<> start(std::vector<std::function<void()>> all, std::function<void()> stop);

private:
    void join();
    void ended(std::optional<tutti::failure> why);

    std::vector<std::thread> threads_;
    std::function<void()> stop_;
    std::mutex guard_;
    std::size_t running_ = 0;
    std::optional<tutti::failure> first_;
    std::optional<tutti::detail::future_source<>> end_;
};

class device_pipeline {
public:
    device_pipeline(tutti::communicator& world, const tutti::gpu::device& where, const training_plan& plan);
    /// A layer's bucket may be read when its event has come.
    tutti::future<> start(std::vector<tutti::gpu::event> ready, const tutti::gpu::device_buffer<float>& buckets);

private:
    void read(const std::vector<tutti::gpu::event>& ready, const tutti::gpu::device_buffer<float>& buckets);
    void add();
    void write(const tutti::gpu::device_buffer<float>& buckets);
    void stop();
    tutti::gpu::host_part part(const chunk& what) const;

    tutti::communicator& world_;
    const training_plan plan_;
    tutti::gpu::stream out_, in_;
    tutti::gpu::pinned_buffer<float> slots_;
    std::optional<handover> free_, read_, added_;  // of a step
    stages stages_;
};

class host_pipeline {
public:
    host_pipeline(tutti::communicator& world, const training_plan& plan) : world_(world), plan_(plan) {}
    tutti::future<> start(std::span<const float> mine, std::span<float> sums);

private:
    tutti::communicator& world_;
    const training_plan plan_;
    stages stages_;
};

/// The chunks of all buckets, in order; none goes over the end of its bucket.
std::vector<chunk> chunks_of(const training_plan& plan);

}  // namespace gpu_bench
