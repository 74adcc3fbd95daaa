#include "reducer/agreement.hpp"

#include "base/bytes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tutti {

agreement::agreement(communicator& over, std::vector<std::string> lines) : over_(over), lines_(std::move(lines)) {
    std::uint64_t all = digest_of("");
    for (const std::string& each : lines_) all = digest_of(std::string_view("\0", 1), digest_of(each, all));
    words_ = {lines_.size(), ~static_cast<std::uint64_t>(lines_.size()), all, ~all};
}

future<> agreement::compare() {
    call_options options;
    options.label = "comparing buckets";
    return over_.all_reduce(words_, max, options);
}

std::uint64_t agreement::digest(std::size_t line) const noexcept { return line < lines_.size() ? digest_of(lines_[line]) : 0; }
std::string agreement::text(std::size_t line) const { return line < lines_.size() ? lines_[line] : fmt::format("nothing behind '{}'", lines_.empty() ? "" : lines_.back()); }

task<std::string> agreement::difference() {
    const auto longest = static_cast<std::size_t>(words_[0]);
    std::vector<std::uint64_t> digests(2 * longest);
    for (std::size_t line = 0; line < longest; ++line) {
        digests[line] = digest(line);
        digests[longest + line] = ~digest(line);
    }
    future<> comparing = over_.all_reduce(digests, max);
    co_await comparing;
    std::size_t first = 0;
    while (first + 1 < longest && digests[first] == ~digests[longest + first]) ++first;

    std::array<std::uint8_t, entry_bytes> mine{};
    byte_writer out(std::as_writable_bytes(std::span(mine)));
    out.put(digest(first));
    out.put_text(text(first), text_bytes - 2);
    std::vector<std::uint8_t> everybody(entry_bytes * static_cast<std::size_t>(over_.size()));
    future<> telling = over_.all_gather(mine, everybody);
    co_await telling;

    std::uint64_t expected = 0;
    std::string theirs;
    for (rank each = 0; each < over_.size(); ++each) {
        byte_reader in(std::as_bytes(std::span(everybody).subspan(entry_bytes * static_cast<std::size_t>(each), entry_bytes)));
        const auto digest = in.take<std::uint64_t>();
        const std::string_view text = in.take_text();
        if (each == 0) {
            expected = digest;
            theirs = text;
        } else if (digest != expected) {
            co_return fmt::format("rank 0 has {}, rank {} has {}{}", theirs, each, text,
                                  text == theirs ? " and other letters further on" : "");
        }
    }
    co_return std::string("the digests of the lists differ, and no line does");
}

}  // namespace tutti
