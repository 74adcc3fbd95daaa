// Calls on devices: checks arguments, records the event after which a call begins, and gives the engine the request.
#include "device/group.hpp"
#include "device/join.hpp"
#include "gpu/device_pointer.hpp"
#include "gpu/stream_state.hpp"
#include "group/context_state.hpp"
#include "validation/arguments.hpp"

#include <tutti/detail/bound_task.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace tutti::gpu {

using tutti::detail::check_count;
using tutti::detail::check_deadline;
using tutti::detail::check_memory;
using tutti::detail::check_overlap;
using tutti::detail::check_rank;
using tutti::detail::check_same_type;
using tutti::detail::check_total;
using tutti::detail::complaint;
using tutti::detail::first_of;
using tutti::detail::list_check;

namespace {

const_buffer plain(const const_device_span& what) noexcept {
    const_buffer same(what.data, what.count, of_host(what.type));
    same.opaque_bytes = what.type == device_type::opaque ? what.opaque_bytes : 0;
    return same;
}

complaint check_place(const device_group& of, std::string_view role, const const_device_span& what) {
    complaint wrong = first_of(check_memory(role, plain(what)), check_total(plain(what), what.count, 1));
    if (wrong || what.count == 0) return wrong;
    return of.card ? check_device_memory(*of.card->inner(), role, what.data) : complaint();
}

complaint check_types(const const_device_span& from, const const_device_span& to) {
    if (from.type != to.type && of_host(from.type) == of_host(to.type))
        return fmt::format("the input holds {}, the output {}", name(from.type), name(to.type));
    return check_same_type(plain(from), plain(to));
}

/// Fills in a request; `count` is the length of one rank's part.
device_request& begin(operation_state& which, device_collective kind, const const_device_span& from, const const_device_span& to,
                      std::size_t count) {
    device_request& what = which.what;
    what.kind = kind;
    what.from = from.data;
    what.to = const_cast<void*>(to.data);
    what.count = count;
    // The side that every rank has, also a rank whose other one is not used.
    const bool received = kind == device_collective::reduce_scatter || kind == device_collective::scatter;
    what.type = received ? to.type : from.type;
    what.opaque_bytes = received ? to.opaque_bytes : from.opaque_bytes;
    what.from_kept = from.kept;
    what.to_kept = to.kept;
    return what;
}

void begin_list(operation_state& which, std::span<const device_span> list, reduction op) {
    device_request& what = which.what;
    what.kind = device_collective::all_reduce;
    what.op = op;
    what.listed = true;
    for (const device_span& each : list) {
        what.type = list.front().type;
        what.opaque_bytes = list.front().opaque_bytes;
        what.parts.push_back({each.data, each.data, each.count, -1, each.type, each.opaque_bytes, each.kept});
    }
}

void refuse(device_group& of, const device_request& what, error code, std::string_view why) {
    report told;
    told.code = code;
    told.root = of.me();
    told.peers = {of.me()};
    told.cause = fmt::format("rank {} called {}{}", of.me(), to_string(what), why);
    of.engine->fail(std::move(told));
}

operation issue(device_group& of, operation_state& which, const call_options& options, complaint wrong) {
    device_request& what = which.what;
    what.deadline = options.deadline;
    what.label = options.label;
    if (options.keep) what.kept = *options.keep;
    if (!wrong) wrong = check_deadline(options.deadline);
    if (wrong) {
        refuse(of, what, error::invalid_argument, fmt::format(" with a wrong argument: {}", *wrong));
    } else if (const auto cannot = of.engine->cannot(what)) {
        refuse(of, what, error::unsupported, fmt::format(": {}", *cannot));
    } else if (options.after && of.card) {
        auto before = options.after->record();
        if (before) what.after = std::move(*before);
        else
            refuse(of, what, static_cast<error>(before.failure().code().value()),
                   fmt::format(", after a stream: {}", before.failure().details().cause));
    }
    return of.engine->issue(which);
}

std::size_t parts(const device_group& of) noexcept { return static_cast<std::size_t>(of.size()); }

const void* element(const const_device_span& memory, std::size_t index) noexcept {
    return static_cast<const std::byte*>(memory.data) + index * memory.element_bytes();
}

complaint check_apart(const const_device_span& from, const const_device_span& to, bool in_place = false) {
    return in_place ? complaint() : check_overlap(plain(from), plain(to), nullptr);
}

}  // namespace

// ---- the group

device_group::~device_group() {
    ranks->shut();
    if (!engine) return;
    report why;
    why.code = error::closed;
    why.cause = "the communicator was destroyed";
    engine->fail(std::move(why));
}

communicator::communicator(std::unique_ptr<device_group> made) : group_(std::move(made)) {}
communicator::~communicator() {
    if (!group_->inside.made().here()) leave_alone(std::move(group_));
}

int communicator::rank() const noexcept { return group_->me(); }
int communicator::size() const noexcept { return group_->size(); }
const std::string& communicator::name() const noexcept { return group_->host_communicator->name(); }
const std::optional<device>& communicator::on() const noexcept { return group_->card; }
const std::optional<stream>& communicator::over() const noexcept { return group_->over; }
std::string communicator::engine() const { return group_->engine->words(); }
ncclComm* communicator::native() const noexcept { return group_->engine->native(); }

