// Tutti inside a program that has its own Asio: the only public header that names it.
#pragma once

#include <tutti/event_loop.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <utility>

namespace tutti {

/// Where a guest loop makes progress: `event_loop loop{host{context.get_executor()}};`
/// The executor must run one thing at a time: an io_context run by one thread, or a strand.
class host {
public:
    explicit host(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}
    const boost::asio::any_io_executor& executor() const noexcept { return executor_; }

private:
    boost::asio::any_io_executor executor_;
};

}  // namespace tutti
