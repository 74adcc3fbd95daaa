// Lists of tensors, as a training step reduces them: their element counts, in the order in which gradients come.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace perf {

inline constexpr std::uint64_t bucket_bytes = 25 << 20;  // what data-parallel training usually takes

/// The 161 parameters of ResNet-50 (25,557,032 elements), the last layer first: the order of a backward pass.
std::vector<std::uint64_t> resnet50();

/// One element count a line; empty lines and what follows a # do not count. `name` is for complaints, which are bad_input.
std::vector<std::uint64_t> tensors_in(std::istream& text, const std::string& name);

/// `resnet50`, or a file's.
std::vector<std::uint64_t> tensors_of(const std::string& name);

/// Neighbours that travel together: how many tensors are in each bucket. A bucket holds at most `cap` elements, or one tensor.
std::vector<std::size_t> buckets_of(const std::vector<std::uint64_t>& tensors, std::uint64_t cap);

}  // namespace perf
