// A store over a communicator: rank 0 keeps the keys, the other ranks send it requests as messages of a child communicator (store_over).
#include <tutti/communicator_store.hpp>

#include "communicator/inside_of.hpp"
#include "group/context_state.hpp"
#include "group/group.hpp"
#include "group/spawn.hpp"
#include "rendezvous/channel.hpp"
#include "rendezvous/protocol.hpp"
#include "runtime/background.hpp"

#include <tutti/cancel.hpp>
#include <tutti/detail/bound_task.hpp>
#include <tutti/event.hpp>
#include <tutti/sleep.hpp>
#include <tutti/when_all.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti {
namespace {

/// The tag of requests. An answer's tag is the number of its request, from 1.
constexpr message_tag requests = 0;

call_options until(event_loop& loop, time_point deadline) {
    call_options limit;
    limit.deadline = deadline == no_deadline ? duration::max() : std::max(deadline - loop.now(), duration(1));
    return limit;
}
call_options for_ever() {
    call_options limit;
    limit.deadline = duration::max();
    return limit;
}

task<result<>> close_in_time(communicator& ranks, time_point deadline) {
    event_loop& loop = co_await this_loop;
    auto closing = detail::outcome_of(ranks.close(until(loop, deadline).deadline));
    co_return co_await std::move(closing);
}

/// Removes the length in front of a frame: a message has its own.
std::string body_of(std::string frame) { return frame.erase(0, protocol::length_bytes); }

/// Owns frames on their way, for whose end no caller waits.
class outbox {
public:
    void send(communicator& over, std::string frame, rank to, message_tag tag) {
        on_the_way_.remove_if([](const sending& each) { return each.sent.ready(); });
        sending& next = on_the_way_.emplace_back(std::move(frame));
        next.sent = over.send(std::span<const char>(next.body), to, tag, for_ever());
    }

private:
    struct sending {
        explicit sending(std::string frame) : body(body_of(std::move(frame))) {}
        sending(const sending&) = delete;
        sending& operator=(const sending&) = delete;
        ~sending() {
            if (sent.ready()) sent.take_state()->look();  // the checking mode need not report it: the answer shows the end
        }
        std::string body;
        future<> sent;  // last, so it is destroyed before the memory that it sends
    };
    std::list<sending> on_the_way_;
};

/// Receives late answers and drops them, so that they do not pile up. Answers that do not come in time are left.
task<> discard(communicator& ranks, rank from, std::vector<std::uint64_t> answers, call_options limit) {
    for (const std::uint64_t each : answers) {
        auto coming = ranks.probe(from, each, limit);
        const result<received> next = co_await as_result(std::move(coming));
        if (!next) continue;
        std::string body(next->count, '\0');
        auto reading = ranks.recv(std::span<char>(body), from, each, for_ever());
        (void)co_await as_result(std::move(reading));
    }
}

/// Rank 0's part: owns the keys and answers the requests of the other ranks. Used on the progress loop; the keys on any thread.
class key_server {
public:
    key_server(std::unique_ptr<communicator> ranks, event_loop& loop)
        : ranks_(std::move(ranks)), loop_(loop), there_(static_cast<std::size_t>(ranks_->size()), true), work_(loop) {
        leaves(0);
    }

    void open() { work_.start(serve()); }
    /// Throws error::timed_out naming the ranks that have not said that they leave.
    static task<> until_all_left(std::shared_ptr<key_server> at, time_point deadline) {
        if (at->all_left_.is_set()) co_return;
        auto waiting = detail::outcome_of(with_deadline(at->all_left_.wait(), deadline));
        const result<> left = co_await std::move(waiting);
        if (!left && left.failure().code() == error::timed_out)
            throw failure(error::timed_out, fmt::format("ranks {} have not closed theirs", fmt::join(at->still_there(), ", ")));
        left.value();
    }
    communicator& ranks() noexcept { return *ranks_; }
    request_channel& keys() noexcept { return *keys_; }

private:
    using question = std::pair<rank, std::uint64_t>;

