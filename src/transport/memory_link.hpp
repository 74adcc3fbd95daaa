// Two ends of a stream inside one process. The ends may be on loops of different threads.
#pragma once

#include <tutti/event_loop.hpp>
#include <tutti/transport.hpp>

#include <memory>
#include <string>
#include <utility>

namespace tutti {

/// One end's loop, and what the other end calls it.
struct memory_end {
    event_loop& loop;
    std::string name;
};

/// Connected links; each direction holds at most `capacity_bytes` that were sent and not yet received.
std::pair<std::unique_ptr<link>, std::unique_ptr<link>> make_memory_links(memory_end first, memory_end second, std::size_t capacity_bytes);

}  // namespace tutti