// ---- reductions

operation communicator::all_reduce(const device_span& data, reduction op, call_options options) {
    return all_reduce(data, data, op, options);
}

operation communicator::all_reduce(const const_device_span& from, const device_span& to, reduction op, call_options options) {
    operation_state& which = group_->engine->take();
    begin(which, device_collective::all_reduce, from, to, from.count).op = op;
    return issue(*group_, which, options,
                 first_of(check_types(from, to), check_count("output", to.count, from.count), check_place(*group_, "input", from),
                          check_place(*group_, "output", to), check_apart(from, to, from.data == to.data)));
}

operation communicator::all_reduce(std::span<const device_span> list, reduction op, call_options options) {
    operation_state& which = group_->engine->take();
    begin_list(which, list, op);
    std::size_t total = 0;
    complaint wrong = group_->lists.of(
        list, [](const device_span& each) { return plain(each); }, total);
    for (const device_span& each : list)
        if (!wrong) wrong = first_of(check_types(list.front(), each), check_place(*group_, "buffer", each));
    return issue(*group_, which, options, std::move(wrong));
}

operation device_group::all_reduce(std::span<const device_span> list, reduction op, event after, const call_options& options) {
    operation_state& which = engine->take();
    begin_list(which, list, op);
    which.what.after = std::move(after);
    call_options rest = options;
    rest.after = nullptr;
    return issue(*this, which, rest, {});
}

operation communicator::reduce(const device_span& data, reduction op, tutti::rank root, call_options options) {
    return reduce(data, data, op, root, options);
}

operation communicator::reduce(const const_device_span& from, const device_span& to, reduction op, tutti::rank root, call_options options) {
    operation_state& which = group_->engine->take();
    device_request& what = begin(which, device_collective::reduce, from, to, from.count);
    what.op = op;
    what.root = root;
    complaint wrong = first_of(check_rank("root", root, size()), check_place(*group_, "input", from));
    if (rank() == root && !wrong)
        wrong = first_of(check_types(from, to), check_count("output", to.count, from.count), check_place(*group_, "output", to),
                         check_apart(from, to, from.data == to.data));
    return issue(*group_, which, options, std::move(wrong));
}

operation communicator::reduce_scatter(const const_device_span& from, const device_span& to, reduction op, call_options options) {
    operation_state& which = group_->engine->take();
    begin(which, device_collective::reduce_scatter, from, to, to.count).op = op;
    complaint wrong = first_of(check_total(plain(to), to.count, size()), check_types(from, to), check_place(*group_, "input", from),
                               check_place(*group_, "output", to));
    if (!wrong)
        wrong = first_of(check_count("input", from.count, to.count * parts(*group_)),
                         check_apart(from, to, to.data == element(from, to.count * static_cast<std::size_t>(rank()))));
    return issue(*group_, which, options, std::move(wrong));
}

// ---- moving

operation communicator::broadcast(const device_span& data, tutti::rank root, call_options options) {
    operation_state& which = group_->engine->take();
    begin(which, device_collective::broadcast, data, data, data.count).root = root;
    return issue(*group_, which, options, first_of(check_rank("root", root, size()), check_place(*group_, "buffer", data)));
}

operation communicator::all_gather(const const_device_span& from, const device_span& to, call_options options) {
    operation_state& which = group_->engine->take();
    begin(which, device_collective::all_gather, from, to, from.count);
    complaint wrong = first_of(check_total(plain(from), from.count, size()), check_types(from, to), check_place(*group_, "input", from),
                               check_place(*group_, "output", to));
    if (!wrong)
        wrong = first_of(check_count("output", to.count, from.count * parts(*group_)),
                         check_apart(from, to, from.data == element(to, from.count * static_cast<std::size_t>(rank()))));
    return issue(*group_, which, options, std::move(wrong));
}

operation communicator::all_to_all(const const_device_span& from, const device_span& to, call_options options) {
    operation_state& which = group_->engine->take();
    begin(which, device_collective::all_to_all, from, to, from.count / parts(*group_));
    complaint wrong = first_of(check_types(from, to), check_place(*group_, "input", from), check_place(*group_, "output", to),
                               check_count("output", to.count, from.count), check_apart(from, to));
    if (!wrong && from.count % parts(*group_) != 0)
        wrong = fmt::format("the input has {} elements, a multiple of {} is expected", from.count, size());
    return issue(*group_, which, options, std::move(wrong));
}

operation communicator::gather(const const_device_span& from, const device_span& to, tutti::rank root, call_options options) {
    operation_state& which = group_->engine->take();
    const bool here = rank() == root;
    begin(which, device_collective::gather, from, here ? to : device_span(), from.count).root = root;
    complaint wrong =
        first_of(check_rank("root", root, size()), check_total(plain(from), from.count, size()), check_place(*group_, "input", from));
    if (here && !wrong)
        wrong = first_of(check_types(from, to), check_place(*group_, "output", to),
                         check_count("output", to.count, from.count * parts(*group_)));
    if (here && !wrong) wrong = check_apart(from, to, from.data == element(to, from.count * static_cast<std::size_t>(root)));
    return issue(*group_, which, options, std::move(wrong));
}

