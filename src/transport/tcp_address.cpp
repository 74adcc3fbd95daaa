#include "transport/tcp_address.hpp"

#include "base/quiet_thread.hpp"
#include "runtime/connecting.hpp"

#include <tutti/event_loop.hpp>

#include <fmt/format.h>

#include <charconv>

namespace tutti {

using asio::ip::tcp;

std::optional<host_and_port> parse_address(std::string_view text) {
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    auto host = text.substr(0, colon);
    const auto digits = text.substr(colon + 1);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    else if (host.find(':') != std::string_view::npos) return std::nullopt;
    host_and_port found{std::string(host), 0};
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), found.port);
    if (code != std::errc{} || end != digits.data() + digits.size() || found.port == 0 || host.empty()) return std::nullopt;
    return found;
}

std::string to_string(const tcp::endpoint& where) {
    const auto address = where.address();
    const auto host = address.is_v6() ? "[" + address.to_string() + "]" : address.to_string();
    return fmt::format("{}:{}", host, where.port());
}

/// Outlives the lookup when nobody wants its answer any more: then `owner` is null.
struct lookup::question {
    explicit question(event_loop& loop) : resolver(executor_of(loop)) {}
    tcp::resolver resolver;
    lookup* owner = nullptr;
    detail::runnable* work = nullptr;
};

lookup::~lookup() {
    if (asked_ != nullptr) asked_->owner = nullptr;
}

void lookup::start(event_loop& loop, const host_and_port& what, std::uint32_t zone, detail::runnable& work) {
    boost::system::error_code code;
    const auto numeric = number_of(what.host, zone, code);
    if (!code) {
        found_ = {tcp::endpoint(numeric, what.port)};
        return work.run();
    }
    asked_ = std::make_shared<question>(loop);
    asked_->owner = this;
    asked_->work = &work;
    auto answer = [asked = asked_](const boost::system::error_code& failed, const tcp::resolver::results_type& results) {
        if (asked->owner == nullptr) return;
        for (const auto& one : results) asked->owner->found_.push_back(one.endpoint());
        if (failed) asked->owner->reason_ = failed.message();
        asked->work->run();
    };
    const signals_blocked in_the_thread_it_starts;
    asked_->resolver.async_resolve(what.host, std::to_string(what.port), tcp::resolver::numeric_service, std::move(answer));
}

}  // namespace tutti
