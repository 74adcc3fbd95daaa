// Groups, and communicators in progress: between a call and the moment it has taken effect.
#include "gpu/sim/nccl_call.hpp"

#include <algorithm>

namespace tutti::gpu::sim {
namespace {

// Messages of one communicator and stream are one piece of work, at the place of the first.
void join_messages(nccl_ranks& ranks, std::vector<group_part>& parts) {
    for (auto first = parts.begin(); first != parts.end(); ++first) {
        if (!first->message) continue;
        std::vector<rank_call> all{*first->message};
        for (auto other = first + 1; other != parts.end();) {
            if (other->message && other->comm == first->comm && other->message->where == all.front().where) {
                all.push_back(*other->message);
                other = parts.erase(other);
            } else {
                ++other;
            }
        }
        first->message.reset();
        first->launch = [&ranks, all] { ranks.enqueue_messages(all); };
    }
}

std::optional<ncclResult_t> result_of(const std::vector<group_part>& parts) {
    ncclResult_t first = ncclSuccess;
    for (const group_part& each : parts) {
        if (!each.done) continue;
        const auto result = each.done();
        if (!result) return {};
        if (first == ncclSuccess) first = *result;
    }
    return first;
}

}  // namespace

ncclResult_t nccl_ranks::submit(call& here, group_part part) {
    thread_state& self = here->self();
    if (self.group_depth > 0) {
        self.group.push_back(std::move(part));
        return ncclSuccess;
    }
    std::vector<group_part> alone;
    alone.push_back(std::move(part));
    return launch(here, std::move(alone));
}

ncclResult_t nccl_ranks::launch(call& here, std::vector<group_part> parts) {
    if (parts.empty()) return ncclSuccess;
    const bool blocking = parts.front().comm->blocking;
    for (const group_part& each : parts) {
        if (each.comm->blocking == blocking) continue;
        here.misuse("of communicators that block with others that do not");
        return ncclInvalidArgument;
    }
    join_messages(*this, parts);
    if (blocking) {
        for (const group_part& each : parts)
            if (each.launch) each.launch();
        here->wait(here.lock(), here.name() + " on " + name_of(parts.front().comm), [&] { return result_of(parts).has_value(); });
        return result_of(parts).value_or(ncclInternalError);
    }
    for (group_part& each : parts) {
        communicator& comm = *each.comm;
        if (!comm.in_progress) {
            comm.in_progress = true;
            comm.polls_left = polls;
            comm.launched = false;
            comm.parts.clear();
        }
        if (each.where != nullptr && each.where->claimed_by == nullptr) {
            each.where->claimed_by = &comm;
            comm.claimed.push_back(each.where);
        }
        comm.parts.push_back(std::move(each));
    }
    // NCCL enqueues from another thread, now or soon.
    const bool now = here->random() % 2 == 0;
    for (const auto& each : all_) {
        if (!now || !each->in_progress || each->launched || each->gone) continue;
        each->launched = true;
        for (const group_part& part : each->parts)
            if (part.launch) part.launch();
    }
    return ncclInProgress;
}

bool nccl_ranks::poll(communicator& which) {
    if (!which.in_progress) return true;
    if (which.polls_left > 0) {
        --which.polls_left;
        return false;
    }
    if (!std::exchange(which.launched, true))
        for (const group_part& part : which.parts)
            if (part.launch) part.launch();
    const auto result = result_of(which.parts);
    if (!result) return false;
    which.in_progress = false;
    which.parts.clear();
    for (stream* each : which.claimed)
        if (each->claimed_by == &which) each->claimed_by = nullptr;
    which.claimed.clear();
    if (which.state == ncclSuccess) which.state = *result;
    return true;
}

}  // namespace tutti::gpu::sim

using namespace tutti::gpu::sim;

ncclResult_t ncclGroupStart() {
    call here("ncclGroupStart", call::nothing);
    if (!here) return here.nccl_error();
    ++here->self().group_depth;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
    call here("ncclGroupEnd", call::nothing);
    if (!here) return here.nccl_error();
    thread_state& self = here->self();
    if (self.group_depth == 0) {
        here.misuse("without a beginning");
        return ncclInvalidUsage;
    }
    if (--self.group_depth > 0) return ncclSuccess;
    return here->ranks.launch(here, std::exchange(self.group, {}));
}
