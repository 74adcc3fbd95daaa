#include <tutti/communicator_store.hpp>

#include "communicator/group.hpp"
#include "communicator/home.hpp"
#include "communicator/spawn.hpp"
#include "rendezvous/channel.hpp"
#include "rendezvous/protocol.hpp"
#include "runtime/background.hpp"

#include <tutti/cancel.hpp>
#include <tutti/detail/at_home.hpp>
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

namespace tutti {
namespace {

/// Of requests; an answer has its request's number, from 1.
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
    auto closing = ranks.close(until(loop, deadline).deadline);
    std::optional<failure> why;
    try {
        co_await std::move(closing);
    } catch (const failure& caught) {
        why = caught;
    }
    if (why) co_return *why;
    co_return result<>();
}

/// Without the length in front, which a message does not need.
std::string body_of(std::string frame) { return frame.erase(0, protocol::length_bytes); }

/// Frames on their way, which their callers do not wait for.
class mail {
public:
    void send(communicator& over, std::string frame, rank to, message_tag tag) {
        on_the_way_.remove_if([](const letter& each) { return each.sent.ready(); });
        letter& next = on_the_way_.emplace_back(std::move(frame));
        next.sent = over.send(std::span<const char>(next.body), to, tag, for_ever());
    }

private:
    struct letter {
        explicit letter(std::string frame) : body(body_of(std::move(frame))) {}
        std::string body;
        future<> sent;  // destroyed first
    };
    std::list<letter> on_the_way_;
};

/// What rank 0 has: the keys, and who answers the others. On the progress loop, but for the keys.
class desk {
public:
    desk(std::unique_ptr<communicator> ranks, event_loop& loop)
        : ranks_(std::move(ranks)), loop_(loop), there_(static_cast<std::size_t>(ranks_->size()), true), work_(loop) {
        leaves(0);
    }

    void open() { work_.start(serve()); }
    /// Throws error::timed_out, naming those that have not said that they leave.
    static task<> until_all_left(std::shared_ptr<desk> at, time_point deadline) {
        if (at->all_left_.is_set()) co_return;
        auto waiting = with_deadline(at->wait(), deadline);
        bool late = false;
        try {
            co_await std::move(waiting);
        } catch (const failure& why) {
            if (why.code() != error::timed_out) throw;
            late = true;
        }
        if (late) throw failure(error::timed_out, fmt::format("ranks {} have not closed theirs", fmt::join(at->still_there(), ", ")));
    }
    communicator& ranks() noexcept { return *ranks_; }
    request_channel& keys() noexcept { return *keys_; }

private:
    using question = std::pair<rank, std::uint64_t>;

    task<> serve() {
        auto serving = serve_all();
        co_await std::move(serving);
        all_left_.set();  // or the communicator has failed: nobody asks any more
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

    task<> wait() { co_await all_left_.wait(); }
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
        std::optional<result<store_reply>> told;
        try {
            told.emplace(co_await std::move(asking));
        } catch (const failure&) {
            // Nobody waits for it any more.
        }
        waiting_.erase(from);
        if (told && *told) replies_.send(*ranks_, protocol::frame(from.second, **told), from.first, from.second);
    }

    const std::unique_ptr<communicator> ranks_;
    event_loop& loop_;
    memory_table table_;
    const std::unique_ptr<request_channel> keys_ = memory_channel(table_.inner());
    mail replies_;
    std::map<question, cancel_source> waiting_;  // by those who wait for a key
    std::vector<bool> there_;                    // by rank: has not said that it leaves
    event all_left_;
    background work_;
};

class channel_of_keeper final : public request_channel {
public:
    channel_of_keeper(std::shared_ptr<context::state> home, std::unique_ptr<communicator> ranks)
        : home_(std::move(home)), desk_(std::make_shared<desk>(std::move(ranks), home_->loop())) {
        (void)home_->send([here = desk_] { here->open(); });
    }
    ~channel_of_keeper() override {
        // A letter that is never read destroys the desk too.
        (void)home_->send([last = std::move(desk_)]() mutable { last.reset(); });
    }

