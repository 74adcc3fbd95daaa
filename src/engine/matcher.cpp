#include "engine/matcher.hpp"

namespace tutti {
namespace {

constexpr std::size_t spare_limit = 1 * MiB;

message* first_for(const message_queue& among, rank source, message_tag tag) noexcept {
    for (message* each = among.first(); each; each = message_queue::after(*each))
        if (each->asked.matches(source, tag)) return each;
    return nullptr;
}

unexpected* first_with(const unexpected_queue& among, message_tag tag) noexcept {
    for (unexpected* each = among.first(); each; each = unexpected_queue::after(*each))
        if (tag == any_tag || each->what.tag == tag) return each;
    return nullptr;
}

}  // namespace

message* matcher::claim(rank source, message_tag tag) noexcept {
    message_queue& named = posted_[static_cast<std::size_t>(source)];
    message* found = first_for(named, source, tag);
    message* open = first_for(posted_any_, source, tag);
    if (!found || (open && open->call < found->call)) found = open;
    if (found) list_of(*found).remove(*found);
    return found;
}

unexpected& matcher::keep(const received& what, std::uint64_t number, std::size_t bytes) {
    if (free_.empty()) {
        free_.push_back(owned_.emplace_back(std::make_unique<unexpected>()).get());
        free_.reserve(owned_.capacity());
    }
    unexpected& one = *free_.back();
    free_.pop_back();
    spare_bytes_ -= one.capacity;
    one.what = what;
    one.number = number;
    one.arrival = ++arrivals_;
    one.offered = one.landed = false;
    one.bytes = bytes;
    if (one.capacity < bytes) {
        one.data = std::make_unique_for_overwrite<std::byte[]>(bytes);
        one.capacity = bytes;
    }
    one.taker = one.from = nullptr;
    shelf& at = kept_[static_cast<std::size_t>(what.source)];
    at.all.push(one);
    ++at.messages;
    at.bytes += bytes;
    return one;
}

unexpected* matcher::find(rank source, message_tag tag) const noexcept {
    if (source != any_source) return first_with(kept_[static_cast<std::size_t>(source)].all, tag);
    unexpected* found = nullptr;
    for (const shelf& each : kept_) {
        unexpected* one = first_with(each.all, tag);
        if (one && (!found || one->arrival < found->arrival)) found = one;
    }
    return found;
}

void matcher::take(unexpected& one) noexcept {
    shelf& at = kept_[static_cast<std::size_t>(one.what.source)];
    at.all.remove(one);
    --at.messages;
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
    if (source != any_source) return kept_[static_cast<std::size_t>(source)].messages;
    std::size_t all = 0;
    for (const shelf& each : kept_) all += each.messages;
    return all;
}

void matcher::clear() noexcept {
    posted_any_.clear();
    for (message_queue& each : posted_) each.clear();
    for (shelf& each : kept_) {
        while (!each.all.empty()) free(each.all.pop());
        each.messages = each.bytes = 0;
    }
}

}  // namespace tutti
