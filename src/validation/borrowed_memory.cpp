#include "validation/borrowed_memory.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>

namespace tutti::detail {

static bool meet(const borrowed& one, const borrowed& other) noexcept {
    const std::less<const std::byte*> before;
    return (one.written || other.written) && one.bytes > 0 && other.bytes > 0 && before(one.data, other.data + other.bytes) &&
           before(other.data, one.data + one.bytes);
}

std::optional<std::string> borrowed_memory::conflict(std::span<const borrowed> pieces) const {
    for (const entry* each : entries_)
        for (const borrowed& theirs : each->pieces())
            for (const borrowed& ours : pieces)
                if (meet(theirs, ours)) return each->call();
    return std::nullopt;
}

std::uint64_t borrowed_memory::calls() const {
    const std::lock_guard lock(guard_);
    return calls_;
}

void borrowed_memory::synced(const void* communicator, std::uint64_t number) {
    const std::lock_guard lock(guard_);
    std::uint64_t& last = synced_[communicator];
    last = std::max(last, number);
}

bool borrowed_memory::is_synced(const void* communicator, std::uint64_t number) const {
    const std::lock_guard lock(guard_);
    const auto last = synced_.find(communicator);
    return last != synced_.end() && number <= last->second;
}

borrowed_memory::entry::entry(std::shared_ptr<borrowed_memory> in, std::vector<borrowed> pieces, std::string call)
    : in_(std::move(in)), pieces_(std::move(pieces)), call_(std::move(call)) {
    const std::lock_guard lock(in_->guard_);
    number_ = ++in_->calls_;
    conflict_ = in_->conflict(pieces_);
    place_ = in_->entries_.insert(in_->entries_.end(), this);
}

borrowed_memory::entry::~entry() {
    const std::lock_guard lock(in_->guard_);
    in_->entries_.erase(place_);
}

private_memory::private_memory(std::span<const borrowed> pieces) {
    std::vector<borrowed> sorted;
    for (const borrowed& each : pieces) {
        if (each.bytes > 0) sorted.push_back(each);
        if (each.bytes > 0 && each.written) written_.push_back(each);
    }
    const std::less<const std::byte*> before;
    std::sort(sorted.begin(), sorted.end(), [before](const borrowed& one, const borrowed& other) { return before(one.data, other.data); });
    for (const borrowed& each : sorted) {
        std::byte* const end = each.data + each.bytes;
        if (!regions_.empty() && before(each.data, regions_.back().theirs + regions_.back().bytes)) {
            region& last = regions_.back();
            last.bytes = std::max(last.bytes, static_cast<std::size_t>(end - last.theirs));
        } else {
            regions_.push_back({each.data, each.bytes, nullptr, 0});
        }
    }
    for (region& each : regions_) {
        each.copy = std::make_unique_for_overwrite<std::byte[]>(each.bytes);
        std::memcpy(each.copy.get(), each.theirs, each.bytes);
        each.digest = digest_of(each.copy.get(), each.bytes);
    }
}

std::size_t private_memory::digest_of(const std::byte* data, std::size_t bytes) noexcept {
    return std::hash<std::string_view>()(std::string_view(reinterpret_cast<const char*>(data), bytes));
}

void* private_memory::at(const void* theirs) const noexcept {
    const std::less<const std::byte*> before;
    auto* const wanted = static_cast<std::byte*>(const_cast<void*>(theirs));
    for (const region& each : regions_)
        if (!before(wanted, each.theirs) && before(wanted, each.theirs + each.bytes)) return each.copy.get() + (wanted - each.theirs);
    return wanted;
}

bool private_memory::untouched() const noexcept {
    return std::all_of(regions_.begin(), regions_.end(), [](const region& each) { return digest_of(each.theirs, each.bytes) == each.digest; });
}

void private_memory::give_back() const noexcept {
    for (const borrowed& each : written_) std::memcpy(each.data, at(each.data), each.bytes);
}

}  // namespace tutti::detail