    task<result<store_reply>> ask(store_request request, time_point deadline) override { return desk_->keys().ask(std::move(request), deadline); }
    task<result<>> close(time_point deadline) override {
        auto leaving = detail::spawn(*home_, desk::until_all_left(desk_, deadline));
        const result<> left = co_await as_result(std::move(leaving));
        if (!left) co_return left;
        auto closing = close_in_time(desk_->ranks(), deadline);
        co_return co_await std::move(closing);
    }
    std::string name() const override { return fmt::format("store of {}", desk_->ranks().name()); }

private:
    const std::shared_ptr<context::state> home_;
    std::shared_ptr<desk> desk_;
};

class channel_to_keeper final : public request_channel {
public:
    channel_to_keeper(std::shared_ptr<context::state> home, std::unique_ptr<communicator> ranks) : home_(std::move(home)), ranks_(std::move(ranks)) {}
    ~channel_to_keeper() override {
        if (!closed_) (void)detail::spawn(*home_, leave_and_close(std::move(ranks_)));  // which takes its time
    }

    task<result<store_reply>> ask(store_request request, time_point deadline) override {
        event_loop& loop = co_await this_loop;
        const std::uint64_t id = ++asked_;
        asked_for_.send(*ranks_, protocol::frame(id, request), keeper, requests);
        auto coming = ranks_->probe(keeper, id, until(loop, deadline));
        const result<received> next = co_await as_result(std::move(coming));
        if (!next) {
            forget(id);
            co_return next.failure().code() == error::timed_out ? failure(error::timed_out, "") : next.failure();
        }
        std::string body(next->count, '\0');
        auto reading = ranks_->recv(std::span<char>(body), keeper, id, for_ever());
        const result<received> came = co_await as_result(std::move(reading));
        if (!came) co_return came.failure();
        auto reply = protocol::parse_reply(body);
        if (!reply || reply->id != id)
            co_return failure(error::protocol_error, fmt::format("rank {} sent what is no answer of {}", keeper, name()));
        co_return std::move(reply->reply);
    }
    task<result<>> close(time_point deadline) override {
        closed_ = true;
        say_leave(asked_for_, *ranks_);
        auto closing = close_in_time(*ranks_, deadline);
        co_return co_await std::move(closing);
    }
    std::string name() const override { return fmt::format("store of {} at rank {}", ranks_->name(), keeper); }

private:
    static constexpr rank keeper = 0;

    static void say_leave(mail& by, communicator& ranks) {
        store_request request;
        request.op = store_op::leave;
        by.send(ranks, protocol::frame(0, request), keeper, requests);
    }
    static task<> leave_and_close(std::unique_ptr<communicator> ranks) {
        mail last;
        say_leave(last, *ranks);
        co_await ranks->close();
    }

    void forget(std::uint64_t id) {
        store_request request;
        request.op = store_op::forget;
        request.delta = static_cast<std::int64_t>(id);
        asked_for_.send(*ranks_, protocol::frame(++asked_, request), keeper, requests);
    }

    const std::shared_ptr<context::state> home_;
    std::unique_ptr<communicator> ranks_;
    std::uint64_t asked_ = 0;
    mail asked_for_;
    bool closed_ = false;
};

task<std::unique_ptr<store>> make_store(std::shared_ptr<context::state> home, task<std::unique_ptr<communicator>> splitting) {
    auto ranks = co_await std::move(splitting);
    const rank me = ranks->rank();
    std::unique_ptr<request_channel> channel;
    if (me == 0) channel = std::make_unique<channel_of_keeper>(std::move(home), std::move(ranks));
    else channel = std::make_unique<channel_to_keeper>(std::move(home), std::move(ranks));
    co_return asking_store(std::move(channel), me);
}

}  // namespace

task<std::unique_ptr<store>> store_over(communicator& ranks) {
    auto home = detail::inside_of::get(ranks).shared_home();
    event_loop& loop = home->loop();
    return detail::at_home(loop, make_store(std::move(home), ranks.split(0, ranks.rank())));
}

}  // namespace tutti