operation communicator::scatter(const const_device_span& from, const device_span& to, tutti::rank root, call_options options) {
    operation_state& which = group_->engine->take();
    const bool here = rank() == root;
    begin(which, device_collective::scatter, here ? from : const_device_span(), to, to.count).root = root;
    complaint wrong =
        first_of(check_rank("root", root, size()), check_total(plain(to), to.count, size()), check_place(*group_, "output", to));
    if (here && !wrong)
        wrong = first_of(check_types(from, to), check_place(*group_, "input", from),
                         check_count("input", from.count, to.count * parts(*group_)));
    if (here && !wrong) wrong = check_apart(from, to, to.data == element(from, to.count * static_cast<std::size_t>(root)));
    return issue(*group_, which, options, std::move(wrong));
}

/// NCCL drops calls without elements, so one byte is reduced.
operation communicator::barrier(call_options options) {
    operation_state& which = group_->engine->take();
    const device_span byte(group_->barrier.get(), 1, device_type::u8, group_->barrier);
    begin(which, device_collective::barrier, byte, byte, 1);
    return issue(*group_, which, options, {});
}

// ---- messages

operation communicator::send(const const_device_span& data, tutti::rank to, call_options options) {
    const transfer one = send_to(data, to);
    return exchange(std::span(&one, 1), options);
}

operation communicator::recv(const device_span& data, tutti::rank from, call_options options) {
    const transfer one = recv_from(data, from);
    return exchange(std::span(&one, 1), options);
}

operation communicator::exchange(std::span<const transfer> all, call_options options) {
    operation_state& which = group_->engine->take();
    device_request& what = which.what;
    what.kind = device_collective::exchange;
    what.listed = true;
    complaint wrong;
    for (const transfer& each : all) {
        const const_device_span& data = each.data();
        what.parts.push_back({each.sends() ? data.data : nullptr, each.sends() ? nullptr : const_cast<void*>(data.data), data.count,
                              each.peer(), data.type, data.opaque_bytes, data.kept});
        what.type = data.type;
        what.opaque_bytes = data.opaque_bytes;
        if (!wrong)
            wrong = first_of(check_rank("peer", each.peer(), size()), check_place(*group_, each.sends() ? "input" : "output", data));
    }
    if (!wrong)
        wrong = group_->lists.apart(all, [](const transfer& each) {
            const const_buffer data = plain(each.data());
            return list_check::part{data.data, data.bytes(), !each.sends()};
        });
    return issue(*group_, which, options, std::move(wrong));
}

// ---- the whole

namespace {

task<std::unique_ptr<communicator>> refuse_to_shrink(std::string why) {
    throw failure(error::invalid_argument, std::move(why));
    co_return nullptr;
}

task<> close_group(device_group& group, duration within) {
    const auto now = [&group] { return group.inside.context().loop().now(); };
    time_point limit = later(now(), within);
    future<> idle = group.engine->idle(limit);
    const auto quiet = co_await as_result(std::move(idle));
    std::optional<failure> why;
    if (!quiet) why = quiet.failure();
    if (!why) {
        const time_point begin = now();
        future<> closing = group.engine->close();
        const auto closed = co_await as_result(std::move(closing));
        if (!closed) why = closed.failure();
        limit = later(limit, now() - begin);  // giving back has its own
    }
    auto leaving = group.host_communicator->close(std::max(duration{}, limit - now()));
    try {
        co_await std::move(leaving);
    } catch (const failure& late) {
        if (!why) why = late;
    }
    if (why) throw failure(*why);
}

/// It runs on the progress loop when no task awaits it.
template <class T>
task<T> live_with(device_group& group, task<T> work) {
    return tutti::detail::bind_to_loop(group.inside.context().loop(), std::move(work));
}

}  // namespace

task<std::unique_ptr<communicator>> communicator::split(int color, int key) {
    return live_with(*group_, tutti::detail::split_devices(*group_, color, key));
}

task<std::unique_ptr<communicator>> communicator::shrink(std::vector<tutti::rank> without) {
    std::sort(without.begin(), without.end());
    without.erase(std::unique(without.begin(), without.end()), without.end());
    const bool known = !without.empty() && without.front() >= 0 && without.back() < size();
    if (!known || std::binary_search(without.begin(), without.end(), rank()))
        return live_with(*group_, refuse_to_shrink(fmt::format("rank {} of {}: shrink without {}: other ranks are expected", rank(), size(),
                                                               fmt::join(without, ", "))));
    return live_with(*group_, tutti::detail::shrink_devices(*group_, std::move(without)));
}

future<> communicator::watch() { return group_->host_communicator->watch(); }

void communicator::abort(std::string reason) {
    report why;
    why.code = error::aborted;
    why.peers = {rank()};
    why.cause = fmt::format("rank {} aborted: {}", rank(), reason);
    group_->engine->fail(std::move(why));
}

task<> communicator::close(duration within) { return live_with(*group_, close_group(*group_, within)); }

}  // namespace tutti::gpu
