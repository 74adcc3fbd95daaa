// Places in the order of a communicator's calls, taken before the calls that use them.
#pragma once

#include <tutti/detail/compiler.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace [[gnu::visibility("default")]] tutti {

class communicator;

namespace detail {
class reserved_places;
struct reserved_places_deleter {
    void operator()(reserved_places* which) const noexcept;
};
}  // namespace detail

/// For a function that calls several collectives, one after the other, and stands in the order of calls like one. Made by communicator::reserve,
/// where the function is called; each of its collectives then takes the next place:
///
///     task<> sparse_all_reduce(communicator& world, ..., places mine) {
///         co_await world.all_gather(count, counts, {.place = &mine});
///         co_await world.all_gather_v(values, all, counts, {.place = &mine});
///     }
///     auto sparse = sparse_all_reduce(world, ..., world.reserve(2));
///     auto dense = world.all_reduce(gradients, sum);  // behind both, on all ranks, whenever the task runs
///
/// Calls behind reserved places begin when all of these have been used, so whatever a function awaits between two of its calls was called
/// before it; communicator::sync may wait for more. Places that are given up unused fail the communicator with error::aborted, since other ranks
/// may have used theirs. One thread at a time.
class places {
public:
    /// None; only to be assigned to.
    places() noexcept = default;

    /// Places that are still to be used.
    std::size_t left() const noexcept;

    /// For the library.
    explicit places(detail::reserved_places& made) noexcept : made_(&made) {}
    detail::reserved_places* inner() const noexcept { return made_.get(); }

private:
    std::unique_ptr<detail::reserved_places, detail::reserved_places_deleter> made_;
};

}  // namespace tutti
