// Failures: a code for programs, a sentence for people.
#pragma once

#include <tutti/detail/compiler.hpp>
#include <tutti/types.hpp>

#include <exception>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace [[gnu::visibility("default")]] tutti {

/// Error codes. The numbers go over the wire and into files: new codes are only appended.
enum class error {
    cancelled = 1,           // a scope, a deadline around the await, or a dropped future ended it
    timed_out = 2,           // a deadline passed
    rendezvous_timeout = 3,  // the group did not come together in time
    peer_died = 4,           // a rank's process or link ended without a goodbye
    peer_left = 5,           // a rank left while others still waited for it
    aborted = 6,             // abort() was called on some rank
    mismatch = 7,            // ranks disagree about the operation: order, kind, type, operator, count, root or buckets
    protocol_error = 8,      // bytes that no correct peer sends
    refused = 9,             // a handshake was refused with a reason, or the peer did not listen
    invalid_argument = 10,   // found before anything was sent
    unsupported = 11,        // this build or this type and operator cannot do it
    closed = 12,             // the communicator, store or transport was closed before, or belongs to the process that forked this one
    bad_launch = 13,         // the environment contradicts itself about this process's rank, or does not say
    system = 14,             // the operating system refused; the cause says what
    device_failed = 15,      // a GPU or its driver refused or faulted; the cause says what
    truncated = 16,          // a message was longer than its receive's buffer; only that receive failed
};

/// Returns the category of these codes, and a std::error_code of one of them.
TUTTI_API const std::error_category& error_category() noexcept;
TUTTI_API std::error_code make_error_code(error code) noexcept;

/// Everything known about a failure. Fields that do not apply are empty, or -1.
struct report {
    std::error_code code{};
    std::string operation{};    // "all_reduce f32 sum count 1024", "connect"
    std::uint64_t sequence = 0;  // the operation's place in its communicator, from 1; 0: none
    std::string communicator{};  // "world"
    std::uint32_t epoch = 0;
    rank local = -1;            // the rank that reports
    std::vector<rank> peers{};  // the ranks involved
    std::string address{};      // of the peer
    rank root = -1;             // the rank that failed first
    std::uint64_t done_bytes = 0;
    std::uint64_t total_bytes = 0;
    duration elapsed{};
    std::string cause{};  // one sentence: what happened and what was expected
    std::string label{};  // the caller's name for the operation
};

/// One line for people: "rank 3: all_reduce f32 sum count 4 #17: peer 1 died (connection reset)".
TUTTI_API std::string to_string(const report& what);

/// A failure as a value, and as the exception that `co_await` throws. Cheap to copy. The class has default visibility, so that programs
/// which hide their own symbols can catch it.
class [[gnu::visibility("default")]] failure : public std::exception {
public:
    explicit failure(report what);
    failure(error code, std::string cause);
    failure(const failure&) noexcept = default;  // no move: a moved-from failure keeps its report
    failure& operator=(const failure&) noexcept = default;

    std::error_code code() const noexcept;
    const report& details() const noexcept { return state_->what; }
    const char* what() const noexcept override { return state_->text.c_str(); }

private:
    struct state {
        report what;
        std::string text;
    };
    std::shared_ptr<const state> state_;
};

}  // namespace tutti

template <>
struct std::is_error_code_enum<tutti::error> : std::true_type {};
