#include "handshake/greeting.hpp"

#include "transport/stream.hpp"

#include <tutti/when_all.hpp>

#include <fmt/format.h>

namespace tutti {
namespace {

task<result<reply>> introduce(link& over, hello who) {
    const auto bytes = encode(who);
    auto sent = co_await send_all(over, bytes);
    if (!sent) co_return sent.failure();
    std::array<std::byte, reply_bytes> answer{};
    auto came = co_await recv_all(over, answer);
    if (!came) co_return came.failure();
    auto heard = decode_reply(answer);
    if (!heard) co_return failure(error::protocol_error, fmt::format("{} answered with something else than a greeting", over.peer()));
    co_return std::move(*heard);
}

}  // namespace

failure not_opened(const hello& who, const std::string& address, const failure& reason) {
    report why = reason.details();
    why.operation = "connect";
    why.local = who.from;
    why.peers = {who.to};
    why.address = address;
    why.cause = fmt::format("rank {} could not be reached from rank {}: {}", who.to, who.from,
                            reason.details().cause.empty() ? reason.code().message() : reason.details().cause);
    return failure(std::move(why));
}

task<result<std::unique_ptr<link>>> open_link(transport& network, std::string address, hello who, time_point connected,
                                              time_point answered) {
    auto made = co_await network.connect(address, connected);
    if (!made) co_return not_opened(who, address, made.failure());
    auto greeting = greet(std::move(*made), std::move(address), who, answered);
    co_return co_await std::move(greeting);
}

task<result<std::unique_ptr<link>>> greet(std::unique_ptr<link> over, std::string address, hello who, time_point answered) {
    std::optional<failure> why;
    try {
        auto said = co_await with_deadline(introduce(*over, who), answered);
        if (!said) {
            why = said.failure();
        } else if (said->what == answer::welcome) {
            co_return std::move(over);
        } else if (said->what == answer::crossed) {
            co_return std::unique_ptr<link>();
        } else if (said->what == answer::stream) {
            report few;
            few.code = std::make_error_code(std::errc::too_many_files_open);
            few.cause = "it has few descriptors left, and takes a stream instead";
            why = failure(std::move(few));
        } else {
            why = failure(error::refused, fmt::format("it refused: {}", said->why));
        }
    } catch (const failure& caught) {
        why = caught;
    }
    co_return not_opened(who, address, *why);
}

task<result<hello>> hear_hello(link& over) {
    std::array<std::byte, hello_bytes> bytes{};
    auto came = co_await recv_all(over, bytes);
    if (!came) co_return came.failure();
    auto heard = decode_hello(bytes);
    if (const auto other = other_version(bytes))
        co_return failure(error::unsupported, fmt::format("it is another build of Tutti: it speaks version {} on the wire, you speak {}", wire_version, *other));
    if (!heard) co_return failure(error::protocol_error, "these bytes are no hello");
    co_return std::move(*heard);
}

task<result<>> send_reply(link& over, reply what) {
    const auto bytes = encode(what);
    co_return co_await send_all(over, bytes);
}

}  // namespace tutti
