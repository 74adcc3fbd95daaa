// The implementation of tutti::places: the places of one reservation that are still to be used.
#pragma once

#include "engine/engine.hpp"

#include <cstdint>
#include <memory>
#include <utility>

namespace tutti::detail {

/// Belongs to its caller, and keeps the engine alive. Places that are left when it ends fail the engine.
class [[gnu::visibility("hidden")]] reserved_places final {
public:
    reserved_places(std::shared_ptr<class engine> of, std::size_t count) : of_(std::move(of)), next_(of_->reserve(count)), end_(next_ + count) {}
    reserved_places(const reserved_places&) = delete;
    reserved_places& operator=(const reserved_places&) = delete;
    ~reserved_places() { of_->give_up(next_, end_); }

    const class engine& engine() const noexcept { return *of_; }
    std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - next_); }
    /// Returns the next place, if one is left.
    std::uint64_t next() const noexcept { return next_; }
    void used() noexcept { ++next_; }

private:
    const std::shared_ptr<class engine> of_;
    std::uint64_t next_;
    const std::uint64_t end_;
};

}  // namespace tutti::detail
