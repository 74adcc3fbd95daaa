// The communication of one training step: all-reduces of a list of tensors, in one of the ways in which they can be called.
#pragma once

#include <tutti/communicator.hpp>

#include <array>
#include <string_view>
#include <vector>

namespace perf {

enum class way { one_by_one, in_flight, buckets, fused };
inline constexpr std::array ways{way::one_by_one, way::in_flight, way::buckets, way::fused};
constexpr std::string_view name(way how) noexcept {
    constexpr std::string_view names[] = {"one_by_one", "in_flight", "25MiB_buckets", "fused"};
    return names[static_cast<int>(how)];
}

/// The tensors stand behind each other in `memory`. A bucket is one call with a list of them; all of them fused are one vector.
class training_step {
public:
    training_step(tutti::communicator& world, tutti::buffer memory, const std::vector<std::uint64_t>& tensors, way how, tutti::reduction op,
                  tutti::call_options options = {});

    /// All of them, in flight together unless one by one.
    tutti::task<> operator()();

    /// The buffers of each call.
    const std::vector<std::vector<tutti::buffer>>& calls() const noexcept { return calls_; }

private:
    tutti::future<> start(const std::vector<tutti::buffer>& call);

    tutti::communicator& world_;
    const way how_;
    const tutti::reduction op_;
    const tutti::call_options options_;
    std::vector<std::vector<tutti::buffer>> calls_;
    std::vector<tutti::future<>> going_;
};

}  // namespace perf
