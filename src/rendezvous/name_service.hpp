// What a name stands for: the system's answer, or in tests a table's.
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
    /// All addresses of `host` as of now, in the order in which to try them. error::timed_out at the deadline.
    virtual task<result<std::vector<asio::ip::tcp::endpoint>>> look_up(std::string host, std::uint16_t port, time_point deadline) = 0;
};

/// Asks the system's resolver, but for numbers and "localhost".
class system_names final : public name_service {
public:
    task<result<std::vector<asio::ip::tcp::endpoint>>> look_up(std::string host, std::uint16_t port, time_point deadline) override;
};

}  // namespace tutti
