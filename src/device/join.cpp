// Ranks describe their devices to each other, agree on the engine, and meet in NCCL if that is the engine. They do so over a sibling communicator,
// which afterwards reports their failures to each other.
#include "device/join.hpp"
#include "communicator/inside_of.hpp"

#include "communicator/sibling.hpp"
#include "device/group.hpp"
#include "device/offer.hpp"
#include "device/staged_carrier.hpp"
#include "gpu/nccl_carrier.hpp"
#include "gpu/stream_state.hpp"
#include "group/spawn.hpp"

#include <tutti/detail/bound_task.hpp>
#include <tutti/gpu/device_buffer.hpp>
#include <tutti/gpu/pinned_buffer.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace tutti::detail {
namespace {

using made_group = std::unique_ptr<gpu::device_group>;
using made_communicator = std::unique_ptr<gpu::communicator>;

constexpr int first_that_shares_devices = 23003;

bool shares_devices(int version) {
    const char* const told = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
    return version >= first_that_shares_devices && told && std::strcmp(told, "1") == 0;
}

/// Never empty, because an empty text says that nothing is wrong.
std::string words_of(const failure& why) { return why.details().cause.empty() ? why.code().message() : why.details().cause; }

gpu::device_offer offer_of(const device_joining& how, int host) {
    gpu::device_offer mine;
    mine.host = gpu::nccl_host(host);
    mine.chosen = gpu::device_choice();
    mine.wanted = how.with.engine;
    mine.chunk_bytes = how.with.chunk_bytes;
    mine.window = how.with.window;
    if (!how.card) mine.no_device = words_of(how.card.failure());
    if (!how.nccl) mine.no_nccl = words_of(*how.nccl.why_not);
    else how.nccl.table.ncclGetVersion(&mine.nccl_version);
    if (!how.card) return mine;
    const gpu::device& card = *how.card;
    mine.uuid = card.uuid();
    mine.ordinal = card.ordinal();
    mine.may_share_device = shares_devices(mine.nccl_version);
    return mine;
}

// ---- the ranks

/// Throws the same on all ranks when they cannot be a device group.
task<gpu::engine_choice> agree(communicator& over, gpu::device_offer mine) {
    std::vector<std::byte> said(gpu::device_offer::bytes), all(gpu::device_offer::bytes * static_cast<std::size_t>(over.size()));
    mine.write(said);
    call_options options;
    options.label = "devices";
    future<> telling =
        over.all_gather(const_buffer(said.data(), said.size(), data_type::u8), buffer(all.data(), all.size(), data_type::u8), options);
    co_await std::move(telling);
    std::vector<gpu::device_offer> offers;
    for (std::size_t each = 0; each < all.size(); each += gpu::device_offer::bytes)
        offers.push_back(gpu::device_offer::read(std::span(all).subspan(each, gpu::device_offer::bytes)));
    auto chosen = gpu::choose_engine(offers).value();
    if (chosen.told && over.rank() == 0) {
        context_state* const context = &inside_of::get(over).context();
        (void)context->send([context, why = chosen.why] { context->tell("collectives on devices go through the hosts: " + why); });
    }
    co_return chosen;
}

// ---- the engine

task<> attach(std::shared_ptr<gpu::device_engine> engine, group& ranks) {
    engine->attach();
    ranks.compare_on_device([to = std::weak_ptr(engine)](rank who, std::uint64_t number, const call_signature& what) {
        if (const auto here = to.lock()) here->compare(who, number, what);
    });
    co_return;
}

/// Ends the engine when the ranks' communicator ends with a failure.
task<> end_with(std::shared_ptr<gpu::device_engine> engine, future<> ranks) {
    const auto ended = co_await as_result(std::move(ranks));
    if (!ended) engine->fail(ended.failure().details());
}

gpu::nccl_abilities abilities(const gpu::device_state& card, const gpu::nccl_table& nccl) {
    gpu::nccl_abilities has;
    nccl.ncclGetVersion(&has.version);
    int major = 0, minor = 0;
    card.driver().cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, card.who().handle);
    card.driver().cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, card.who().handle);
    has.capability = 10 * major + minor;
    has.premul = nccl.ncclRedOpCreatePreMulSum && nccl.ncclRedOpDestroy;
    return has;
}

