// How a request reaches the keys: in this, and only in this, the kinds of store differ. asking_store has all that users see.
#pragma once

#include "rendezvous/request.hpp"

#include <tutti/store.hpp>

namespace tutti {

class request_channel {
public:
    virtual ~request_channel() = default;

    /// Returns error::timed_out at the deadline; the caller adds words, because it knows the request.
    virtual task<result<store_reply>> ask(store_request request, time_point deadline) = 0;
    virtual task<result<>> close(time_point deadline) = 0;
    /// Returns the name for messages: "store at 127.0.0.1:29500".
    virtual std::string name() const = 0;
    /// See `store`.
    virtual std::string local_address() const { return {}; }
};

/// Makes a store over a channel. `me`: the rank that failures name as theirs; -1 if unknown.
std::unique_ptr<store> asking_store(std::unique_ptr<request_channel> channel, rank me);

std::unique_ptr<request_channel> memory_channel(memory_table::state& table);
result<std::unique_ptr<request_channel>> file_channel(const std::string& path);

}  // namespace tutti
