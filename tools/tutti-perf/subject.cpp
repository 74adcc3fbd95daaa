#include "subject.hpp"

namespace perf {
namespace {

using namespace tutti;

bool as_asked(bool asked) { return asked; }
bool always(bool) { return true; }
bool never(bool) { return false; }

double whole(double) { return 1; }
double twice(double) { return 2; }
double all_but_mine(double ranks) { return (ranks - 1) / ranks; }
double there_and_back(double ranks) { return 2 * (ranks - 1) / ranks; }

std::uint64_t even(rank, int, int) { return 1; }
std::uint64_t rising(rank, int, int part) { return static_cast<std::uint64_t>(part) + 1; }
/// From one rank to another as long as back; every rank sends as much as the others, in parts of 1 to `size` shares.
std::uint64_t crossed(rank me, int size, int part) { return static_cast<std::uint64_t>((me + part) % size) + 1; }

/// The last rank of an odd number has none but itself.
rank partner_of(rank me, int size) { return me % 2 == 1 ? me - 1 : me + 1 < size ? me + 1 : me; }

origin everybody(rank, int size, int) { return {0, size, 0}; }
origin everybodys_for_me(rank me, int size, int) { return {0, size, me}; }
origin up_to_me(rank me, int, int) { return {0, me + 1, 0}; }
origin before_me(rank me, int, int) { return {0, me, 0}; }
origin the_root(rank, int, int) { return {root, root + 1, 0}; }
origin the_roots_for_me(rank me, int, int) { return {root, root + 1, me}; }
origin its_rank(rank, int, int part) { return {part, part + 1, 0}; }
origin its_rank_for_me(rank me, int, int part) { return {part, part + 1, me}; }
origin my_left(rank me, int size, int) { return {(me + size - 1) % size, (me + size - 1) % size + 1, 0}; }
origin my_partner(rank me, int size, int) { return {partner_of(me, size), partner_of(me, size) + 1, 0}; }

future<> all_reduce(communicator& world, const operands& with) { return world.all_reduce(with.input, with.output, with.op, with.options); }
future<> broadcast(communicator& world, const operands& with) { return world.broadcast(with.output, root, with.options); }
future<> reduce(communicator& world, const operands& with) { return world.reduce(with.input, with.output, with.op, root, with.options); }
future<> all_gather(communicator& world, const operands& with) { return world.all_gather(with.input, with.output, with.options); }
future<> reduce_scatter(communicator& world, const operands& with) {
    return world.reduce_scatter(with.input, with.output, with.op, with.options);
}
future<> all_to_all(communicator& world, const operands& with) { return world.all_to_all(with.input, with.output, with.options); }
future<> gather(communicator& world, const operands& with) { return world.gather(with.input, with.output, root, with.options); }
future<> scatter(communicator& world, const operands& with) { return world.scatter(with.input, with.output, root, with.options); }
future<> scan(communicator& world, const operands& with) { return world.scan(with.input, with.output, with.op, with.options); }
future<> exclusive_scan(communicator& world, const operands& with) {
    return world.exclusive_scan(with.input, with.output, with.op, with.options);
}
future<> barrier(communicator& world, const operands& with) { return world.barrier(with.options); }

future<> all_gather_v(communicator& world, const operands& with) {
    return world.all_gather_v(with.input, with.output, with.counts, with.options);
}
future<> reduce_scatter_v(communicator& world, const operands& with) {
    return world.reduce_scatter_v(with.input, with.output, with.counts, with.op, with.options);
}
future<> gather_v(communicator& world, const operands& with) {
    return world.gather_v(with.input, with.output, with.counts, root, with.options);
}
future<> scatter_v(communicator& world, const operands& with) {
    return world.scatter_v(with.input, with.output, with.counts, root, with.options);
}
future<> all_to_all_v(communicator& world, const operands& with) {
    return world.all_to_all_v(with.input, with.output, with.counts, with.counts, with.options);
}

future<> send_recv(communicator& world, const operands& with) {
    const rank me = world.rank(), size = world.size();
    return world.exchange(send_to(with.input, (me + 1) % size), recv_from(with.output, (me + size - 1) % size));
}

task<> ping_pong(communicator& world, operands with) {
    const rank partner = partner_of(world.rank(), world.size());
    if (world.rank() % 2 == 0) {
        co_await world.exchange(send_to(with.input, partner), recv_from(with.output, partner));
        co_return;
    }
    co_await world.recv(with.output, partner);
    co_await world.send(with.input, partner);
}

// clang-format off
constexpr parts one = parts::one, all = parts::all;
constexpr subject collective_of(collective kind, parts input, parts output, bool root_only, bool (*in_place)(bool),
                                double (*bus_factor)(double), std::uint64_t (*shares)(rank, int, int),
                                origin (*origin_of)(rank, int, int), future<> (*start)(communicator&, const operands&)) {
    return {name(kind), kind, input, output, root_only, in_place, bus_factor, shares, origin_of, start};
}
constexpr subject table[] = {
    //            kind                          input output root   in place  bus factor      shares   origin             call
    collective_of(collective::all_reduce,       one,  one,   false, as_asked, there_and_back, even,    everybody,         all_reduce),
    collective_of(collective::broadcast,        one,  one,   false, always,   whole,          even,    the_root,          broadcast),
    collective_of(collective::reduce,           one,  one,   true,  as_asked, whole,          even,    everybody,         reduce),
    collective_of(collective::all_gather,       one,  all,   false, as_asked, all_but_mine,   even,    its_rank,          all_gather),
    collective_of(collective::reduce_scatter,   all,  one,   false, as_asked, all_but_mine,   even,    everybodys_for_me, reduce_scatter),
    collective_of(collective::all_to_all,       all,  all,   false, never,    all_but_mine,   even,    its_rank_for_me,   all_to_all),
    collective_of(collective::gather,           one,  all,   true,  as_asked, all_but_mine,   even,    its_rank,          gather),
    collective_of(collective::scatter,          all,  one,   false, as_asked, all_but_mine,   even,    the_roots_for_me,  scatter),
    collective_of(collective::scan,             one,  one,   false, as_asked, whole,          even,    up_to_me,          scan),
    collective_of(collective::exclusive_scan,   one,  one,   false, as_asked, whole,          even,    before_me,         exclusive_scan),
    collective_of(collective::barrier,          one,  one,   false, as_asked, whole,          even,    the_root,          barrier),
    collective_of(collective::all_gather_v,     one,  all,   false, as_asked, all_but_mine,   rising,  its_rank,          all_gather_v),
    collective_of(collective::reduce_scatter_v, all,  one,   false, as_asked, all_but_mine,   rising,  everybodys_for_me, reduce_scatter_v),
    collective_of(collective::gather_v,         one,  all,   true,  as_asked, all_but_mine,   rising,  its_rank,          gather_v),
    collective_of(collective::scatter_v,        all,  one,   false, as_asked, all_but_mine,   rising,  the_roots_for_me,  scatter_v),
    collective_of(collective::all_to_all_v,     all,  all,   false, never,    all_but_mine,   crossed, its_rank_for_me,   all_to_all_v),
    {.name = "send_recv", .input = one, .output = one, .in_place = never, .bus_factor = whole, .shares = even, .origin_of = my_left, .start = send_recv},
    {.name = "ping_pong", .input = one, .output = one, .in_place = never, .bus_factor = twice, .shares = even, .origin_of = my_partner, .play = ping_pong},
};
// clang-format on

}  // namespace

std::span<const subject> subjects() noexcept { return table; }

std::uint64_t shares_of(const subject& what, int size) noexcept {
    if (what.input == parts::one && what.output == parts::one) return 1;
    std::uint64_t all_of_them = 0;
    for (int part = 0; part < size; ++part) all_of_them += what.shares(0, size, part);
    return all_of_them;
}

}  // namespace perf