std::shared_ptr<gpu::device_engine> make_engine(gpu::device_group& of) {
    gpu::device_engine_settings how;
    how.name = of.host_communicator->name();
    how.me = of.me();
    how.size = of.size();
    how.operation = of.inside.context().options().operation;
    how.lost_link = of.inside.context().options().lost_link;
    if (of.card) how.stuck = of.card->inner()->options().stuck;
    how.tell = [ranks = of.ranks](const report& why) { ranks->tell(why); };
    how.ask = [ranks = of.ranks](std::uint64_t number, const call_signature& what) { ranks->ask(number, what); };
    return std::make_shared<gpu::device_engine>(of.card ? of.card->inner() : nullptr, of.inside.context().loop(), std::move(how));
}

/// The streams and the memory that a communicator needs on its device.
struct equipment {
    std::optional<gpu::stream> over;  // of operations, or of what is copied to the device
    std::optional<gpu::stream> out;   // of what is copied to the host
    std::shared_ptr<void> memory;     // a byte of the device's, or pinned
};

result<> equip(const gpu::device& card, std::size_t pinned, equipment& with) {
    if (!with.over) {
        auto made = gpu::stream::make(card, gpu::stream_priority::high);
        if (!made) return made.failure();
        with.over = *made;
    }
    if (pinned != 0) {
        auto made = gpu::stream::make(card, gpu::stream_priority::high);
        if (!made) return made.failure();
        with.out = *made;
    }
    auto memory = pinned != 0 ? gpu::allocate_pinned_memory(card, pinned) : gpu::allocate_device_memory(card, 1);
    if (!memory) return memory.failure();
    with.memory = *memory;
    return {};
}

/// Tells the other ranks of a failure here, because they would wait for this rank.
[[noreturn]] void refuse(communicator& host_communicator, report why) {
    why.root = host_communicator.rank();
    why.cause = fmt::format("rank {}: {}", host_communicator.rank(), why.cause);
    inside_of::get(host_communicator).engine().fail_and_tell(why);
    throw failure(std::move(why));
}

/// Compares contexts, because a stream of this device may come from another handle of it (`open` may be called twice).
void check_stream(communicator& host_communicator, const gpu::device& card, const gpu::stream& over) {
    if (over.inner()->card()->context() == card.inner()->context()) return;
    report why;
    why.code = error::invalid_argument;
    why.peers = {host_communicator.rank()};
    why.cause = fmt::format("the communication stream is of device {}; one of device {} is expected", over.on().ordinal(), card.ordinal());
    refuse(host_communicator, std::move(why));
}

/// Makes streams and memory on the lifecycle's thread, where calls of the driver may take long. `pinned` is 0 for NCCL.
task<std::shared_ptr<equipment>> equip(communicator& host_communicator, gpu::device card, std::optional<gpu::stream> over,
                                       std::size_t pinned) {
    if (over) check_stream(host_communicator, card, *over);
    auto with = std::make_shared<equipment>();
    with->over = std::move(over);
    auto getting = card.inner()->lifecycle().run("streams and memory for a communicator", [=] { return equip(card, pinned, *with); });
    const auto got = co_await as_result(std::move(getting));
    if (!got) refuse(host_communicator, got.failure().details());
    co_return with;
}

/// Rank 0 has the id made and broadcasts it, or the reason for which there is none.
task<ncclUniqueId> unique_id(gpu::device_group& of) {
    auto mine = std::make_shared<ncclUniqueId>();
    if (of.me() == 0) {
        auto making = of.card->inner()->lifecycle().run("ncclGetUniqueId", [mine, &nccl = of.how.nccl.table]() -> result<> {
            const ncclResult_t code = nccl.ncclGetUniqueId(mine.get());
            if (code == ncclSuccess) return {};
            return failure(gpu::error_of(code), fmt::format("ncclGetUniqueId: {}", nccl.ncclGetErrorString(code)));
        });
        const auto got = co_await as_result(std::move(making));
        if (!got) {
            of.engine->fail(got.failure().details());
            throw failure(*of.engine->failed());
        }
    }
    call_options options;
    options.label = "the id of NCCL's communicator";
    future<> giving = of.host_communicator->broadcast(buffer(mine.get(), sizeof(ncclUniqueId), data_type::u8), 0, options);
    co_await std::move(giving);
    co_return *mine;
}

/// Attaches the engine to its progress loop and to the ranks' communicator: the end of either also ends the engine.
task<> begin(gpu::device_group& of) {
    const std::shared_ptr<context_state> context = of.inside.shared_context();
    future<> attaching = spawn(*context, attach(of.engine, of.inside));
    co_await std::move(attaching);
    auto watching = std::make_shared<task<>>(end_with(of.engine, of.host_communicator->watch()));
    (void)context->send([context = context.get(), watching] { context->work().start(std::move(*watching)); });
}

