// A word of pinned memory that a stream writes when it comes there: how one would wait for a device without events, to compare with.
#pragma once

#include "witness.hpp"

#include <tutti/gpu/pinned_buffer.hpp>
#include <tutti/gpu/stream.hpp>
#include <tutti/task.hpp>

#include <cstdint>

namespace gpu_bench {

class written_flag {
public:
    /// Throws where the driver cannot do it.
    explicit written_flag(const tutti::gpu::device& where, tutti::duration most = patience);

    /// Throws the failure where that fails.
    void enqueue(const tutti::gpu::stream& on, unsigned value) const;
    bool is(unsigned value) const noexcept;
    /// The word's memory, for as long as the stream may write there.
    tutti::gpu::keep_alive keep() const noexcept { return word_.keep(); }
    /// Looks at it in each turn of the loop until the stream, which works for so long, has written this value. Throws the device's failure
    /// or error::timed_out where that does not happen.
    tutti::task<> written(const tutti::gpu::stream& by, unsigned value, tutti::duration length) const;

private:
    tutti::gpu::pinned_buffer<unsigned> word_;
    tutti::duration most_;
    std::uint64_t address_ = 0;  // on the device
};

}  // namespace gpu_bench
