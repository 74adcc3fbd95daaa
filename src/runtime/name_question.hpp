// One question to the system's name service.
#pragma once

#include "runtime/asio.hpp"

#include <tutti/detail/runnable.hpp>
#include <tutti/event_loop.hpp>

#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace tutti {

/// Asks on a thread of its own, because the system's resolver may take a minute and cannot be interrupted. Destroying the question gives it
/// up, without waiting for the thread.
class name_question final : private detail::runnable {
public:
    /// On the loop. `answered` runs there when the answer has come; it must live as long as this.
    name_question(event_loop& loop, const std::string& host, std::uint16_t port, detail::runnable& answered);
    name_question(const name_question&) = delete;
    name_question& operator=(const name_question&) = delete;
    ~name_question();

    const std::vector<asio::ip::tcp::endpoint>& endpoints() const noexcept { return found_; }
    /// Why there are no addresses, in words.
    const std::string& reason() const noexcept { return reason_; }
    /// The error of the system, where that is the reason.
    std::error_code code() const noexcept { return code_; }

private:
    struct address_of_asker;
    void run() noexcept override { answered_.run(); }
    void hear(std::vector<asio::ip::tcp::endpoint> found, std::string reason, std::error_code code);

    event_loop& loop_;
    detail::runnable& answered_;
    const std::shared_ptr<address_of_asker> asker_;  // shared with the thread
    std::vector<asio::ip::tcp::endpoint> found_;
    std::string reason_;
    std::error_code code_;
};

}  // namespace tutti
