#include "transport/process_memory.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <random>
#include <utility>

namespace tutti {

void process_copy::advance(std::size_t bytes) noexcept {
    for (done_ += bytes; run_ < into_.size() && done_ >= into_[run_].size(); ++run_) done_ -= into_[run_].size();
}

std::error_code process_copy::take(std::uint64_t address, std::size_t bytes) noexcept {
    while (bytes > 0) {
        std::array<iovec, 16> targets;
        std::size_t count = 0, asked = 0;
        for (std::size_t at = run_, done = done_; at < into_.size() && count < targets.size() && asked < bytes; ++at, done = 0) {
            const std::size_t part = std::min(into_[at].size() - done, bytes - asked);
            targets[count++] = {into_[at].data() + done, part};
            asked += part;
        }
        const iovec source{reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), asked};
        const ssize_t copied = ::process_vm_readv(process_, targets.data(), count, &source, 1, 0);
        if (copied < 0) return {errno, std::system_category()};
        if (copied == 0) return std::make_error_code(std::errc::bad_address);
        address += static_cast<std::uint64_t>(copied);
        bytes -= static_cast<std::size_t>(copied);
        advance(static_cast<std::size_t>(copied));
    }
    return {};
}

process_memory::process_memory(int process, std::size_t from) : process_(process), from_(from) {
    if (from == no_single_copy) return;
    std::random_device source;
    proof_ = std::make_unique<const std::uint64_t>((std::uint64_t{source()} << 32 | source()) | 1);
}

void process_memory::offer(ring_state& out) const noexcept {
    if (from_ == no_single_copy) return;
    out.proof_at.store(reinterpret_cast<std::uintptr_t>(proof_.get()));
    out.proof.store(*proof_);
}

void process_memory::look_for_offer(ring_state& in) noexcept {
    if (std::exchange(looked_, true) || in.proof.load() == 0 || process_ <= 0) return;
    std::uint64_t found = 0;
    const std::span<std::byte> into[] = {std::as_writable_bytes(std::span(&found, 1))};
    const bool may = !process_copy(process_, into).take(in.proof_at.load(), sizeof found);
    if (may && found == in.proof.load()) in.fetches.store(1);
}

std::error_code process_memory::fetch(std::span<const reference> from, std::span<const std::span<std::byte>> into) const noexcept {
    process_copy copy(process_, into);
    for (const reference each : from)
        if (const auto why = copy.take(each.address(), each.bytes)) return why;
    return {};
}

}  // namespace tutti
