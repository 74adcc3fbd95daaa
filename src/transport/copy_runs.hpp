// Lists of runs: what is left of one, and copies between two.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

namespace tutti {

/// Returns the runs without their first bytes, which have gone. Shortens the first run that is left, in its place.
inline std::span<std::span<const std::byte>> without(std::span<std::span<const std::byte>> runs, std::size_t gone) noexcept {
    while (!runs.empty() && gone >= runs.front().size()) {
        gone -= runs.front().size();
        runs = runs.subspan(1);
    }
    if (!runs.empty()) runs.front() = runs.front().subspan(gone);
    return runs;
}

/// Copies from runs to runs of as many bytes in all, by `copy(to, from, bytes)`.
template <class Byte, class Copy>
void copy_runs(std::span<const std::span<std::byte>> targets, std::span<const std::span<Byte>> sources, Copy copy) noexcept {
    auto target = targets.begin();
    std::size_t at = 0;
    for (auto source : sources) {
        while (!source.empty()) {
            if (at == target->size()) ++target, at = 0;
            const std::size_t bytes = std::min(source.size(), target->size() - at);
            if (bytes > 0) copy(target->data() + at, source.data(), bytes);
            source = source.subspan(bytes);
            at += bytes;
        }
    }
}
template <class Byte>
void copy_runs(std::span<const std::span<std::byte>> targets, std::span<const std::span<Byte>> sources) noexcept {
    copy_runs(targets, sources, [](std::byte* to, const std::byte* from, std::size_t bytes) { std::memcpy(to, from, bytes); });
}

}  // namespace tutti
