// What the kinds of store differ in: how a request reaches the keys. Everything users see is the same for all (asking_store).
#pragma once

#include "rendezvous/request.hpp"

#include <tutti/store.hpp>

namespace tutti {

class request_channel {
public:
    virtual ~request_channel() = default;

    /// error::timed_out at the deadline; the words come from the caller, who knows what was asked.
    virtual task<result<store_reply>> ask(store_request request, time_point deadline) = 0;
    virtual task<result<>> close(time_point deadline) = 0;
    /// For messages: "store at 127.0.0.1:29500".
    virtual std::string name() const = 0;
    /// See `store`.
    virtual std::string local_address() const { return {}; }
};

/// `me`: who tells when something fails; -1 when that is not known.
std::unique_ptr<store> asking_store(std::unique_ptr<request_channel> channel, rank me);

std::unique_ptr<request_channel> memory_channel(memory_table::state& table);
result<std::unique_ptr<request_channel>> file_channel(const std::string& path);

}  // namespace tutti
