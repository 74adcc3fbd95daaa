// The host's side of a guest loop, made of Asio. It is compiled with the program, so it uses the program's Asio.
#pragma once

#include <tutti/detail/hosting.hpp>
#include <tutti/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/strand.hpp>
#include <boost/version.hpp>

#include <algorithm>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

/// The guests of one execution context. They are notified when it is destroyed, because after that nothing of Asio's may be touched.
class hospitality final : public boost::asio::execution_context::service {
public:
    inline static boost::asio::execution_context::id id;
    explicit hospitality(boost::asio::execution_context& of) : service(of) {}

    void add(guest_side& one) {
        const std::lock_guard lock(guard_);
        guests_.push_back(&one);
    }
    void remove(guest_side& one) noexcept {
        const std::lock_guard lock(guard_);
        std::erase(guests_, &one);
    }

private:
    /// Runs before the services that are older than the first guest, such as that of its descriptor.
    void shutdown() noexcept override {
        while (!guests_.empty()) {
            guest_side* const last = guests_.back();
            guests_.pop_back();
            last->host_goes();
        }
    }

    std::mutex guard_;
    std::vector<guest_side*> guests_;
};

class asio_host final : public host_side {
public:
    static constexpr long asio_version = BOOST_VERSION;

    asio_host(boost::asio::any_io_executor executor, guest_side& guest, int descriptor)
        : executor_(std::move(executor)),
          guest_(guest),
          descriptor_(executor_, descriptor),
          others_(boost::asio::use_service<hospitality>(boost::asio::query(executor_, boost::asio::execution::context))) {
        others_.add(guest_);
    }
    ~asio_host() override {
        others_.remove(guest_);
        descriptor_.release();  // the guest owns it
    }

    const boost::asio::any_io_executor& executor() const noexcept { return executor_; }

    void call(std::shared_ptr<guest_side> guest) override {
        boost::asio::post(executor_, [guest = std::move(guest)] { guest->turn(); });
    }
    void watch(std::shared_ptr<guest_side> guest) override {
        descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                               [guest = std::move(guest)](const boost::system::error_code& stopped) {
                                   if (!stopped) guest->readable();
                               });
    }
    void stop_watching() noexcept override {
        boost::system::error_code ignored;
        descriptor_.cancel(ignored);
    }
    bool here() const noexcept override {
        const auto told = [this]<class Executor>(std::type_identity<Executor>) {
            const auto* known = executor_.target<Executor>();
            return known && known->running_in_this_thread();
        };
        using io_executor = boost::asio::io_context::executor_type;
        return told(std::type_identity<io_executor>()) || told(std::type_identity<boost::asio::strand<io_executor>>()) ||
               told(std::type_identity<boost::asio::strand<boost::asio::any_io_executor>>());
    }
    long version() const noexcept override { return asio_version; }

private:
    boost::asio::any_io_executor executor_;
    guest_side& guest_;
    boost::asio::posix::stream_descriptor descriptor_;
    hospitality& others_;
};

/// Returns null if `loop` is no guest, or its host is destroyed. Throws if a part of the process with another Asio made it a guest.
inline asio_host* asio_host_of(event_loop& loop) {
    host_side* const found = host_of(loop);
    if (found && found->version() != asio_host::asio_version)
        throw failure(error::invalid_argument, "this loop is a guest of code that was compiled with another version of Boost than this call");
    return static_cast<asio_host*>(found);
}

}  // namespace detail
}  // namespace tutti