task<> carry_by_nccl(gpu::device_group& of) {
    const auto& card = of.card->inner();
    auto made = std::make_unique<gpu::nccl_carrier>(*of.engine, of.how.nccl.table, *of.over, abilities(*card, of.how.nccl.table));
    gpu::nccl_carrier& nccl = *made;
    of.engine->carried_by(std::move(made));
    auto beginning = begin(of);
    co_await std::move(beginning);
    if (const auto& born = of.how.born; born && born->color >= 0) {
        future<> bearing = std::move(born->done);
        co_await std::move(bearing);
        nccl.meet_by(born);
        co_return;
    }
    auto asking = unique_id(of);
    nccl.meet_by(co_await std::move(asking));
}

task<> carry_staged(gpu::device_group& of, gpu::staging with) {
    of.engine->carried_by(std::make_unique<gpu::staged_carrier>(*of.engine, of.ranks, std::move(with)));
    return begin(of);
}

task<made_group> furnish(std::unique_ptr<communicator> host_communicator, device_joining how, gpu::engine_choice chosen) {
    const bool staged = chosen.kind == gpu::engine_kind::staged;
    gpu::staging with(chosen.why, chosen.chunk_bytes, how.with.window, host_communicator->size());
    if (how.card) {
        auto equipping = equip(*host_communicator, *how.card, how.over, staged ? with.bytes() : 0);
        const auto got = co_await std::move(equipping);
        how.over = got->over;
        with.out = got->out;
        with.memory = got->memory;
    } else {
        how.over.reset();
        auto memory = gpu::host_memory(with.bytes());
        if (!memory) refuse(*host_communicator, memory.failure().details());
        with.memory = std::move(*memory);
    }
    with.in = how.over;
    auto made = std::make_unique<gpu::device_group>(std::move(host_communicator), std::move(how));
    made->engine = make_engine(*made);
    if (!staged) made->barrier = with.memory;
    auto carrying = staged ? carry_staged(*made, std::move(with)) : carry_by_nccl(*made);
    co_await std::move(carrying);
    co_return made;
}

task<made_communicator> meet(std::unique_ptr<communicator> host_communicator, device_joining how, gpu::engine_choice chosen) {
    auto furnishing = furnish(std::move(host_communicator), std::move(how), std::move(chosen));
    made_group made = co_await std::move(furnishing);
    future<> starting = made->engine->start(made->inside.context().options().rendezvous);
    co_await std::move(starting);
    call_options options;
    options.label = "the beginning of a device group";
    made->divides = made->engine->native() && made->how.nccl.table.ncclCommSplit ? 1 : 0;
    future<> meeting = made->host_communicator->all_reduce(buffer(&made->divides, 1, data_type::u8), min, options);
    co_await std::move(meeting);
    co_return std::make_unique<gpu::communicator>(std::move(made));
}

}  // namespace

task<made_communicator> join_as(std::unique_ptr<communicator> ranks, device_joining how) {
    const membership& who = inside_of::get(*ranks).who();
    auto agreeing = agree(*ranks, offer_of(how, who.hosts.host(who.me)));
    auto chosen = co_await std::move(agreeing);
    auto meeting = meet(std::move(ranks), std::move(how), std::move(chosen));
    co_return co_await std::move(meeting);
}

namespace {

task<made_communicator> join(std::shared_ptr<context_state> context, membership who, device_joining how, future<> parent,
                             std::shared_ptr<class engine> above) {
    auto forming = form(context, std::move(who), std::move(parent), std::move(above));
    auto host_communicator = co_await std::move(forming);
    auto joining = join_as(std::move(host_communicator), std::move(how));
    co_return co_await std::move(joining);
}

}  // namespace

task<made_communicator> join_devices(communicator& parent, device_joining how) {
    group& inside = inside_of::get(parent);
    return join(inside.shared_context(), sibling(inside, "on devices"), std::move(how), inside.watch(), inside.engine().shared_from_this());
}

}  // namespace tutti::detail

namespace tutti {

task<std::unique_ptr<gpu::communicator>> communicator::device(result<gpu::device> card) {
    return device(std::move(card), gpu::group_options());
}

task<std::unique_ptr<gpu::communicator>> communicator::device(result<gpu::device> card, gpu::group_options options) {
    event_loop& loop = group_->context().loop();
    return detail::bind_to_loop(loop, detail::join_devices(*this, detail::device_joining(std::move(card), gpu::nccl(), options)));
}

}  // namespace tutti
