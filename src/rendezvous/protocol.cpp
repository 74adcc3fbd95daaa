#include "rendezvous/protocol.hpp"

#include "rendezvous/wire.hpp"

#include <tutti/store.hpp>

namespace tutti::protocol {
namespace {

std::string framed(wire_writer& body) {
    wire_writer whole;
    whole.text(body.bytes());
    return std::move(whole.bytes());
}

}  // namespace

std::string frame(const hello& who) {
    wire_writer body;
    body.text(who.job);
    body.u32(who.epoch);
    body.u32(static_cast<std::uint32_t>(who.me));
    body.u32(static_cast<std::uint32_t>(who.size));
    body.u64(who.ticket);
    return framed(body);
}

std::string frame(std::uint64_t id, const store_request& request) {
    wire_writer body;
    body.u64(id);
    body.u8(static_cast<std::uint8_t>(request.op));
    body.text(request.key);
    body.text(request.value);
    body.optional_text(request.expected);
    body.i64(request.delta);
    return framed(body);
}

std::string frame(std::uint64_t id, const store_reply& reply) {
    wire_writer body;
    body.u64(id);
    body.text(reply.value);
    body.i64(reply.number);
    body.u8(reply.refused);
    return framed(body);
}

std::optional<hello> parse_hello(std::string_view bytes) {
    wire_reader body(bytes);
    std::optional<hello> who(std::in_place);
    who->job = body.text();
    who->epoch = body.u32();
    who->me = static_cast<rank>(body.u32());
    who->size = static_cast<int>(body.u32());
    who->ticket = body.u64();
    return body.complete() && who->job.size() <= max_job_bytes ? who : std::nullopt;
}

std::optional<numbered_request> parse_request(std::string_view bytes) {
    wire_reader body(bytes);
    std::optional<numbered_request> asked(std::in_place);
    asked->id = body.u64();
    const std::uint8_t op = body.u8();
    store_request& request = asked->request;
    request.op = static_cast<store_op>(op);
    request.key = body.text();
    request.value = body.text();
    request.expected = body.optional_text();
    request.delta = body.i64();
    const bool known = op >= static_cast<std::uint8_t>(store_op::get) && op <= static_cast<std::uint8_t>(store_op::leave);
    const bool fits = request.key.size() <= store::max_key_bytes && request.value.size() <= store::max_value_bytes &&
                      (!request.expected || request.expected->size() <= store::max_value_bytes);
    return body.complete() && known && fits ? asked : std::nullopt;
}

std::optional<numbered_reply> parse_reply(std::string_view bytes) {
    wire_reader body(bytes);
    std::optional<numbered_reply> told(std::in_place);
    told->id = body.u64();
    told->reply.value = body.text();
    told->reply.number = body.i64();
    told->reply.refused = body.u8() != 0;
    return body.complete() ? told : std::nullopt;
}

}  // namespace tutti::protocol
