// Children of a communicator: an all-gather of (color, key) decides the members, and each child forms as its parent did, without a store.
#include "communicator/sibling.hpp"
#include "group/context_state.hpp"

#include "base/bytes.hpp"

#include <tutti/detail/bound_task.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace tutti {
namespace {

/// One rank's arguments of split, as three i32 of the all-gather.
struct choice {
    std::int32_t colored = 0, color = 0, key = 0;
};
constexpr std::size_t said_numbers = 3;
static_assert(sizeof(choice) == said_numbers * sizeof(std::int32_t));

/// The memory of the all-gather, and its future. The future is last, so it is destroyed before the memory.
struct choices {
    choice mine;
    std::vector<choice> all;
    std::shared_ptr<engine> above;
    future<> parent;  // its watch
    future<> gathered;
};

/// Returns the ranks of this rank's color, in the order of their keys and then of their ranks in the parent.
std::vector<rank> members_of(const choices& said) {
    std::vector<rank> members;
    for (std::size_t each = 0; each < said.all.size(); ++each)
        if (said.all[each].colored != 0 && said.all[each].color == said.mine.color) members.push_back(static_cast<rank>(each));
    std::stable_sort(members.begin(), members.end(), [&](rank one, rank other) {
        return said.all[static_cast<std::size_t>(one)].key < said.all[static_cast<std::size_t>(other)].key;
    });
    return members;
}

task<std::unique_ptr<communicator>> finish_split(std::shared_ptr<detail::context_state> context, detail::membership child,
                                                 std::unique_ptr<choices> said) {
    co_await std::move(said->gathered);
    if (said->mine.colored == 0) co_return nullptr;
    const std::vector<rank> members = members_of(*said);
    const rank was = child.me;
    std::vector<std::string> addresses;
    std::vector<int> hosts;
    for (const rank each : members) {
        addresses.push_back(child.addresses[static_cast<std::size_t>(each)]);
        hosts.push_back(child.hosts.host(each));
    }
    child.addresses = std::move(addresses);
    child.hosts = host_map(hosts);
    child.me = static_cast<rank>(std::find(members.begin(), members.end(), was) - members.begin());
    auto forming = detail::form(context, std::move(child), std::move(said->parent), std::move(said->above));
    co_return co_await std::move(forming);
}

}  // namespace

task<std::unique_ptr<communicator>> communicator::split(std::optional<int> color, int key) {
    const std::string which = fmt::format("{}.{}", group_->next_child(), color.value_or(0));
    detail::membership child = detail::child_of(group_->who(), fmt::format("{}/{}", group_->who().name, which), which);
    auto said = std::make_unique<choices>();
    said->mine = {color.has_value(), color.value_or(0), key};
    said->all.resize(static_cast<std::size_t>(size()));
    request what;
    what.kind = collective::all_gather;
    what.type = data_type::i32;
    what.count = said_numbers;
    what.input = &said->mine;
    what.output = said->all.data();
    what.label = "split";
    what.digest = digest_of("split");  // differs from any all_gather of the user
    said->above = group_->engine().shared_from_this();
    said->parent = group_->watch();
    if (group_->made().here()) said->gathered = future<>(group_->engine().issue(what, group_->context().options().operation));
    else said->gathered = detail::failed_future(group_->foreign());
    event_loop& loop = group_->context().loop();
    return detail::bind_to_loop(loop, finish_split(group_->shared_context(), std::move(child), std::move(said)));
}

}  // namespace tutti
