#include "engine/matcher.hpp"

namespace tutti {

static constexpr std::size_t spare_limit = 1 * MiB;  // of memory that freed messages keep for the next ones

static bool came_before(const unexpected& one, const unexpected& other) noexcept { return one.arrival < other.arrival; }

unexpected& matcher::keep(const received& what, std::uint64_t number, std::size_t bytes, std::uint64_t arrival) {
    if (free_.empty()) {
        free_.push_back(owned_.emplace_back(std::make_unique<unexpected>()).get());
        free_.reserve(owned_.capacity());
    }
    unexpected& one = *free_.back();
    free_.pop_back();
    spare_bytes_ -= one.capacity;
    one.what = what;
    one.number = number;
    one.arrival = arrival;
    one.offered = one.landed = one.unwanted = false;
    one.bytes = bytes;
    if (one.capacity < bytes) {
        one.data = std::make_unique_for_overwrite<std::byte[]>(bytes);
        one.capacity = bytes;
    }
    one.taker = one.from = nullptr;
    put_back(one);
    return one;
}

void matcher::put_back(unexpected& one) {
    shelf& at = kept_[static_cast<std::size_t>(one.what.source)];
    at.all.insert(one, came_before);
    by_key_.insert(one.what.source, one.what.tag, one, came_before);
    by_tag_.insert(any_source, one.what.tag, one, came_before);
    all_.insert(one, came_before);
    ++at.messages;
    ++messages_;
    at.bytes += one.bytes;
}

unexpected* matcher::find(rank source, message_tag tag) const noexcept {
    if (messages_ == 0) return nullptr;
    if (source != any_source && tag != any_tag) return by_key_.first(source, tag);
    if (source != any_source) return kept_[static_cast<std::size_t>(source)].all.first();
    return tag == any_tag ? all_.first() : by_tag_.first(any_source, tag);
}

void matcher::take(unexpected& one) noexcept {
    shelf& at = kept_[static_cast<std::size_t>(one.what.source)];
    at.all.remove(one);
    by_key_.remove(one.what.source, one.what.tag, one);
    by_tag_.remove(any_source, one.what.tag, one);
    all_.remove(one);
    --at.messages;
    --messages_;
    at.bytes -= one.bytes;
}

void matcher::free(unexpected& one) noexcept {
    if (spare_bytes_ + one.capacity > spare_limit) {
        one.data.reset();
        one.capacity = 0;
    }
    spare_bytes_ += one.capacity;
    free_.push_back(&one);
}

std::size_t matcher::kept_messages(rank source) const noexcept {
    return source == any_source ? messages_ : kept_[static_cast<std::size_t>(source)].messages;
}

void matcher::clear() noexcept {
    posted_.clear();
    by_key_.clear();
    by_tag_.clear();
    while (!all_.empty()) free(all_.pop());
    for (shelf& each : kept_) each = {};
    messages_ = 0;
}

}  // namespace tutti
