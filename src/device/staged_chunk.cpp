#include "device/staged_chunk.hpp"

#include <algorithm>
#include <cstdint>

namespace tutti::gpu {
namespace {

using kind = device_collective;

std::byte* bytes_of(const void* memory) noexcept { return static_cast<std::byte*>(const_cast<void*>(memory)); }

/// Fills in one chunk. Its functions serve several kinds of collectives each.
class cutter {
public:
    cutter(const device_request& what, const staged_shape& shape, const staged_place& at, std::size_t first, std::size_t count,
           staged_chunk& into) noexcept
        : what_(what),
          shape_(shape),
          at_(at),
          first_(first),
          count_(count),
          chunk_(into),
          from_(bytes_of(what.from)),
          to_(bytes_of(what.to)) {}

    /// For collectives in which an element has the same index in input and output.
    void by_elements(bool reads, bool writes) {
        if (at_.on_host) {
            if (reads) chunk_.from = source(from_ + bytes(first_), count_);
            if (writes || what_.kind == kind::broadcast) chunk_.to = target(to_ + bytes(first_), count_);
            return;
        }
        if (reads) chunk_.out.push_back({from_ + bytes(first_), at_.slot, bytes(count_)});
        if (writes) chunk_.in.push_back({to_ + bytes(first_), at_.slot, bytes(count_)});
        if (reads) chunk_.from = source(at_.slot, count_);
        if (writes || what_.kind == kind::broadcast) chunk_.to = target(at_.slot, count_);
    }

    /// For a list: the parts of its buffers that lie in the chunk's range of the whole list.
    void list() {
        std::size_t before = 0, placed = 0;
        for (const request_part& each : what_.parts) {
            const std::size_t begin = std::max(first_, before), end = std::min(first_ + count_, before + each.count);
            if (begin < end) {
                std::byte* const where = bytes_of(each.to) + bytes(begin - before);
                std::byte* const slot = at_.on_host ? where : at_.slot + placed;
                const std::size_t length = bytes(end - begin);
                if (!at_.on_host) chunk_.out.push_back({where, slot, length});
                if (!at_.on_host) chunk_.in.push_back({where, slot, length});
                chunk_.list.push_back(target(slot, end - begin));
                placed += length;
            }
            before += each.count;
        }
    }

    /// For collectives with a part for each rank, or with this rank's alone, in input and output. `all_to_all` keeps the two apart in the slot.
    void by_blocks(bool reads_all, bool writes_all, bool reads, bool writes) {
        const auto size = static_cast<std::size_t>(at_.size), me = static_cast<std::size_t>(at_.me);
        const std::size_t in = reads_all ? size : 1, out = writes_all ? size : 1;
        if (at_.on_host && count_ == shape_.count) {
            if (reads) chunk_.from = source(from_, in * count_);
            if (writes) chunk_.to = target(to_, out * count_);
            return;
        }
        // With one part on one side and all on the other, the one has its place among them.
        std::byte* const sources = at_.slot + (reads_all || !writes_all || !writes ? 0 : bytes(me * count_));
        std::byte* const targets = at_.slot + (reads_all && writes_all ? bytes(size * count_)
                                               : reads_all && reads    ? bytes(me * count_)
                                                                       : 0);
        const auto add = [&](std::vector<staged_piece>& list, std::byte* memory, std::byte* slot, std::size_t parts) {
            for (std::size_t part = 0; part < parts; ++part)
                list.push_back({memory + bytes(part * shape_.count + first_), slot + bytes(part * count_), bytes(count_)});
        };
        if (reads) {
            add(chunk_.out, from_, sources, in);
            chunk_.from = source(sources, in * count_);
        }
        if (writes) {
            add(chunk_.in, to_, targets, out);
            chunk_.to = target(targets, out * count_);
        }
    }

private:
    std::size_t bytes(std::size_t elements) const noexcept { return elements * shape_.element_bytes; }
    const_buffer source(const std::byte* where, std::size_t elements) const noexcept {
        const_buffer made(where, elements, shape_.type);
        made.opaque_bytes = shape_.opaque_bytes;
        return made;
    }
    buffer target(std::byte* where, std::size_t elements) const noexcept {
        buffer made(where, elements, shape_.type);
        made.opaque_bytes = shape_.opaque_bytes;
        return made;
    }

