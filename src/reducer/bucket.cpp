#include "reducer/bucket.hpp"

#include "validation/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace tutti {
namespace {

constexpr std::size_t most_bytes = std::numeric_limits<std::ptrdiff_t>::max();

void check(std::span<const parameter> parameters, std::span<const std::size_t> caps, reduce_op op) {
    if (caps.empty()) throw failure(error::invalid_argument, "buckets need a cap");
    if (parameters.size() > reducer::parameter_limit)
        throw failure(error::invalid_argument, fmt::format("{} parameters are registered, the limit is {}", parameters.size(), reducer::parameter_limit));
    std::size_t room = most_bytes;
    for (const parameter& each : parameters) {
        if (!defined(op, each.gradient.type))
            throw failure(error::unsupported,
                          fmt::format("parameter '{}' is of type {}, which has no {}", each.name, name(each.gradient.type), name(op)));
        if (each.gradient.count > room / size_of(each.gradient.type))
            throw failure(error::invalid_argument, fmt::format("parameter '{}' has more elements than memory can hold: {}", each.name, each.gradient.count));
        room -= each.gradient.bytes();
    }
}

/// The buckets of one type, of which the last may still grow.
struct row {
    std::size_t made = 0;
    std::size_t growing = 0;  // index
    std::size_t room = 0;     // bytes
};

}  // namespace

bucket_plan plan_buckets(std::span<const parameter> parameters, std::span<const std::size_t> caps, reduce_op op) {
    check(parameters, caps, op);
    bucket_plan plan;
    std::array<row, data_type_count> rows{};
    for (std::size_t index = parameters.size(); index-- > 0;) {
        const buffer& gradient = parameters[index].gradient;
        row& mine = rows[static_cast<std::size_t>(gradient.type)];
        if (mine.made == 0 || gradient.bytes() > mine.room) {
            mine.room = caps[std::min(mine.made++, caps.size() - 1)];
            mine.growing = plan.buckets.size();
            plan.buckets.push_back({gradient.type, 0, {}});
        }
        bucket& into = plan.buckets[mine.growing];
        into.parameters.push_back(index);
        into.count += gradient.count;
        mine.room -= std::min(mine.room, gradient.bytes());
    }
    // A bucket is complete with its last parameter, and gradients come with falling index.
    std::sort(plan.buckets.begin(), plan.buckets.end(), [](const bucket& one, const bucket& other) { return one.parameters.back() > other.parameters.back(); });
    plan.locations.resize(parameters.size());
    for (std::size_t which = 0; which < plan.buckets.size(); ++which) {
        std::size_t first = 0;
        for (const std::size_t index : plan.buckets[which].parameters) {
            plan.locations[index] = {which, first};
            first += parameters[index].gradient.count;
        }
    }
    return plan;
}

std::vector<std::size_t> caps_of(const reducer_options& how) {
    std::vector<std::size_t> caps(how.caps.begin(), how.caps.end());
    if (caps.empty()) caps = {how.first_bucket, how.bucket};
    for (const std::size_t cap : caps)
        if (cap < reducer::least_cap)
            throw failure(error::invalid_argument, fmt::format("a bucket's cap is {} bytes, the least is {}; write 25 * tutti::MiB for 25 MiB", cap, reducer::least_cap));
    if (how.op != avg && how.op != sum) throw failure(error::invalid_argument, fmt::format("gradients are combined by avg or sum, not {}", name(how.op)));
    if (const detail::complaint wrong = detail::check_deadline(how.deadline)) throw failure(error::invalid_argument, *wrong);
    if (how.live == 0) throw failure(error::invalid_argument, "at least one bucket must be allowed under way");
    return caps;
}

std::vector<std::string> lines_of(std::span<const parameter> parameters, std::span<const bucket> buckets, reduce_op op) {
    std::vector<std::string> lines{fmt::format("operator {}", name(op))};
    for (std::size_t which = 0; which < buckets.size(); ++which)
        for (const std::size_t index : buckets[which].parameters) {
            const parameter& each = parameters[index];
            lines.push_back(fmt::format("in bucket {}: {} x {} of parameter {} '{}'", which, name(each.gradient.type), each.gradient.count, index, each.name));
        }
    return lines;
}

bucket_memory::bucket_memory(std::size_t bytes) : bytes_(static_cast<std::byte*>(::operator new(bytes, alignment))) { std::memset(bytes_.get(), 0, bytes); }

}  // namespace tutti
