// Two ends of a stream inside one process, for tests. The ends may be on loops of different threads.
#pragma once

#include <tutti/event_loop.hpp>
#include <tutti/transport.hpp>

#include <memory>
#include <string>
#include <utility>

namespace tutti {

/// One end's loop, and its name for the other end.
struct memory_end {
    event_loop& loop;
    std::string name;
};

/// Makes two connected links; each direction holds at most `capacity_bytes` that were sent and not yet received.
std::pair<std::unique_ptr<link>, std::unique_ptr<link>> make_memory_links(memory_end first, memory_end second, std::size_t capacity_bytes);

}  // namespace tutti
