#include "rendezvous/frame_socket.hpp"
#include "runtime/asio.hpp"

#include "base/close_on_exec.hpp"
#include "rendezvous/wire.hpp"

#include <fmt/format.h>

namespace tutti {

frame_socket::frame_socket(asio::ip::tcp::socket socket, frame_listener& owner) : socket_(std::move(socket)), owner_(&owner) {
    close_on_exec(socket_.native_handle());
    boost::system::error_code ignored;
    socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
}

void frame_socket::start(std::size_t unframed_bytes, std::size_t max_bytes) {
    max_bytes_ = max_bytes;
    if (unframed_bytes != 0) read(unframed_bytes, false);
    else read(protocol::length_bytes, true);
}

/// The buffer grows as bytes arrive, so a length alone costs no memory.
void frame_socket::read(std::size_t count, bool length) {
    incoming_.clear();
    asio::async_read(socket_, asio::dynamic_buffer(incoming_, count), asio::transfer_exactly(count),
                     [self = shared_from_this(), length](boost::system::error_code error, std::size_t) {
                         if (self->owner_ == nullptr) return;
                         if (error) return self->fail(error == asio::error::eof ? "the connection was closed" : error.message());
                         self->have_read(length);
                     });
}

void frame_socket::have_read(bool length) {
    if (length) {
        wire_reader reader(incoming_);
        const std::size_t count = reader.u32();
        if (count == 0 || count > max_bytes_)
            return fail(fmt::format("a frame of {} bytes was announced, {} are allowed", count, max_bytes_));
        return read(count, false);
    }
    owner_->arrived(incoming_);
    if (owner_ != nullptr) read(protocol::length_bytes, true);
}

void frame_socket::send(std::string bytes) {
    queued_bytes_ += bytes.size();
    outgoing_.push_back(std::move(bytes));
    if (outgoing_.size() == 1) write();
    if (queued_bytes_ <= max_queued_bytes) return;
    // Posted: the caller of send may be in the middle of its own work.
    asio::post(socket_.get_executor(), [self = shared_from_this()] { self->fail("the other side does not read"); });
}

void frame_socket::write() {
    asio::async_write(socket_, asio::buffer(outgoing_.front()), [self = shared_from_this()](boost::system::error_code error, std::size_t) {
        self->queued_bytes_ -= self->outgoing_.front().size();
        self->outgoing_.pop_front();
        if (error) {
            self->outgoing_.clear();
            self->queued_bytes_ = 0;
            return self->owner_ != nullptr ? self->fail(error.message()) : self->shut();
        }
        if (!self->outgoing_.empty()) return self->write();
        if (self->owner_ == nullptr) self->shut();
    });
}

void frame_socket::fail(const std::string& why) {
    frame_listener* owner = std::exchange(owner_, nullptr);
    shut();
    if (owner != nullptr) owner->ended(why);
}

void frame_socket::close() noexcept {
    owner_ = nullptr;
    if (outgoing_.empty()) shut();
}

void frame_socket::shut() noexcept {
    boost::system::error_code ignored;
    socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
    socket_.close(ignored);
}

}  // namespace tutti
