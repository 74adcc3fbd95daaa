// Tutti inside a program that has its own Asio. This is the only public header that includes Asio.
#pragma once

#include <tutti/detail/asio_host.hpp>
#include <tutti/detail/async_run.hpp>
#include <tutti/detail/completion.hpp>
#include <tutti/event_loop.hpp>
#include <tutti/task.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>

#include <memory>
#include <utility>

#if BOOST_VERSION < 108100
#error "tutti/asio.hpp needs Boost 1.81 or later; it need not be the Boost that Tutti was built with"
#endif

namespace [[gnu::visibility("default")]] tutti {

/// The executor on which a guest loop makes progress: `event_loop loop{host{context.get_executor()}};` It must run one thing at a time: an
/// io_context run by one thread, or a strand. If its context is destroyed first, everything on the loop ends, and the loop then does
/// nothing.
class host final : public detail::any_host {
public:
    explicit host(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}
    const boost::asio::any_io_executor& executor() const noexcept { return executor_; }

private:
    std::unique_ptr<detail::host_side> receive(detail::guest_side& guest, int descriptor) const override {
        return std::make_unique<detail::asio_host>(executor_, guest, descriptor);
    }

    boost::asio::any_io_executor executor_;
};

/// Returns the executor of a guest loop. Throws error::invalid_argument for any other loop, and after the host is destroyed: sockets that
/// are not Tutti's belong to the program's own io_context.
inline boost::asio::any_io_executor executor_of(event_loop& loop) {
    if (auto* const found = detail::asio_host_of(loop)) return found->executor();
    throw failure(error::invalid_argument, "only a guest loop has an executor");
}

/// Starts `work` on `loop` for any Asio completion token: a callback, `use_future`, `use_awaitable`, ... Tasks of the library that know
/// their loop, such as communicator::close, take a token directly. The signature is `void(std::exception_ptr)`, or
/// `void(std::exception_ptr, T)`. Asio's per-operation cancellation cancels the task. Call it on the loop, or before it runs. A task that
/// has not ended when the loop is destroyed is destroyed with it, and its handler is not called.
template <class T, class CompletionToken>
auto async_run(event_loop& loop, task<T> work, CompletionToken&& token) {
    return boost::asio::async_initiate<CompletionToken, detail::run_signature_of<T>>(
        detail::start_async<T>(), token, &loop, std::move(work));
}

}  // namespace tutti
