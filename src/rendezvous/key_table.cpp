#include "rendezvous/key_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tutti {

const std::string* key_map::find(const std::string& key) const {
    const auto found = values_.find(key);
    return found != values_.end() ? &found->second : nullptr;
}

store_reply key_map::apply(const store_request& request, bool& changed) {
    switch (request.op) {
        case store_op::set: return set(request.key, request.value, changed);
        case store_op::add: return add(request, changed);
        case store_op::compare_set: return compare_set(request, changed);
        case store_op::erase: {
            store_reply reply;
            reply.number = erase(request.key);
            return reply;
        }
        case store_op::get:
        case store_op::forget:
        case store_op::leave: break;
    }
    return store_reply::refusal("not an operation on a key");
}

store_reply key_map::set(const std::string& key, std::string value, bool& changed) {
    const auto found = values_.find(key);
    const std::size_t before = found != values_.end() ? key.size() + found->second.size() : 0;
    const std::size_t after = bytes_ - before + key.size() + value.size();
    if (after > max_bytes) return store_reply::refusal(fmt::format("the store is full ({} bytes)", bytes_));
    values_.insert_or_assign(key, std::move(value));
    bytes_ = after;
    changed = true;
    return {};
}

store_reply key_map::add(const store_request& request, bool& changed) {
    std::int64_t number = 0;
    if (const std::string* value = find(request.key)) {
        const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
        if (error != std::errc() || end != value->data() + value->size())
            return store_reply::refusal(fmt::format("key {} does not hold a number", request.key));
    }
    std::int64_t total = 0;
    if (__builtin_add_overflow(number, request.delta, &total))
        return store_reply::refusal(fmt::format("{} + {} does not fit a 64-bit number (key {})", number, request.delta, request.key));
    store_reply reply = set(request.key, std::to_string(total), changed);
    reply.number = total;
    return reply;
}

store_reply key_map::compare_set(const store_request& request, bool& changed) {
    const std::string* value = find(request.key);
    const bool equal = value == nullptr ? !request.expected : request.expected && *request.expected == *value;
    if (!equal) return {};
    store_reply reply = set(request.key, request.value, changed);
    reply.number = 1;
    return reply;
}

bool key_map::erase(const std::string& key) {
    const auto found = values_.find(key);
    if (found == values_.end()) return false;
    bytes_ -= key.size() + found->second.size();
    values_.erase(found);
    return true;
}

store_reply memory_table::state::apply(const store_request& request) {
    const std::lock_guard lock(mutex_);
    bool changed = false;
    store_reply reply = keys_.apply(request, changed);
    const auto waiting = changed ? waiters_.find(request.key) : waiters_.end();
    if (waiting == waiters_.end()) return reply;
    for (key_waiter* waiter : waiting->second) {
        waiter->answer(*keys_.find(request.key));
        waiter->loop().post(*waiter);
    }
    waiters_.erase(waiting);
    return reply;
}

bool memory_table::state::get_or_wait(key_waiter& waiter) {
    const std::lock_guard lock(mutex_);
    if (const std::string* value = keys_.find(waiter.key())) {
        waiter.answer(*value);
        return true;
    }
    waiters_[waiter.key()].push_back(&waiter);
    return false;
}

void memory_table::state::forget(key_waiter& waiter) noexcept {
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = waiters_.find(waiter.key()); found != waiters_.end()) {
            std::erase(found->second, &waiter);
            if (found->second.empty()) waiters_.erase(found);
        }
    }
    waiter.loop().withdraw(waiter);
}

memory_table::memory_table() : state_(std::make_unique<state>()) {}
memory_table::~memory_table() = default;

}  // namespace tutti