    task<> serve() {
        auto serving = serve_all();
        co_await std::move(serving);
        all_left_.set();  // the communicator has ended, so no request comes any more
    }
    task<> serve_all() {
        for (;;) {
            auto coming = ranks_->probe(any_source, requests, for_ever());
            const result<received> next = co_await as_result(std::move(coming));
            if (!next) co_return;
            std::string body(next->count, '\0');
            auto reading = ranks_->recv(std::span<char>(body), next->source, requests, for_ever());
            const result<received> came = co_await as_result(std::move(reading));
            if (!came) co_return;
            auto asked = protocol::parse_request(body);
            if (!asked) {
                ranks_->abort(fmt::format("rank {} sent what is no request of a store", came->source));
                co_return;
            }
            begin({came->source, asked->id}, std::move(asked->request));
        }
    }

    std::vector<rank> still_there() const {
        std::vector<rank> ranks;
        for (std::size_t each = 0; each < there_.size(); ++each)
            if (there_[each]) ranks.push_back(static_cast<rank>(each));
        return ranks;
    }
    void leaves(rank who) {
        there_[static_cast<std::size_t>(who)] = false;
        if (still_there().empty()) all_left_.set();
    }

    void begin(question from, store_request request) {
        if (request.op == store_op::leave) return leaves(from.first);
        if (request.op == store_op::forget) {
            if (const auto gone = waiting_.find({from.first, static_cast<std::uint64_t>(request.delta)}); gone != waiting_.end())
                gone->second.request();
            return;
        }
        const bool waits = request.op == store_op::get;
        cancel_token token;
        if (waits) token = waiting_.try_emplace(from, loop_).first->second.token();
        work_.start(answer(from, std::move(request)), token);
    }

    task<> answer(question from, store_request request) {
        auto asking = keys_->ask(std::move(request), no_deadline);
        auto ending = detail::outcome_of(std::move(asking));
        result<result<store_reply>> reply = co_await std::move(ending);
        // The rank counts on one answer to each request, also to a cancelled one, and drops that.
        store_reply told = store_reply::refusal("nobody waits for it any more");
        if (reply && *reply) told = std::move(**reply);
        waiting_.erase(from);
        replies_.send(*ranks_, protocol::frame(from.second, told), from.first, from.second);
    }

    const std::unique_ptr<communicator> ranks_;
    event_loop& loop_;
    memory_table table_;
    const std::unique_ptr<request_channel> keys_ = memory_channel(table_.inner());
    outbox replies_;
    std::map<question, cancel_source> waiting_;  // requests that wait for a key
    std::vector<bool> there_;                    // by rank: has not said that it leaves
    event all_left_;
    background work_;
};

class keeper_channel final : public request_channel {
public:
    keeper_channel(std::shared_ptr<detail::context_state> context, std::unique_ptr<communicator> ranks)
        : context_(std::move(context)), server_(std::make_shared<key_server>(std::move(ranks), context_->loop())) {
        (void)context_->send([here = server_] { here->open(); });
    }
    ~keeper_channel() override {
        // A letter that the loop never reads destroys the key_server with itself.
        (void)context_->send([last = std::move(server_)]() mutable { last.reset(); });
    }

    task<result<store_reply>> ask(store_request request, time_point deadline) override { return server_->keys().ask(std::move(request), deadline); }
    task<result<>> close(time_point deadline) override {
        auto leaving = detail::spawn(*context_, key_server::until_all_left(server_, deadline));
        const result<> left = co_await as_result(std::move(leaving));
        if (!left) co_return left;
        auto closing = close_in_time(server_->ranks(), deadline);
        co_return co_await std::move(closing);
    }
    std::string name() const override { return fmt::format("store of {}", server_->ranks().name()); }

private:
    const std::shared_ptr<detail::context_state> context_;
    std::shared_ptr<key_server> server_;
};

class remote_channel final : public request_channel {
public:
    remote_channel(std::shared_ptr<detail::context_state> context, std::unique_ptr<communicator> ranks)
        : context_(std::move(context)), ranks_(std::move(ranks)) {}
    ~remote_channel() override {
        if (!closed_) (void)detail::spawn(*context_, leave_and_close(std::move(ranks_), std::move(late_)));  // in the background
    }

