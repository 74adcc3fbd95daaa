#include "engine/message.hpp"

#include "engine/engine.hpp"

#include <fmt/format.h>

namespace tutti {

message_call call_of(const transfer& part) noexcept {
    message_call what;
    what.what = part.sends ? message_call::kind::send : message_call::kind::recv;
    what.type = part.sends ? part.from.type : part.to.type;
    if (what.type == data_type::opaque) what.opaque_bytes = part.sends ? part.from.opaque_bytes : part.to.opaque_bytes;
    what.peer = part.peer;
    what.tag = part.tag;
    what.count = part.sends ? part.from.count : part.to.count;
    what.memory = static_cast<std::byte*>(part.sends ? const_cast<void*>(part.from.data) : part.to.data);
    what.told = part.told;
    return what;
}

message_call probe_of(rank from, message_tag tag) noexcept {
    message_call what;
    what.what = message_call::kind::probe;
    what.peer = from;
    what.tag = tag;
    return what;
}

message_call exchange_of(std::size_t parts) noexcept {
    message_call what;
    what.count = parts;
    return what;
}

std::string to_string(const message_call& what) {
    using enum message_call::kind;
    std::string type(name(what.type));
    if (what.type == data_type::opaque) type = fmt::format("opaque({} bytes)", what.opaque_bytes);
    if (what.what == exchange) return fmt::format("exchange of {} messages", what.count);
    if (what.what == send) return fmt::format("send {} count {} to rank {} tag {}", type, what.count, what.peer, what.tag);
    std::string text = what.what == probe ? "probe" : fmt::format("recv {} count {}", type, what.count);
    const auto out = std::back_inserter(text);
    if (what.peer == any_source) text += " from any rank";
    else fmt::format_to(out, " from rank {}", what.peer);
    if (what.tag == any_tag) text += " with any tag";
    else fmt::format_to(out, " tag {}", what.tag);
    return text;
}

void message::begin(std::shared_ptr<engine> keeper, messenger& owner, const message_call& asking) {
    keeper_ = std::move(keeper);
    owner_ = &owner;
    asked = asking;
    what = {};
    renew();
    number = 0;
    done_bytes = 0;
    slice = 0;
    queued = timed = ended = false;
    failed.reset();
    over = nullptr;
    by = nullptr;
    whole = parts = next_part = nullptr;
    open_parts = 0;
}

std::size_t message::total_bytes() const noexcept {
    using enum message_call::kind;
    if (asked.what == send) return asked.bytes();
    if (asked.what == recv) return matched() ? what.bytes() : asked.bytes();
    std::size_t all = 0;
    for (const message* each = parts; each; each = each->next_part) all += each->total_bytes();
    return all;
}

void message::gather(std::vector<std::span<const std::byte>>& runs) const {
    if (head.payload_bytes > 0) runs.emplace_back(asked.memory, asked.bytes());
}

void message::sent() noexcept { over->sent(*this); }

void message::cancel() noexcept { owner_->cancel(*this, "it was cancelled"); }
void message::abandon() noexcept { owner_->cancel(*this, "its future was dropped before the end"); }
void message::overdue() noexcept { owner_->overdue(*this); }

void message::recycle() noexcept {
    const auto keeper = std::move(keeper_);
    owner_->take_back(*this);
}

}  // namespace tutti
