// Communicators made of others. The parent is in progress meanwhile, though the call says that it succeeded; the new handle is null until
// it is not.
#include "gpu/sim/nccl_call.hpp"

#include <algorithm>

using namespace tutti::gpu::sim;

namespace {

// All who take part have called: one clique for each color, ordered by key, then by rank.
void divide(machine::state& on, clique& parent, splitting& from) {
    std::set<int> colors;
    for (const auto& [rank, each] : from.calls)
        if (each.color != NCCL_SPLIT_NOCOLOR) colors.insert(each.color);
    for (const int color : colors) {
        std::vector<int> ranks;
        for (const auto& [rank, each] : from.calls)
            if (each.color == color) ranks.push_back(rank);
        std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) { return from.calls.at(a).key < from.calls.at(b).key; });
        const auto made = on.ranks.make_clique(static_cast<int>(ranks.size()));
        for (std::size_t index = 0; index < ranks.size(); ++index) {
            const communicator& old = *parent.members[static_cast<std::size_t>(ranks[index])];
            split_call& mine = from.calls.at(ranks[index]);
            communicator* const child = on.ranks.make(made, static_cast<int>(index), *old.home, mine.blocking);
            child->host = old.host;
            child->issuer = old.issuer;
            *mine.made = reinterpret_cast<ncclComm_t>(child);
        }
    }
    from.done = true;
}

ncclResult_t take_part(nccl_call& here, split_call mine, std::set<int> excluded) {
    communicator& comm = here.comm();
    machine::state& on = here.on();
    *mine.made = nullptr;
    const std::shared_ptr<clique> parent = comm.clique;
    const std::uint64_t number = comm.splits++;
    splitting& from = parent->splits[number];
    from.calls[comm.rank] = mine;
    if (from.calls.size() > 1 && from.excluded != excluded)
        here.misuse("on " + here.comm_name() + " with other ranks to leave out than another rank's");
    from.excluded = std::move(excluded);
    on.woken();
    group_part part;
    part.comm = &comm;
    part.done = [&on, parent, number]() -> std::optional<ncclResult_t> {
        splitting& all = parent->splits[number];
        if (all.calls.size() + all.excluded.size() < static_cast<std::size_t>(parent->size)) return {};
        if (!all.done) divide(on, *parent, all);
        return ncclSuccess;
    };
    const ncclResult_t begun = on.ranks.submit(here, std::move(part));
    return begun == ncclInProgress ? ncclSuccess : begun;  // as the real one
}

bool blocks(const ncclConfig_t* config, const communicator& parent) {
    return config == nullptr || config->blocking == NCCL_CONFIG_UNDEF_INT ? parent.blocking : config->blocking != 0;
}

}  // namespace

ncclResult_t ncclCommSplit(ncclComm_t handle, int color, int key, ncclComm_t* made, ncclConfig_t* config) {
    nccl_call here("ncclCommSplit", handle, nccl_call::use::operation);
    if (!here) return here.error();
    if (!here->ranks.all_ended(here.comm())) here.misuse("on " + here.comm_name() + " while operations are queued: it may wait for ever");
    return take_part(here, {color, key, blocks(config, here.comm()), made}, {});
}

ncclResult_t ncclCommShrink(ncclComm_t handle, int* list, int count, ncclComm_t* made, ncclConfig_t* config, int flags) {
    const bool aborts = (flags & NCCL_SHRINK_ABORT) != 0;
    nccl_call here("ncclCommShrink", handle, aborts ? nccl_call::use::ending : nccl_call::use::operation);
    if (!here) return here.error();
    communicator& comm = here.comm();
    if (count < 1 || count >= comm.clique->size) return here.wrong(ncclInvalidArgument, "without ranks to leave out, or without any left");
    std::sort(list, list + count);
    std::set<int> excluded(list, list + count);
    if (excluded.contains(comm.rank)) return here.wrong(ncclInvalidArgument, "by " + here.comm_name() + ", which is to be left out");
    if (aborts) {
        here.waits();
        here->ranks.drop_queued(comm);
        comm.in_progress = false;
        comm.state = ncclSuccess;
    } else if (!here->ranks.all_ended(comm)) {
        return here.wrong(ncclInvalidUsage, "on " + here.comm_name() + " while operations are queued");
    }
    return take_part(here, {0, comm.rank, blocks(config, comm), made}, std::move(excluded));
}
