// Collectives whose memory has a part for each rank: parts of one count, parts with a count each, or a list of buffers.
#include "communicator/call.hpp"
#include "group/group.hpp"
#include "validation/list_check.hpp"

#include <fmt/format.h>

#include <numeric>

namespace tutti {

using detail::check_count;
using detail::check_counts;
using detail::check_memory;
using detail::check_overlap;
using detail::check_rank;
using detail::check_same_type;
using detail::check_total;
using detail::complaint;
using detail::first_of;
using detail::issue;
using detail::make;
using detail::no_buffer;

namespace {

std::size_t at(rank which) noexcept { return static_cast<std::size_t>(which); }

const void* element_of(const_buffer memory, std::size_t index) noexcept {
    return static_cast<const std::byte*>(memory.data) + index * memory.element_bytes();
}

/// `to` has `count` elements. This rank's part begins at element `before`, and `from` may be that part in place.
complaint check_collected(const_buffer from, const_buffer to, std::size_t count, std::size_t before) {
    complaint wrong = first_of(check_same_type(from, to), check_memory("output", to), check_count("output", to.count, count));
    if (wrong) return wrong;
    const void* mine = element_of(to, before);
    return check_overlap(from, to, from.data == mine ? mine : nullptr);
}

/// `from` has `count` elements. This rank's part begins at element `before`, and `to` may be that part in place.
complaint check_spread(const_buffer from, const_buffer to, std::size_t count, std::size_t before) {
    complaint wrong = first_of(check_same_type(from, to), check_memory("input", from), check_count("input", from.count, count));
    if (wrong) return wrong;
    const void* mine = element_of(from, before);
    return check_overlap(from, to, to.data == mine ? mine : nullptr);
}

std::size_t sum_of(std::span<const std::size_t> counts) noexcept { return std::accumulate(counts.begin(), counts.end(), std::size_t{0}); }

/// Numbers of elements: of all ranks, of the ranks before this one, and of this rank.
struct share {
    std::size_t all = 0;
    std::size_t before = 0;
    std::size_t mine = 0;
};

/// Checks the counts and puts them into the request.
complaint take_counts(std::span<const std::size_t> counts, const_buffer shape, rank me, int size, request& what, share& parts) {
    complaint wrong = check_counts("counts", counts, size, shape);
    if (wrong) return wrong;
    const auto place = static_cast<std::size_t>(me);
    parts = {sum_of(counts), sum_of(counts.first(place)), counts[place]};
    what.counts = counts;
    what.count = parts.all;
    return {};
}

}  // namespace

future<> communicator::all_gather(const_buffer from, buffer to, call_options options) {
    const request what = make(collective::all_gather, from, from.data, to.data, options);
    complaint wrong =
        first_of(check_total(from, from.count, size()), check_same_type(from, to), check_memory("input", from), check_memory("output", to));
    const auto ranks = static_cast<std::size_t>(size());
    if (!wrong) wrong = first_of(check_count("output", to.count, from.count * ranks));
    if (!wrong) {
        const auto* mine = static_cast<const std::byte*>(to.data) + from.bytes() * static_cast<std::size_t>(rank());
        wrong = check_overlap(from, to, from.data == mine ? mine : nullptr);
    }
    return issue(*group_, what, wrong);
}

future<> communicator::reduce_scatter(const_buffer from, buffer to, reduction op, call_options options) {
    request what = make(collective::reduce_scatter, to, from.data, to.data, options);
    what.op = op;
    complaint wrong =
        first_of(check_total(to, to.count, size()), check_same_type(from, to), check_memory("input", from), check_memory("output", to));
    if (!wrong) wrong = check_count("input", from.count, to.count * static_cast<std::size_t>(size()));
    if (!wrong) {
        const auto* mine = static_cast<const std::byte*>(from.data) + const_buffer(to).bytes() * static_cast<std::size_t>(rank());
        wrong = check_overlap(from, to, to.data == mine ? mine : nullptr);
    }
    return issue(*group_, what, wrong);
}

future<> communicator::all_to_all(const_buffer from, buffer to, call_options options) {
    request what = make(collective::all_to_all, from, from.data, to.data, options);
    what.count = from.count / static_cast<std::size_t>(size());
    complaint wrong = first_of(check_total(from, what.count, size()), check_same_type(from, to), check_memory("input", from),
                               check_memory("output", to), check_count("output", to.count, from.count), check_overlap(from, to, nullptr));
    if (!wrong && from.count % static_cast<std::size_t>(size()) != 0)
        wrong = fmt::format("the input has {} elements, a multiple of {} is expected", from.count, size());
    return issue(*group_, what, wrong);
}

future<> communicator::gather(const_buffer from, buffer to, tutti::rank root, call_options options) {
    const bool here = rank() == root;
    request what = make(collective::gather, from, from.data, here ? to.data : nullptr, options);
    what.root = root;
    complaint wrong = first_of(check_rank("root", root, size()), check_total(from, from.count, size()), check_memory("input", from));
    if (here && !wrong)
        wrong = check_collected(from, to, from.count * static_cast<std::size_t>(size()), from.count * static_cast<std::size_t>(root));
    return issue(*group_, what, wrong);
}

future<> communicator::scatter(const_buffer from, buffer to, tutti::rank root, call_options options) {
    const bool here = rank() == root;
    request what = make(collective::scatter, to, here ? from.data : nullptr, to.data, options);
    what.root = root;
    complaint wrong = first_of(check_rank("root", root, size()), check_total(to, to.count, size()), check_memory("output", to));
    if (here && !wrong)
        wrong = check_spread(from, to, to.count * static_cast<std::size_t>(size()), to.count * static_cast<std::size_t>(root));
    return issue(*group_, what, wrong);
}

future<> communicator::all_gather_v(const_buffer from, buffer to, std::span<const std::size_t> counts, call_options options) {
    request what = make(collective::all_gather_v, from, from.data, to.data, options);
    share parts;
    complaint wrong = first_of(take_counts(counts, from, rank(), size(), what, parts), check_memory("input", from));
    if (!wrong) wrong = first_of(check_count("input", from.count, parts.mine), check_collected(from, to, parts.all, parts.before));
    return issue(*group_, what, wrong);
}

future<> communicator::reduce_scatter_v(const_buffer from, buffer to, std::span<const std::size_t> counts, reduction op,
                                        call_options options) {
    request what = make(collective::reduce_scatter_v, to, from.data, to.data, options);
    what.op = op;
    share parts;
    complaint wrong = first_of(take_counts(counts, to, rank(), size(), what, parts), check_memory("output", to));
    if (!wrong) wrong = first_of(check_count("output", to.count, parts.mine), check_spread(from, to, parts.all, parts.before));
    return issue(*group_, what, wrong);
}

namespace {

/// take_counts() for gather_v and scatter_v, where a rank other than the root may know its `own` part only.
complaint take_rooted(std::span<const std::size_t> counts, const_buffer own, std::string_view role, rank root, rank me, int size,
                      request& what, share& parts) {
    what.root = root;
    const bool here = me == root;
    complaint wrong = first_of(check_rank("root", root, size), check_memory(role, own), check_total(own, own.count, 1));
    if (wrong || (what.root_counts && !here)) return wrong;
    wrong = take_counts(counts, own, me, size, what, parts);
    if (wrong && counts.empty() && !here) *wrong += "; where the root alone knows them, all ranks pass counts_at_root";
    return wrong ? wrong : check_count(role, own.count, parts.mine);
}

future<> gather_by_counts(detail::group& group, const_buffer from, buffer to, std::span<const std::size_t> counts, bool at_root, rank root,
                          const call_options& options) {
    const rank me = group.who().me;
    request what = make(collective::gather_v, from, from.data, me == root ? to.data : nullptr, options);
    what.root_counts = at_root;
    share parts;
    complaint wrong = take_rooted(counts, from, "input", root, me, group.size(), what, parts);
    if (me == root && !wrong) wrong = check_collected(from, to, parts.all, parts.before);
    return issue(group, what, std::move(wrong));
}

future<> scatter_by_counts(detail::group& group, const_buffer from, buffer to, std::span<const std::size_t> counts, bool at_root, rank root,
                           const call_options& options) {
    const rank me = group.who().me;
    request what = make(collective::scatter_v, to, me == root ? from.data : nullptr, to.data, options);
    what.root_counts = at_root;
    share parts;
    complaint wrong = take_rooted(counts, to, "output", root, me, group.size(), what, parts);
    if (me == root && !wrong) wrong = check_spread(from, to, parts.all, parts.before);
    return issue(group, what, std::move(wrong));
}

}  // namespace

future<> communicator::gather_v(const_buffer from, buffer to, std::span<const std::size_t> counts, tutti::rank root, call_options options) {
    return gather_by_counts(*group_, from, to, counts, false, root, options);
}

future<> communicator::gather_v(const_buffer from, buffer to, counts_at_root counts, tutti::rank root, call_options options) {
    return gather_by_counts(*group_, from, to, counts.counts, true, root, options);
}

future<> communicator::scatter_v(const_buffer from, buffer to, std::span<const std::size_t> counts, tutti::rank root,
                                 call_options options) {
    return scatter_by_counts(*group_, from, to, counts, false, root, options);
}

future<> communicator::scatter_v(const_buffer from, buffer to, counts_at_root counts, tutti::rank root, call_options options) {
    return scatter_by_counts(*group_, from, to, counts.counts, true, root, options);
}

future<> communicator::all_to_all_v(const_buffer from, buffer to, std::span<const std::size_t> send_counts,
                                    std::span<const std::size_t> recv_counts, call_options options) {
    request what = make(collective::all_to_all_v, from, from.data, to.data, options);
    what.count = 0;  // other ranks have other counts
    what.counts = send_counts;
    what.recv_counts = recv_counts;
    complaint wrong = first_of(check_counts("send counts", send_counts, size(), from), check_counts("recv counts", recv_counts, size(), to),
                               check_same_type(from, to), check_memory("input", from), check_memory("output", to));
    if (!wrong) {
        const auto me = static_cast<std::size_t>(rank());
        wrong = first_of(check_count("input", from.count, sum_of(send_counts)), check_count("output", to.count, sum_of(recv_counts)),
                         check_overlap(from, to, nullptr));
        if (!wrong && send_counts[me] != recv_counts[me])
            wrong = fmt::format("rank {} sends {} elements to itself and receives {}", rank(), send_counts[me], recv_counts[me]);
    }
    return issue(*group_, what, wrong);
}

// ---- lists of buffers

namespace {

/// Skips the check in a forked process, whose list check may be locked for ever; issue() refuses there anyway.
template <class Read>
complaint check_apart(detail::group& group, std::span<const Read> read, std::span<const buffer> written, std::size_t same) {
    return group.made().here() ? group.lists().apart(read, written, same) : complaint();
}

/// A list has a buffer for each rank, of `count` elements of the type of `like`.
complaint check_list(std::string_view role, std::span<const buffer> list, const_buffer like, std::size_t count, int size) {
    if (list.size() != static_cast<std::size_t>(size))
        return fmt::format("the {} is a list of {} buffers, {} are expected, one for each rank", role, list.size(), size);
    for (std::size_t index = 0; index < list.size(); ++index) {
        const const_buffer each = list[index];
        if (check_memory(role, each)) return check_memory(fmt::format("{}'s buffer {}", role, index), each);
        if (check_same_type(list[0], each)) return fmt::format("the {}'s list holds {} in buffer {}, and {} in buffer 0", role, name(each.type), index, name(list[0].type));
        if (complaint wrong = role == "input" ? check_same_type(each, like) : check_same_type(like, each)) return wrong;
        if (each.count != count) return check_count(fmt::format("{}'s buffer {}", role, index), each.count, count);
    }
    return {};
}

}  // namespace

future<> communicator::all_gather_parts(const_buffer from, std::span<const buffer> to, const call_options& options) {
    request what = make(collective::all_gather, from, from.data, nullptr, options);
    what.list = to;
    complaint wrong = first_of(check_memory("input", from), check_total(from, from.count, size()));
    if (!wrong) wrong = check_list("output", to, from, from.count, size());
    if (!wrong) wrong = check_apart(*group_, std::span<const const_buffer>(&from, 1), to, from.data == to[at(rank())].data ? 0 : no_buffer);
    return issue(*group_, what, std::move(wrong));
}

future<> communicator::gather_parts(const_buffer from, std::span<const buffer> to, tutti::rank root, const call_options& options) {
    const bool here = rank() == root;
    request what = make(collective::gather, from, from.data, nullptr, options);
    what.root = root;
    complaint wrong = first_of(check_rank("root", root, size()), check_memory("input", from), check_total(from, from.count, size()));
    if (here) {
        what.list = to;
        if (!wrong) wrong = check_list("output", to, from, from.count, size());
        if (!wrong)
            wrong = check_apart(*group_, std::span<const const_buffer>(&from, 1), to, from.data == to[at(root)].data ? 0 : no_buffer);
    }
    return issue(*group_, what, std::move(wrong));
}

future<> communicator::scatter_parts(std::span<const buffer> from, buffer to, tutti::rank root, const call_options& options) {
    const bool here = rank() == root;
    request what = make(collective::scatter, to, nullptr, to.data, options);
    what.root = root;
    complaint wrong = first_of(check_rank("root", root, size()), check_memory("output", to), check_total(to, to.count, size()));
    if (here) {
        what.input_list = from;
        if (!wrong) wrong = check_list("input", from, to, to.count, size());
        if (!wrong)
            wrong = check_apart(*group_, from, std::span<const buffer>(&to, 1), to.data == from[at(root)].data ? at(root) : no_buffer);
    }
    return issue(*group_, what, std::move(wrong));
}

future<> communicator::reduce_scatter_parts(std::span<const buffer> from, buffer to, const reduction& op, const call_options& options) {
    request what = make(collective::reduce_scatter, to, nullptr, to.data, options);
    what.op = op;
    what.input_list = from;
    complaint wrong = first_of(check_memory("output", to), check_total(to, to.count, size()));
    if (!wrong) wrong = check_list("input", from, to, to.count, size());
    if (!wrong)
        wrong = check_apart(*group_, from, std::span<const buffer>(&to, 1), to.data == from[at(rank())].data ? at(rank()) : no_buffer);
    return issue(*group_, what, std::move(wrong));
}

future<> communicator::all_to_all(std::span<const buffer> from, std::span<const buffer> to, call_options options) {
    const const_buffer like = from.empty() ? const_buffer() : const_buffer(from.front());
    request what = make(collective::all_to_all, like, nullptr, nullptr, options);
    what.input_list = from;
    what.list = to;
    complaint wrong = check_list("input", from, like, like.count, size());
    if (!wrong) wrong = first_of(check_total(like, like.count, size()), check_list("output", to, like, like.count, size()));
    if (!wrong) wrong = check_apart(*group_, from, to, no_buffer);
    return issue(*group_, what, std::move(wrong));
}

}  // namespace tutti
