// Device groups made of others, by split and shrink. NCCL makes their communicators where it can; otherwise the ranks meet anew by an id.
#include "communicator/sibling.hpp"
#include "device/group.hpp"
#include "device/join.hpp"
#include "group/context_state.hpp"


#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tutti::detail {
namespace {

using made_communicator = std::unique_ptr<gpu::communicator>;

device_joining how_in(const gpu::device_group& parent) {
    device_joining how = parent.how;
    how.over.reset();
    how.born.reset();
    return how;
}

/// Issues the operation in which NCCL makes the child communicator. Its place among the parent's operations is taken when this returns.
void bear(gpu::device_engine& parent, device_joining& how, gpu::device_collective kind, duration within) {
    gpu::operation_state& which = parent.take();
    which.what.kind = kind;
    which.what.born = how.born;
    which.what.deadline = within;
    how.born->done = std::move(parent.issue(which)).completed();
}

task<made_communicator> join_split(task<std::unique_ptr<communicator>> splitting, device_joining how) {
    auto ranks = co_await std::move(splitting);
    auto joining = join_as(std::move(ranks), std::move(how));
    co_return co_await std::move(joining);
}

/// Forms the sibling communicator of the ranks that are left. Over it they learn whether all of them still have a communicator of NCCL's that can shrink.
task<made_communicator> join_rest(std::shared_ptr<context_state> context, membership who, std::shared_ptr<gpu::device_engine> parent,
                                  device_joining how, std::shared_ptr<int> times) {
    auto forming = form(context, std::move(who));
    auto ranks = co_await std::move(forming);
    ++*times;
    auto able = std::make_unique<std::uint8_t>(parent->native() && !parent->failed() && how.nccl.table.ncclCommShrink ? 1 : 0);
    call_options options;
    options.label = "leaving ranks out";
    future<> agreeing = ranks->all_reduce(buffer(able.get(), 1, data_type::u8), min, options);
    co_await std::move(agreeing);
    if (*able == 0) how.born.reset();
    else bear(*parent, how, gpu::device_collective::shrink, context->options().rendezvous);
    auto joining = join_as(std::move(ranks), std::move(how));
    co_return co_await std::move(joining);
}

}  // namespace

/// NCCL has no colors below 0, so these ranks meet anew.
task<made_communicator> split_devices(gpu::device_group& parent, int color, int key) {
    device_joining how = how_in(parent);
    if (parent.divides != 0) {
        how.born = std::make_shared<gpu::nccl_birth>(how.nccl.table, parent.card->inner());
        how.born->color = color < 0 ? NCCL_SPLIT_NOCOLOR : color;
        how.born->key = key;
        bear(*parent.engine, how, gpu::device_collective::split, parent.inside.context().options().rendezvous);
    }
    return join_split(parent.host_communicator->split(color, key), std::move(how));
}

task<made_communicator> shrink_devices(gpu::device_group& parent, std::vector<rank> without) {
    const membership& all = parent.inside.who();
    const std::shared_ptr<int> times(parent.shrunk, &(*parent.shrunk)[without]);
    membership rest = tutti::detail::child_of(all, fmt::format("{} without {}", all.name, fmt::join(without, ", ")),
                                              fmt::format("{}.without {}", *times, fmt::join(without, ",")));
    std::vector<std::string> addresses;
    std::vector<int> hosts;
    for (rank each = 0; each < parent.size(); ++each) {
        if (std::binary_search(without.begin(), without.end(), each)) continue;
        if (each == parent.me()) rest.me = static_cast<rank>(addresses.size());
        addresses.push_back(all.addresses[static_cast<std::size_t>(each)]);
        hosts.push_back(all.hosts.host(each));
    }
    rest.addresses = std::move(addresses);
    rest.hosts = host_map(hosts);
    device_joining how = how_in(parent);
    if (parent.card) how.born = std::make_shared<gpu::nccl_birth>(how.nccl.table, parent.card->inner());
    if (how.born) how.born->without.assign(without.begin(), without.end());
    return join_rest(parent.inside.shared_context(), std::move(rest), parent.engine, std::move(how), times);
}

}  // namespace tutti::detail
