// Cuts the output of the ranks into whole lines and hands it on in the order in which it came, without ever blocking the launcher.
#pragma once

#include "base/file_descriptor.hpp"

#include <deque>
#include <string>
#include <string_view>

namespace launch {

/// The launcher's own stdout and stderr behind one queue, so that a line of one never stands inside a line of the other.
class output {
public:
    /// Above this the ranks are not read any more until the reader of our output has caught up.
    static constexpr std::size_t max_queued_bytes = 4 << 20;

    output();

    void put(int descriptor, std::string text);
    bool empty() const noexcept { return queue_.empty(); }
    std::size_t bytes() const noexcept { return queued_bytes_; }
    bool full() const noexcept { return queued_bytes_ >= max_queued_bytes; }
    /// The descriptor that has to become writable next. Only when not empty.
    int descriptor() const noexcept { return queue_.front().descriptor; }
    /// Writes a piece; call when the descriptor is writable. An errno, and the piece is dropped, when it cannot be written.
    int write_some();
    /// Drops what is left for a descriptor; how many bytes that was.
    std::size_t drop(int descriptor);

private:
    struct piece {
        int descriptor;
        std::string text;
        std::size_t written = 0;
    };
    tutti::file_descriptor own_out_, own_err_;  // none where the inherited one has to do
    std::deque<piece> queue_;
    std::size_t queued_bytes_ = 0;
};

/// One stream of one rank: collects bytes until a line is whole. Without a prefix no byte is added.
class line_collector {
public:
    /// A longer line is handed on in pieces.
    static constexpr std::size_t max_line_bytes = 1 << 20;

    line_collector(output& to, int descriptor, std::string prefix);

    void add(std::string_view bytes);
    /// The stream has ended: a last line without an end gets one, behind a prefix.
    void finish();

private:
    void line(std::string& batch, std::string_view text) const;

    output& to_;
    int descriptor_;
    std::string prefix_;
    std::string partial_;
};

}  // namespace launch
