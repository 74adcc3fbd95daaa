// The one class of stores: it checks requests, sends them through its channel, and puts failures into words.
#include "base/descriptors.hpp"
#include "base/process.hpp"
#include "rendezvous/channel.hpp"

#include <tutti/sleep.hpp>

#include <fmt/format.h>

namespace tutti {
namespace {

const char* word(store_op op) {
    switch (op) {
        case store_op::get: return "store get";
        case store_op::set: return "store set";
        case store_op::add: return "store add";
        case store_op::compare_set: return "store compare_set";
        case store_op::erase: return "store erase";
        case store_op::forget:
        case store_op::leave: break;
    }
    return "store forget";
}

std::string seconds(duration time) { return fmt::format("{:.3g} s", std::chrono::duration<double>(time).count()); }

class final_store final : public store {
public:
    final_store(std::unique_ptr<request_channel> channel, rank me) : channel_(std::move(channel)), me_(me) {}
    ~final_store() override {
        if (!made_.here()) leave_alone(std::move(channel_));
    }

    task<result<std::string>> get(std::string key, time_point deadline) override {
        store_request request(store_op::get, std::move(key));
        result<store_reply> reply = co_await ask(std::move(request), deadline);
        if (!reply) co_return reply.failure();
        co_return std::move(reply->value);
    }
    task<result<>> set(std::string key, std::string value, time_point deadline) override {
        store_request request(store_op::set, std::move(key));
        request.value = std::move(value);
        result<store_reply> reply = co_await ask(std::move(request), deadline);
        if (!reply) co_return reply.failure();
        co_return result<>();
    }
    task<result<std::int64_t>> add(std::string key, std::int64_t delta, time_point deadline) override {
        store_request request(store_op::add, std::move(key));
        request.delta = delta;
        result<store_reply> reply = co_await ask(std::move(request), deadline);
        if (!reply) co_return reply.failure();
        co_return reply->number;
    }
    task<result<bool>> compare_set(std::string key, std::optional<std::string> expected, std::string desired,
                                   time_point deadline) override {
        store_request request(store_op::compare_set, std::move(key));
        request.expected = std::move(expected);
        request.value = std::move(desired);
        result<store_reply> reply = co_await ask(std::move(request), deadline);
        if (!reply) co_return reply.failure();
        co_return reply->number != 0;
    }
    task<result<bool>> erase(std::string key, time_point deadline) override {
        store_request request(store_op::erase, std::move(key));
        result<store_reply> reply = co_await ask(std::move(request), deadline);
        if (!reply) co_return reply.failure();
        co_return reply->number != 0;
    }
    task<result<>> close(time_point deadline) override {
        if (!made_.here()) co_return tell("store close", made_.foreign("store").details(), {});
        if (closed_) co_return result<>();
        closed_ = true;
        result<> ended = co_await channel_->close(deadline);
        if (ended) co_return ended;
        co_return tell("store close", ended.failure().details(), {});
    }
    std::string local_address() const override { return channel_->local_address(); }

private:
    task<result<store_reply>> ask(store_request request, time_point deadline) {
        const char* operation = word(request.op);
        const std::string key = request.key;
        if (std::string wrong = refusal(request); !wrong.empty()) co_return tell(operation, error::invalid_argument, std::move(wrong), {});
        if (!made_.here()) co_return tell(operation, made_.foreign("store").details(), {});
        if (closed_) co_return tell(operation, error::closed, channel_->name() + " was closed before", {});
        event_loop& loop = co_await this_loop;
        const time_point begin = loop.now();
        const bool waits = request.op == store_op::get;
        result<store_reply> reply = co_await channel_->ask(std::move(request), deadline);
        const duration elapsed = loop.now() - begin;
        if (!reply && reply.failure().code() == error::timed_out) {
            std::string cause = fmt::format("{} did not answer key {} within {}{}", channel_->name(), key, seconds(elapsed),
                                            waits ? " (perhaps no rank has set it)" : "");
            co_return tell(operation, error::timed_out, std::move(cause), elapsed);
        }
        if (!reply) co_return tell(operation, reply.failure().details(), elapsed);
        if (reply->refused) co_return tell(operation, error::invalid_argument, channel_->name() + ": " + reply->value, elapsed);
        co_return reply;
    }

    static std::string refusal(const store_request& request) {
        if (request.key.empty()) return "a key has at least one byte";
        if (request.key.size() > max_key_bytes)
            return fmt::format("a key of {} bytes; at most {} are allowed", request.key.size(), max_key_bytes);
        const std::size_t longest = std::max(request.value.size(), request.expected ? request.expected->size() : 0);
        if (longest > max_value_bytes)
            return fmt::format("a value of {} bytes for key {}; at most {} are allowed", longest, request.key, max_value_bytes);
        return "";
    }

    failure tell(const char* operation, std::error_code code, std::string cause, duration elapsed) const {
        report what;
        what.code = code;
        what.cause = std::move(cause);
        return tell(operation, std::move(what), elapsed);
    }
    failure tell(const char* operation, report what, duration elapsed) const {
        if (out_of_descriptors(what.code)) {
            what.cause = fmt::format("{} has {}", me_ < 0 ? std::string("this process") : fmt::format("rank {}", me_),
                                     no_descriptor_left("the store", what.code));
            what.code = error::system;
        }
        what.operation = operation;
        what.local = me_;
        what.elapsed = elapsed;
        return failure(std::move(what));
    }

    const birthplace made_;
    std::unique_ptr<request_channel> channel_;
    rank me_;
    bool closed_ = false;
};

}  // namespace

std::unique_ptr<store> asking_store(std::unique_ptr<request_channel> channel, rank me) {
    return std::make_unique<final_store>(std::move(channel), me);
}

}  // namespace tutti
