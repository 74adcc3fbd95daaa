// When the work of several ranks is one: it begins when all their streams have reached it, and ends for all of them at once.
#include "gpu/sim/state.hpp"

#include <algorithm>

namespace tutti::gpu::sim {
namespace {

std::string text_of(const rank_call& what) {
    std::string text =
        std::string(name_of(what.kind)) + " of " + std::to_string(what.count) + " elements of type " + std::to_string(what.type);
    if (what.kind == nccl_kind::all_reduce || what.kind == nccl_kind::reduce || what.kind == nccl_kind::reduce_scatter)
        text += ", operator " + (what.op < ncclNumOps ? std::to_string(what.op) : std::string("of its own"));
    if (what.root >= 0) text += ", root " + std::to_string(what.root);
    return text;
}

bool is_message(nccl_kind kind) { return kind == nccl_kind::send || kind == nccl_kind::recv; }

}  // namespace

void nccl_ranks::check_match(const meeting& at, const rank_call& what) {
    machine::state& on = owner_.inner();
    for (const auto& other : at.calls) {
        if (!other) continue;
        const bool same_op = other->op == what.op || (other->op >= ncclNumOps && what.op >= ncclNumOps);
        const bool same = is_message(what.kind) ? other->count * size_of(other->type) == what.count * size_of(what.type)
                                                : other->kind == what.kind && other->count == what.count && other->type == what.type &&
                                                      same_op && other->root == what.root;
        if (same) continue;
        if (on.how.strict)
            on.misuse(name_of(what.comm) + " calls " + text_of(what) + " where " + name_of(other->comm) + " calls " + text_of(*other));
        const_cast<meeting&>(at).never = true;
        return;
    }
}

std::shared_ptr<work> nccl_ranks::make_work(const rank_call& what) {
    auto made = std::make_shared<work>();
    made->kind = work_kind::collective;
    made->name = sim::name_of(what.kind);
    made->comm = what.comm;
    const std::size_t element = size_of(what.type);
    made->bytes = std::max(what.reads(), what.writes()) * element;
    if (what.reads() > 0) made->touches.push_back({what.from, what.reads() * element});
    if (what.writes() > 0) made->touches.push_back({what.to, what.writes() * element});
    auto& queued = what.comm->queued;
    std::erase_if(queued, [](const auto& each) { return each->ending->done; });
    queued.push_back(made);
    return made;
}

void nccl_ranks::reach(meeting& at, std::size_t part) {
    machine::state& on = owner_.inner();
    const rank_call& what = *at.calls[part];
    for (const operation_fault& each : operation_faults) {
        if (each.rank != what.comm->rank || each.number != what.number) continue;
        at.never = true;
        if (each.code != ncclSuccess) what.comm->state = each.code;
    }
    const auto slow = slow_ranks.find(what.comm->rank);
    at.reached[part] = on.now() + (slow == slow_ranks.end() ? duration{} : slow->second);
    if (!std::all_of(at.reached.begin(), at.reached.end(), [](const auto& each) { return each.has_value(); })) return;
    at.started = **std::max_element(at.reached.begin(), at.reached.end());
    const std::size_t bytes = std::max(what.reads(), what.writes()) * size_of(what.type);
    const bool copies = at.reached.size() == 1 && what.op < ncclAvg;  // one rank alone has nothing to combine
    at.due = *at.started + (copies ? on.how.copy : on.how.collective).of(bytes);
    on.woken();
}

namespace {

// The calls' common end, when all are known.
std::optional<time_point> end_of(const std::vector<std::shared_ptr<meeting>>& all) {
    time_point last{};
    for (const auto& each : all) {
        if (each->never || !each->due) return {};
        last = std::max(last, *each->due);
    }
    return last;
}

void finish(machine& on, work& what, const std::vector<std::shared_ptr<meeting>>& all) {
    for (const auto& each : all) {
        what.started = std::max(what.started, *each->started);
        if (!std::exchange(each->moved, true)) move_data(on, *each);
    }
}

}  // namespace

void nccl_ranks::enqueue(const rank_call& what) {
    communicator& comm = *what.comm;
    std::shared_ptr<meeting>& at = comm.clique->collectives[comm.collectives++];
    if (!at) at = std::make_shared<meeting>(comm.clique->size);
    check_match(*at, what);
    const auto part = static_cast<std::size_t>(comm.rank);
    at->calls[part] = what;
    auto made = make_work(what);
    const std::vector<std::shared_ptr<meeting>> all{at};
    made->arrive = [this, at, part] { reach(*at, part); };
    made->end = [all] { return end_of(all); };
    made->settle = [this, all, it = made.get()] { finish(owner_, *it, all); };
    owner_.inner().enqueue(*what.where, std::move(made));
}

void nccl_ranks::enqueue_messages(std::vector<rank_call> calls) {
    std::vector<std::shared_ptr<meeting>> all;
    std::vector<std::size_t> parts;
    std::shared_ptr<work> made;
    for (const rank_call& each : calls) {
        communicator& comm = *each.comm;
        const bool sends = each.kind == nccl_kind::send;
        clique::pipe& pipe = comm.clique->pipes[sends ? std::pair(comm.rank, each.root) : std::pair(each.root, comm.rank)];
        const std::size_t number = sends ? pipe.sent++ : pipe.received++;
        if (number == pipe.all.size()) pipe.all.push_back(std::make_shared<meeting>(2));
        check_match(*pipe.all[number], each);
        parts.push_back(sends ? 0 : 1);
        pipe.all[number]->calls[parts.back()] = each;
        all.push_back(pipe.all[number]);
        auto one = make_work(each);
        if (!made) {
            made = std::move(one);
            continue;
        }
        comm.queued.pop_back();  // the group's messages are one piece of work
        made->bytes += one->bytes;
        made->touches.insert(made->touches.end(), one->touches.begin(), one->touches.end());
        if (made->name != one->name) made->name = "messages";
    }
    made->arrive = [this, all, parts] {
        for (std::size_t index = 0; index < all.size(); ++index) reach(*all[index], parts[index]);
    };
    made->end = [all] { return end_of(all); };
    made->settle = [this, all, it = made.get()] { finish(owner_, *it, all); };
    owner_.inner().enqueue(*calls.front().where, std::move(made));
}

}  // namespace tutti::gpu::sim