    task<result<store_reply>> ask(store_request request, time_point deadline) override {
        event_loop& loop = co_await this_loop;
        auto discarding = discard(*ranks_, keeper, answers_there(), for_ever());
        co_await std::move(discarding);
        const std::uint64_t id = ++asked_;
        asked_for_.send(*ranks_, protocol::frame(id, request), keeper, requests);
        owed_answer owed(*this, id);
        auto coming = ranks_->probe(keeper, id, until(loop, deadline));
        const result<received> next = co_await as_result(std::move(coming));
        if (!next) {
            co_return next.failure().code() == error::timed_out ? failure(error::timed_out, "") : next.failure();
        }
        std::string body(next->count, '\0');
        auto reading = ranks_->recv(std::span<char>(body), keeper, id, for_ever());
        const result<received> came = co_await as_result(std::move(reading));
        if (!came) co_return came.failure();
        owed.received();
        auto reply = protocol::parse_reply(body);
        if (!reply || reply->id != id)
            co_return failure(error::protocol_error, fmt::format("rank {} sent what is no answer of {}", keeper, name()));
        co_return std::move(reply->reply);
    }
    task<result<>> close(time_point deadline) override {
        closed_ = true;
        event_loop& loop = co_await this_loop;
        auto discarding = discard(*ranks_, keeper, std::exchange(late_, {}), until(loop, deadline));
        co_await std::move(discarding);
        say_leave(asked_for_, *ranks_);
        auto closing = close_in_time(*ranks_, deadline);
        co_return co_await std::move(closing);
    }
    std::string name() const override { return fmt::format("store of {} at rank {}", ranks_->name(), keeper); }

private:
    static constexpr rank keeper = 0;

    /// The answer to a request that was sent. If it was not received when this ends, the answer is late, and the keeper is told to forget
    /// the request.
    class owed_answer {
    public:
        owed_answer(remote_channel& by, std::uint64_t id) : by_(by), id_(id) {}
        owed_answer(const owed_answer&) = delete;
        owed_answer& operator=(const owed_answer&) = delete;
        ~owed_answer() {
            if (received_) return;
            by_.late_.push_back(id_);
            by_.forget(id_);
        }
        void received() noexcept { received_ = true; }

    private:
        remote_channel& by_;
        const std::uint64_t id_;
        bool received_ = false;
    };

    /// Takes the late answers that have come off the list.
    std::vector<std::uint64_t> answers_there() {
        std::vector<std::uint64_t> there;
        std::erase_if(late_, [&](std::uint64_t id) {
            try {
                if (!ranks_->try_probe(keeper, id)) return false;
            } catch (const failure&) {  // of the communicator: the next request reports it
                return false;
            }
            there.push_back(id);
            return true;
        });
        return there;
    }

    static void say_leave(outbox& by, communicator& ranks) {
        store_request request;
        request.op = store_op::leave;
        by.send(ranks, protocol::frame(0, request), keeper, requests);
    }
    static task<> leave_and_close(std::unique_ptr<communicator> ranks, std::vector<std::uint64_t> late) {
        outbox last;
        call_options limit;
        limit.deadline = std::chrono::seconds(30);
        auto discarding = discard(*ranks, keeper, std::move(late), limit);
        co_await std::move(discarding);
        say_leave(last, *ranks);
        co_await ranks->close();
    }

    void forget(std::uint64_t id) {
        store_request request;
        request.op = store_op::forget;
        request.delta = static_cast<std::int64_t>(id);
        asked_for_.send(*ranks_, protocol::frame(++asked_, request), keeper, requests);
    }

    const std::shared_ptr<detail::context_state> context_;
    std::unique_ptr<communicator> ranks_;
    std::uint64_t asked_ = 0;
    std::vector<std::uint64_t> late_;  // requests that were given up, whose answers still come
    outbox asked_for_;
    bool closed_ = false;
};

task<std::unique_ptr<store>> make_store(std::shared_ptr<detail::context_state> context, task<std::unique_ptr<communicator>> splitting) {
    auto ranks = co_await std::move(splitting);
    const rank me = ranks->rank();
    std::unique_ptr<request_channel> channel;
    if (me == 0) channel = std::make_unique<keeper_channel>(std::move(context), std::move(ranks));
    else channel = std::make_unique<remote_channel>(std::move(context), std::move(ranks));
    co_return asking_store(std::move(channel), me);
}

}  // namespace

task<std::unique_ptr<store>> store_over(communicator& ranks) {
    auto context = detail::inside_of::get(ranks).shared_context();
    event_loop& loop = context->loop();
    return detail::bind_to_loop(loop, make_store(std::move(context), ranks.split(0, ranks.rank())));
}

}  // namespace tutti
