#include <tutti/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tutti {
namespace {

class category final : public std::error_category {
    const char* name() const noexcept override { return "tutti"; }
    std::string message(int value) const override {
        switch (static_cast<error>(value)) {
            case error::cancelled: return "cancelled";
            case error::timed_out: return "timed out";
            case error::rendezvous_timeout: return "rendezvous timed out";
            case error::peer_died: return "peer died";
            case error::peer_left: return "peer left";
            case error::aborted: return "aborted";
            case error::mismatch: return "mismatch";
            case error::protocol_error: return "protocol error";
            case error::refused: return "refused";
            case error::invalid_argument: return "invalid argument";
            case error::unsupported: return "unsupported";
            case error::closed: return "closed";
            case error::bad_launch: return "bad launch";
            case error::system: return "system error";
            case error::device_failed: return "device failed";
            case error::truncated: return "truncated";
        }
        return "unknown error";
    }
};

}  // namespace

const std::error_category& error_category() noexcept {
    static const category instance;
    return instance;
}

std::error_code make_error_code(error code) noexcept { return {static_cast<int>(code), error_category()}; }

/// Returns whether the cause, which is the same on all ranks, says already what this rank did in which operation.
static bool tells_of_itself(const report& what) {
    return what.local >= 0 && what.cause.starts_with(fmt::format("rank {} ", what.local)) && what.cause.find(what.operation) != std::string::npos;
}

std::string to_string(const report& what) {
    std::string text;
    auto out = std::back_inserter(text);
    const bool once = tells_of_itself(what);
    if (what.local >= 0 && !once) fmt::format_to(out, "rank {}: ", what.local);
    const bool named = !what.communicator.empty() && what.communicator != "world";
    if (!what.operation.empty() && !once) {
        text += what.operation;
        if (what.sequence != 0) fmt::format_to(out, " #{}", what.sequence);
        if (named) fmt::format_to(out, " on {}", what.communicator);
        if (!what.label.empty()) fmt::format_to(out, " ({})", what.label);
        text += ": ";
    } else if (named) {
        fmt::format_to(out, "on {}: ", what.communicator);
    }
    text += what.cause.empty() ? what.code.message() : what.cause;
    if (once && !what.label.empty() && what.cause.find(what.label) == std::string::npos) fmt::format_to(out, " ({})", what.label);
    if (what.total_bytes != 0) fmt::format_to(out, " after {} of {} bytes", what.done_bytes, what.total_bytes);
    return text;
}

failure::failure(report what) {
    auto text = to_string(what);
    state_ = std::make_shared<const state>(state{std::move(what), std::move(text)});
}

failure::failure(error code, std::string cause) : failure([&] {
    report what;
    what.code = code;
    what.cause = std::move(cause);
    return what;
}()) {}

std::error_code failure::code() const noexcept { return state_->what.code; }

}  // namespace tutti
