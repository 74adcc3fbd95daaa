#include <tutti/communicator.hpp>

#include "communicator/call.hpp"
#include "engine/reserved_places.hpp"
#include "group/group.hpp"

#include <fmt/format.h>

namespace tutti {

void detail::reserved_places_deleter::operator()(reserved_places* which) const noexcept {
    std::unique_ptr<reserved_places> made(which);
    if (!made->engine().made().here()) leave_alone(std::move(made));
}

std::size_t places::left() const noexcept { return made_ ? made_->left() : 0; }

places communicator::reserve(std::size_t count) {
    if (!group_->made().here()) throw group_->foreign();
    const std::size_t most = group_->engine().settings().pending_limit;
    if (count > most)
        throw failure(error::invalid_argument, fmt::format("rank {} reserved {} places in the order of {}; the limit is {}", rank(), count, name(), most));
    if (count == 0) return {};
    return places(*std::make_unique<detail::reserved_places>(group_->engine().shared_from_this(), count).release());
}

detail::complaint detail::take_place(const engine& of, const request& what, std::uint64_t& place) {
    if (what.keep) throw failure(error::invalid_argument, "a persistent call takes a place when it is started, and none that was reserved");
    reserved_places* const made = what.reserved->inner();
    if (!made || made->left() == 0) return "no reserved place is left";
    if (&made->engine() != &of) return "its place was reserved on another communicator";
    place = made->next();
    return {};
}

}  // namespace tutti
