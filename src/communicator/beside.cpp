#include "communicator/beside.hpp"

#include "base/bytes.hpp"
#include "communicator/spawn.hpp"

#include <fmt/format.h>

namespace tutti::detail {
namespace {

task<std::unique_ptr<communicator>> form_here(std::shared_ptr<context::state> home, membership who) {
    std::unique_ptr<group, group_deleter> formed(new group(home, std::move(who)));
    co_await formed->form(later(home->loop().now(), home->options().rendezvous));
    co_return std::make_unique<communicator>(std::move(formed));
}

}  // namespace

membership beside(group& which, std::string_view what) {
    membership child = which.who();
    child.name += fmt::format(" {}", what);
    child.id = digest_of(fmt::format("{}.{}", which.next_child(), what), child.id);
    return child;
}

future<std::unique_ptr<communicator>> form(const std::shared_ptr<context::state>& home, membership who) {
    return spawn(*home, form_here(home, std::move(who)));
}

}  // namespace tutti::detail
