// Requests of a rank to a store, and the replies: values that any kind of store carries out.
#pragma once

#include <tutti/result.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace tutti {

enum class store_op : std::uint8_t { get = 1, set, add, compare_set, erase, forget, leave };

struct store_request {
    store_op op = store_op::get;
    std::string key;
    std::string value;                    // set, compare_set
    std::optional<std::string> expected;  // compare_set
    std::int64_t delta = 0;               // add; forget: the id of the get that was given up

    store_request() = default;  // the constructors keep it from being an aggregate: g++ 12 destroys those twice in a co_await
    store_request(store_op what, std::string which) : op(what), key(std::move(which)) {}
};

struct store_reply {
    std::string value;        // get; or why it was refused
    std::int64_t number = 0;  // add: the sum; compare_set, erase: whether something happened
    bool refused = false;     // a request that makes no sense, or a store that is full

    store_reply() = default;
    static store_reply refusal(std::string why) {
        store_reply reply;
        reply.value = std::move(why);
        reply.refused = true;
        return reply;
    }
};

}  // namespace tutti
