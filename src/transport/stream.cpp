#include "transport/stream.hpp"

#include <tutti/detail/waiting.hpp>

#include <fmt/format.h>

namespace tutti {
namespace {

enum class direction { send, recv };

/// Waits until the link can move bytes again. Half a handshake is of no use, so a wait that is given up closes the link.
class link_awaiter final : detail::waiting, detail::runnable {
public:
    link_awaiter(link& over, direction way) noexcept : link_(over), way_(way) {}
    ~link_awaiter() {
        if (waits_) link_.close();
    }

    bool await_ready() const noexcept { return false; }
    template <detail::task_promise Promise>
    bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
        if (!begin(who.promise())) return false;
        waits_ = true;
        if (way_ == direction::send) link_.when_writable(*this);
        else link_.when_readable(*this);
        return true;
    }
    void await_resume() const { throw_if_cancelled(); }
    void explain(detail::explanation& out) const { out.line("bytes of " + link_.peer()); }

private:
    void run() noexcept override {
        waits_ = false;
        end();
    }
    void give_up() noexcept override {
        waits_ = false;
        link_.close();
    }

    link& link_;
    direction way_;
    bool waits_ = false;
};

failure broken(const link& over, std::error_code code) {
    report why;
    why.code = code;
    why.address = over.peer();
    why.cause = fmt::format("the link to {} ended: {}", why.address, code.message());
    return failure(std::move(why));
}

}  // namespace

task<result<>> send_all(link& over, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const moved one = over.try_send(std::span(&bytes, 1));
        if (one.code) co_return broken(over, one.code);
        bytes = bytes.subspan(one.bytes);
        if (one.bytes == 0) co_await link_awaiter(over, direction::send);
    }
    co_return result<>();
}

task<result<>> recv_all(link& over, std::span<std::byte> bytes) {
    while (!bytes.empty()) {
        const moved one = over.try_recv(std::span(&bytes, 1));
        if (one.code) co_return broken(over, one.code);
        bytes = bytes.subspan(one.bytes);
        if (one.bytes == 0) co_await link_awaiter(over, direction::recv);
    }
    co_return result<>();
}

}  // namespace tutti
