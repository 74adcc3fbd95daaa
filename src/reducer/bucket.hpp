// Which parameters travel together in a bucket, and where each lies: a pure function of the list of parameters, so all ranks find the same
// plan.
#pragma once

#include <tutti/reducer.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

namespace tutti {

struct bucket_plan {
    struct location {
        std::size_t bucket = 0;
        std::size_t first = 0;  // element
    };
    std::vector<bucket> buckets;      // in the order in which they leave
    std::vector<location> locations;  // by parameter
};

/// Every type has its own row of buckets, filled in reverse order of registration. A bucket is closed when the next parameter would take
/// it over its cap: the row's n-th cap, or the last one there is. A parameter larger than the cap is alone. The bucket that can be
/// complete first leaves first. Throws error::invalid_argument when there are too many parameters or bytes, or no caps, and
/// error::unsupported where a type has no `op`.
bucket_plan plan_buckets(std::span<const parameter> parameters, std::span<const std::size_t> caps, reduce_op op);

/// Returns the caps of the options, in bytes. Throws error::invalid_argument for wrong options.
std::vector<std::size_t> caps_of(const reducer_options& how);

/// Returns the lines that all ranks must have alike, the buckets in the order in which they leave. A name is last, because it may be cut
/// off.
std::vector<std::string> lines_of(std::span<const parameter> parameters, std::span<const bucket> buckets, reduce_op op);

/// The memory of one bucket: zeros, on a cache line's boundary.
class bucket_memory {
public:
    explicit bucket_memory(std::size_t bytes);
    std::byte* data() const noexcept { return bytes_.get(); }

private:
    static constexpr std::align_val_t alignment{64};
    struct release {
        void operator()(std::byte* memory) const noexcept { ::operator delete(memory, alignment); }
    };
    std::unique_ptr<std::byte[], release> bytes_;
};

}  // namespace tutti
