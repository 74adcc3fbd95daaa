// Reserved places in the order of a communicator's calls.
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

/// Lets a function that calls several collectives in sequence count as one call in the order. communicator::reserve makes it, at the point
/// where the function is called. Each collective of the function then takes the next place:
///
///     task<> sparse_all_reduce(communicator& world, ..., places mine) {
///         co_await world.all_gather(count, counts, {.place = &mine});
///         co_await world.all_gather_v(values, all, counts, {.place = &mine});
///     }
///     auto sparse = sparse_all_reduce(world, ..., world.reserve(2));
///     auto dense = world.all_reduce(gradients, sum);  // behind both, on all ranks, whenever the task runs
///
/// Calls behind reserved places begin after all of these have been used. So between two of its calls the function may only await operations
/// that were called before it; communicator::sync may wait for later ones. Giving up unused places fails the communicator with
/// error::aborted, since other ranks may have used theirs. One thread at a time.
class places {
public:
    /// No places; only to be assigned to.
    places() noexcept = default;

    /// Returns the number of unused places.
    std::size_t left() const noexcept;

    /// For the library.
    explicit places(detail::reserved_places& made) noexcept : made_(&made) {}
    detail::reserved_places* inner() const noexcept { return made_.get(); }

private:
    std::unique_ptr<detail::reserved_places, detail::reserved_places_deleter> made_;
};

}  // namespace tutti
