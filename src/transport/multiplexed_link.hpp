// One link between two processes that carries many streams. To its user each stream is a link of its own, and it costs no
// descriptor. So communicators can be many.
#pragma once

#include "transport/growing_byte_queue.hpp"
#include "transport/next_turn.hpp"

#include <tutti/event_loop.hpp>
#include <tutti/transport.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <unordered_map>
#include <vector>

namespace tutti {

class multiplexed_link;

/// Informed by a multiplexed link, on its loop. handshake/multiplexed_links is one.
class multiplexed_link_owner {
public:
    /// The peer has opened a stream.
    virtual void opened(std::unique_ptr<link> stream) = 0;
    /// The link has ended, and its streams with it. May come out of a call to one of the streams.
    virtual void ended(multiplexed_link& which) noexcept = 0;

protected:
    ~multiplexed_link_owner() = default;
};

/// Owns the link, and the bytes that wait on either side of it. Its streams belong to their users and share it, so it lives as long as the
/// longest of them. Used on its loop only. It knows neither hellos nor frames, and it never judges why the link has ended.
///
/// Bytes travel in records: a header with the number of the stream, then at most `record_bytes` of that stream. A sender has a credit of
/// `window_bytes` for each stream, and gets it back as the receiver takes the bytes. So the receiver always reads the link, keeps at most
/// a window for each stream, and a stream whose user reads nothing holds up no other.
///
/// A send copies nothing, unless the link takes a part of the record only. The rest is copied then, and leaves before any other record.
/// docs/wire.md has the layout.
class multiplexed_link final : public std::enable_shared_from_this<multiplexed_link> {
public:
    static constexpr std::size_t window_bytes = 256 * KiB;
    static constexpr std::size_t record_bytes = 64 * KiB;
    /// Records that wait for the link, beyond which streams have to wait. So a last word can be left behind, as in a socket's buffer.
    static constexpr std::size_t backlog_bytes = 64 * KiB;

    /// The sides number their streams differently.
    enum class side { dialled, accepted };

    multiplexed_link(event_loop& loop, std::unique_ptr<link> over, side which, multiplexed_link_owner& owner);
    ~multiplexed_link();

    /// Starts reading. Once, when a shared_ptr owns it.
    void start() noexcept;
    /// Opens a stream, over which bytes can be sent at once.
    std::unique_ptr<link> open();
    bool ended() const noexcept { return over_ == nullptr; }
    /// Ends the link and all streams. Bytes that it has not taken are lost. The owner hears nothing of it.
    void close() noexcept;

private:
    class stream;
    friend class stream;
    enum class record : std::uint8_t { open = 1, data, credit, end };
    struct header {
        std::uint64_t number = 0;
        std::uint32_t length = 0;  // of the data that follows; of a credit: the bytes that were taken
        record kind = record::data;
    };
    static constexpr std::size_t header_bytes = 16;

    static std::array<std::byte, header_bytes> encode(const header& what) noexcept;
    moved send(std::uint64_t number, std::span<const std::span<const std::byte>> parts, std::size_t limit) noexcept;
    void say(const header& what) noexcept;
    bool has_room(std::size_t bytes) const noexcept;
    void keep(std::span<const std::byte> bytes) noexcept;
    void wait_for_room(stream& who) noexcept;
    void call_next_writer() noexcept;
    void forget(stream& who) noexcept;
    void expect(bool soon) noexcept;
    void pump_send() noexcept;
    void writable() noexcept;
    void next_writer() noexcept;
    void readable() noexcept;
    bool read(std::span<const std::byte>& bytes) noexcept;
    bool obey(const header& what) noexcept;
    void lose(std::error_code why) noexcept;
    void finish(std::error_code why) noexcept;

    event_loop& loop_;
    std::unique_ptr<link> over_;  // null once it has ended
    std::error_code code_;        // why
    multiplexed_link_owner& owner_;
    const std::string peer_;
    const std::size_t window_;  // the link's own
    std::uint64_t next_number_;
    std::uint64_t last_opened_ = 0;  // by the peer
    std::unordered_map<std::uint64_t, stream*> streams_;
    int expecting_ = 0;  // streams whose owner expects bytes

    growing_byte_queue backlog_;    // records that the link has not taken
    std::uint64_t kept_until_ = 0;  // bytes that have ever come to the backlog
    std::uint64_t gone_until_ = 0;  // and that have left it
    bool waiting_writable_ = false;
    std::deque<stream*> writers_;  // wait for room, in this order
    bool turning_ = false;         // next_writer is posted
    std::vector<std::span<const std::byte>> runs_;

    const std::unique_ptr<std::byte[]> buffer_;  // read, and not yet passed on: a part of a header
    std::size_t kept_ = 0;
    header head_;
    std::size_t missing_ = 0;  // bytes of the present record
    next_turn recv_turn_;
    detail::callback<&multiplexed_link::readable> readable_{*this};
    detail::callback<&multiplexed_link::writable> writable_{*this};
    detail::callback<&multiplexed_link::next_writer> next_writer_{*this};
};

}  // namespace tutti
