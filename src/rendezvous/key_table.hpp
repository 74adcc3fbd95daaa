// Keys, values, and the waiters for keys that are not set yet. For any thread.
#pragma once

#include "rendezvous/request.hpp"

#include <tutti/detail/runnable.hpp>
#include <tutti/event_loop.hpp>
#include <tutti/store.hpp>

#include <mutex>
#include <unordered_map>
#include <vector>

namespace tutti {

/// The keys and values, without waiting and without a lock.
class key_map {
public:
    /// Bytes of all keys and values together.
    static constexpr std::size_t max_bytes = 256 * MiB;

    const std::string* find(const std::string& key) const;
    /// Carries out every request but get. `changed` says whether the key has a new value.
    store_reply apply(const store_request& request, bool& changed);

private:
    store_reply set(const std::string& key, std::string value, bool& changed);
    store_reply add(const store_request& request, bool& changed);
    store_reply compare_set(const store_request& request, bool& changed);
    bool erase(const std::string& key);

    std::unordered_map<std::string, std::string> values_;
    std::size_t bytes_ = 0;
};

/// Posted to its loop once, when its key is set.
class key_waiter : public detail::runnable {
public:
    key_waiter(event_loop& loop, std::string key) : loop_(loop), key_(std::move(key)) {}

    event_loop& loop() const noexcept { return loop_; }
    const std::string& key() const noexcept { return key_; }
    const std::string& value() const noexcept { return value_; }
    void answer(std::string value) noexcept { value_ = std::move(value); }

protected:
    ~key_waiter() = default;

private:
    event_loop& loop_;
    std::string key_;
    std::string value_;
};

/// A key map under a mutex, with the waiters for its keys. The first set of a key posts them.
class [[gnu::visibility("hidden")]] memory_table::state {
public:
    store_reply apply(const store_request& request);
    /// Returns true if the key is set and the waiter has its value; false if the waiter will be posted.
    bool get_or_wait(key_waiter& waiter);
    /// On the waiter's loop: takes it off the table and off the loop's queue, so that it is not posted afterwards.
    void forget(key_waiter& waiter) noexcept;

private:
    std::mutex mutex_;
    key_map keys_;
    std::unordered_map<std::string, std::vector<key_waiter*>> waiters_;
};

}  // namespace tutti
