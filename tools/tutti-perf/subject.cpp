#include "subject.hpp"

namespace perf {
namespace {

using namespace tutti;

bool as_asked(bool asked) { return asked; }
bool always(bool) { return true; }
bool never(bool) { return false; }

double whole(double) { return 1; }
double all_but_mine(double ranks) { return (ranks - 1) / ranks; }
double there_and_back(double ranks) { return 2 * (ranks - 1) / ranks; }

origin everybody(rank, int size, int) { return {0, size, 0}; }
origin everybodys_for_me(rank me, int size, int) { return {0, size, me}; }
origin the_root(rank, int, int) { return {root, root + 1, 0}; }
origin its_rank(rank, int, int part) { return {part, part + 1, 0}; }
origin its_rank_for_me(rank me, int, int part) { return {part, part + 1, me}; }

future<> all_reduce(communicator& world, const operands& with) { return world.all_reduce(with.input, with.output, with.op); }
future<> broadcast(communicator& world, const operands& with) { return world.broadcast(with.output, root); }
future<> reduce(communicator& world, const operands& with) { return world.reduce(with.input, with.output, with.op, root); }
future<> all_gather(communicator& world, const operands& with) { return world.all_gather(with.input, with.output); }
future<> reduce_scatter(communicator& world, const operands& with) { return world.reduce_scatter(with.input, with.output, with.op); }
future<> all_to_all(communicator& world, const operands& with) { return world.all_to_all(with.input, with.output); }
future<> barrier(communicator& world, const operands&) { return world.barrier(); }

// clang-format off
constexpr subject table[] = {
    // kind                    input       output      reduces root   in place  bus factor      origin             call
    {collective::all_reduce,     parts::one, parts::one, true,  false, as_asked, there_and_back, everybody,         all_reduce},
    {collective::broadcast,      parts::one, parts::one, false, false, always,   whole,          the_root,          broadcast},
    {collective::reduce,         parts::one, parts::one, true,  true,  as_asked, whole,          everybody,         reduce},
    {collective::all_gather,     parts::one, parts::all, false, false, as_asked, all_but_mine,   its_rank,          all_gather},
    {collective::reduce_scatter, parts::all, parts::one, true,  false, as_asked, all_but_mine,   everybodys_for_me, reduce_scatter},
    {collective::all_to_all,     parts::all, parts::all, false, false, never,    all_but_mine,   its_rank_for_me,   all_to_all},
    {collective::barrier,        parts::one, parts::one, false, false, as_asked, whole,          the_root,          barrier},
};
// clang-format on

}  // namespace

std::span<const subject> subjects() noexcept { return table; }

}  // namespace perf
