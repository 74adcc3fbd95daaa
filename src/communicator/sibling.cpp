#include "communicator/sibling.hpp"

#include "base/descriptors.hpp"
#include "group/spawn.hpp"

#include <tutti/event.hpp>
#include <tutti/sleep.hpp>
#include <tutti/when_all.hpp>

#include <fmt/format.h>

namespace tutti::detail {
namespace {

/// A cause that fails the parent may break the links of the child first. The parent knows the cause better, so its report gets `lost_link`
/// to come.
task<> form_patiently(group& child, time_point deadline) {
    std::optional<failure> why;
    try {
        auto forming = child.form(deadline);
        co_await std::move(forming);
    } catch (const failure& caught) {
        why = caught;
    }
    if (!why) co_return;
    co_await sleep_for(child.context().options().lost_link);
    throw *why;
}

/// Ends with the failure of the parent. A parent that was closed leaves the child alone.
task<> fail_with(future<> parent, std::string child) {
    std::optional<report> why;
    try {
        co_await std::move(parent);
    } catch (const failure& caught) {
        why = caught.details();
    }
    event never;
    if (why->code == error::closed) co_await never.wait();
    why->operation = fmt::format("join {}", child);
    throw failure(std::move(*why));
}

task<> form_below(future<> parent, group& child, time_point deadline) {
    auto either = when_any(fail_with(std::move(parent), child.who().name), form_patiently(child, deadline));
    co_await std::move(either);
}

/// Reports this rank's lack of descriptors over the parent's links, with this rank's number in the parent.
void tell_above(class engine& above, const group& child, const failure& why) {
    if (why.code() != error::system || why.details().root != child.who().me) return;
    const auto code = std::make_error_code(std::errc::too_many_files_open);
    above.fail_and_tell(without_descriptor(above.who().me, "the links of communicator " + child.who().name, code));
}

task<std::unique_ptr<communicator>> form_here(std::shared_ptr<context_state> context, membership who, future<> parent,
                                              std::shared_ptr<class engine> above) {
    std::unique_ptr<group, group_deleter> formed(new group(context, std::move(who)));
    const time_point deadline = later(context->loop().now(), context->options().rendezvous);
    auto forming = parent.valid() ? form_below(std::move(parent), *formed, deadline) : formed->form(deadline);
    std::optional<failure> why;
    try {
        co_await std::move(forming);
    } catch (const failure& caught) {
        why = caught;
    }
    if (why && above) tell_above(*above, *formed, *why);
    if (why) throw *why;
    co_return std::make_unique<communicator>(std::move(formed));
}

}  // namespace

membership sibling(group& which, std::string_view what) {
    return child_of(which.who(), fmt::format("{} {}", which.who().name, what), fmt::format("{}.{}", which.next_child(), what));
}

future<std::unique_ptr<communicator>> form(const std::shared_ptr<context_state>& context, membership who, future<> parent,
                                           std::shared_ptr<class engine> above) {
    return spawn_cancellable(*context, form_here(context, std::move(who), std::move(parent), std::move(above)));
}

}  // namespace tutti::detail