    const device_request& what_;
    const staged_shape& shape_;
    const staged_place& at_;
    const std::size_t first_, count_;
    staged_chunk& chunk_;
    std::byte* const from_;
    std::byte* const to_;
};

}  // namespace

std::size_t blocks_of(device_collective which, int size) noexcept {
    switch (which) {
        case kind::all_gather:
        case kind::reduce_scatter:
        case kind::gather:
        case kind::scatter: return static_cast<std::size_t>(size);
        case kind::all_to_all: return 2 * static_cast<std::size_t>(size);
        default: return 1;
    }
}

staged_shape shape_of(const device_request& what, int size, std::size_t chunk_bytes) noexcept {
    staged_shape made;
    const bool as_bytes = !reduces(what.kind) && what.type == device_type::opaque;
    if (!as_bytes) made.type = of_host(what.type);
    if (!as_bytes && what.type == device_type::opaque) made.opaque_bytes = what.opaque_bytes;
    if (!as_bytes) made.element_bytes = what.element_bytes();
    made.count = as_bytes ? what.total() * what.opaque_bytes : what.total();
    made.chunk = std::max<std::size_t>(1, chunk_bytes / std::max<std::size_t>(1, blocks_of(what.kind, size) * made.element_bytes));
    return made;
}

void lay_out(const device_request& what, const staged_shape& shape, const staged_place& at, std::size_t first, std::size_t count,
             staged_chunk& into) {
    into.out.clear();
    into.in.clear();
    into.list.clear();
    into.from = {};
    into.to = {};
    cutter cut(what, shape, at, first, count, into);
    const bool root = at.me == what.root;
    switch (what.kind) {
        case kind::all_reduce: return what.listed ? cut.list() : cut.by_elements(true, true);
        case kind::reduce: return cut.by_elements(true, root);
        case kind::broadcast: return cut.by_elements(root, !root);
        case kind::all_gather: return cut.by_blocks(false, true, true, true);
        case kind::reduce_scatter: return cut.by_blocks(true, false, true, true);
        case kind::all_to_all: return cut.by_blocks(true, true, true, true);
        case kind::gather: return cut.by_blocks(false, true, true, root);
        case kind::scatter: return cut.by_blocks(true, false, root, true);
        case kind::barrier:
        case kind::split:
        case kind::exchange:
        case kind::shrink: break;
    }
}

future<> start(tutti::communicator& ranks, const device_request& what, const staged_chunk& chunk, tutti::call_options options) {
    switch (what.kind) {
        case kind::all_reduce:
            if (what.listed) return ranks.all_reduce(chunk.list, what.op, options);
            return ranks.all_reduce(chunk.from, chunk.to, what.op, options);
        case kind::reduce: return ranks.reduce(chunk.from, chunk.to, what.op, what.root, options);
        case kind::broadcast: return ranks.broadcast(chunk.to, what.root, options);
        case kind::all_gather: return ranks.all_gather(chunk.from, chunk.to, options);
        case kind::reduce_scatter: return ranks.reduce_scatter(chunk.from, chunk.to, what.op, options);
        case kind::all_to_all: return ranks.all_to_all(chunk.from, chunk.to, options);
        case kind::gather: return ranks.gather(chunk.from, chunk.to, what.root, options);
        case kind::scatter: return ranks.scatter(chunk.from, chunk.to, what.root, options);
        case kind::barrier:
        case kind::split:
        case kind::exchange:
        case kind::shrink: break;
    }
    return ranks.barrier(options);
}

// ---- whether operations may overlap

namespace {

struct extent {
    std::uintptr_t begin = 0, end = 0;
    bool written = false;
};

bool collide(const extent& one, const extent& other) noexcept {
    return (one.written || other.written) && one.begin < other.end && other.begin < one.end;
}

/// Visits all memory that an operation reads and writes on this rank.
template <class See>
void for_extents(const device_request& what, rank me, int size, See see) {
    const auto all = [&](const void* where, std::size_t parts, bool written) {
        const auto begin = reinterpret_cast<std::uintptr_t>(where);
        if (where) see(extent{begin, begin + parts * what.count * what.element_bytes(), written});
    };
    const auto ranks = static_cast<std::size_t>(size);
    const bool root = me == what.root;
    const bool reads_all = blocks_of(what.kind, size) > 1 && what.kind != kind::all_gather && what.kind != kind::gather;
    const bool writes_all = blocks_of(what.kind, size) > 1 && what.kind != kind::reduce_scatter && what.kind != kind::scatter;
    for (const request_part& each : what.parts) {
        const auto begin = reinterpret_cast<std::uintptr_t>(each.to);
        see(extent{begin, begin + each.count * what.element_bytes(), true});
    }
    if (root || what.kind != kind::scatter) all(what.from, reads_all ? ranks : 1, false);
    if (root || (what.kind != kind::reduce && what.kind != kind::gather)) all(what.to, writes_all ? ranks : 1, true);
}

/// Returns an extent around all of an operation's memory. Lists are compared only if these extents collide.
extent hull_of(const device_request& what, rank me, int size) {
    extent hull{~std::uintptr_t{0}, 0, true};
    for_extents(what, me, size, [&](const extent& each) {
        hull.begin = std::min(hull.begin, each.begin);
        hull.end = std::max(hull.end, each.end);
    });
    return hull;
}

}  // namespace

bool in_each_others_way(const device_request& one, const device_request& other, rank me, int size) noexcept {
    if (!collide(hull_of(one, me, size), hull_of(other, me, size))) return false;
    bool found = false;
    for_extents(one, me, size, [&](const extent& mine) {
        for_extents(other, me, size, [&](const extent& theirs) { found = found || collide(mine, theirs); });
    });
    return found;
}

}  // namespace tutti::gpu
