// Looks names up, in the system or, in tests, in a table.
#pragma once

#include "runtime/asio.hpp"

#include <tutti/result.hpp>
#include <tutti/task.hpp>

#include <string>
#include <vector>

namespace tutti {

class name_service {
public:
    virtual ~name_service() = default;
    /// Returns all present addresses of `host`, in the order in which to try them; error::timed_out at the deadline.
    virtual task<result<std::vector<asio::ip::tcp::endpoint>>> look_up(std::string host, std::uint16_t port, time_point deadline) = 0;
};

/// Asks the system's resolver, except for numbers and "localhost".
class system_names final : public name_service {
public:
    task<result<std::vector<asio::ip::tcp::endpoint>>> look_up(std::string host, std::uint16_t port, time_point deadline) override;
};

}  // namespace tutti
