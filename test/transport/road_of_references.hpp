// Two lanes over shared memory, of which one side lends, and what it lends: for the tests of lending and of answers.
#pragma once

#include "road.hpp"
#include "stage.hpp"
#include "transport/near_link.hpp"
#include "transport/shm_link.hpp"
#include "transport/staging_buffers.hpp"

#include <functional>
#include <optional>

namespace tutti::test {

/// A frame whose payload lies in an arena.
class lent final : public outgoing {
public:
    lent(arena& from, std::uint64_t sequence, const bytes& what) : from_(from), memory_(from.allocate(what.size()), what.size()) {
        std::copy(what.begin(), what.end(), memory_.begin());
        head.sequence = sequence;
        head.payload_bytes = what.size();
    }
    ~lent() { from_.free(memory_.data(), memory_.size()); }
    void gather(std::vector<std::span<const std::byte>>& runs) const override {
        runs.push_back(memory_.first(memory_.size() / 2));
        runs.push_back(memory_.subspan(memory_.size() / 2));
    }
    void sent() noexcept override { ++times_sent; }
    bytes now() const { return bytes(memory_.begin(), memory_.end()); }
    const std::byte* data() const noexcept { return memory_.data(); }

    int times_sent = 0;

private:
    arena& from_;
    std::span<std::byte> memory_;
};

/// A link within a host that can be told to send no more, and what to say of the cores.
class told_link final : public tutti::link, private near_link {
public:
    explicit told_link(std::unique_ptr<tutti::link> over) : over_(std::move(over)), near_(over_->near()) {}

    moved try_send(std::span<const std::span<const std::byte>> parts) noexcept override {
        return broken ? moved{0, error::system} : over_->try_send(parts);
    }
    moved try_recv(std::span<const std::span<std::byte>> parts) noexcept override { return over_->try_recv(parts); }
    void when_readable(tutti::detail::runnable& work) noexcept override { over_->when_readable(work); }
    void when_writable(tutti::detail::runnable& work) noexcept override { over_->when_writable(work); }
    void close() noexcept override { over_->close(); }
    near_link* near() noexcept override { return this; }
    std::string peer() const override { return over_->peer(); }

    bool broken = false;
    std::optional<bool> alone;      // each side has a core of its own
    std::function<void()> no_cell;  // called when none has been found

private:
    moved peek(std::span<const std::byte>& run) noexcept override { return near_->peek(run); }
    void skip(std::size_t count) noexcept override { near_->skip(count); }
    moved recv_past_caches(std::span<const std::span<std::byte>> parts) noexcept override { return near_->recv_past_caches(parts); }
    bool send_cell(const frame& head, std::span<const std::span<const std::byte>> behind) noexcept override {
        return !broken && near_->send_cell(head, behind);
    }
    bool take_cell(frame& head, cell_contents& behind) noexcept override {
        const bool found = near_->take_cell(head, behind);
        if (!found && no_cell) no_cell();
        return found;
    }
    void when_cell(tutti::detail::runnable& work) noexcept override { near_->when_cell(work); }
    bool end_wait() noexcept override { return near_->end_wait(); }
    bool undisturbed() const noexcept override { return alone.value_or(near_->undisturbed()); }
    std::span<std::byte> spare() noexcept override { return near_->spare(); }
    std::optional<reference> locate(std::span<const std::byte> run) noexcept override { return near_->locate(run); }
    std::uint64_t returned() noexcept override { return near_->returned(); }
    void when_returned(std::uint64_t seen, tutti::detail::runnable& work) noexcept override { near_->when_returned(seen, work); }
    std::span<std::byte> borrow(reference what) noexcept override { return near_->borrow(what); }
    std::error_code trouble() const noexcept override { return broken ? make_error_code(error::system) : near_->trouble(); }
    void give_back() noexcept override { near_->give_back(); }
    bool begin_writing() noexcept override { return near_->begin_writing(); }
    void end_writing() noexcept override { near_->end_writing(); }
    bool write_back(std::span<const reference> where, std::span<const std::span<const std::byte>> what) noexcept override {
        return near_->write_back(where, what);
    }
    void revoke() noexcept override { near_->revoke(); }
    bool revoked() const noexcept override { return near_->revoked(); }

    const std::unique_ptr<tutti::link> over_;
    near_link* const near_;
};

/// Two lanes over shared memory, of which one side lends.
struct road_of_references {
    road_of_references() {
        const auto client = std::move(shm_transport::listen(loop, mine)).value();
        const auto server = std::move(shm_transport::listen(loop)).value();
        auto both = run(loop, open(loop, *client, *server));
        auto one = std::make_unique<told_link>(std::move(both.one)), other = std::make_unique<told_link>(std::move(both.other));
        near_end = one.get();
        far_end = other.get();
        way = std::make_unique<road>(loop, std::move(one), std::move(other));
    }
    void send(outgoing& one) {
        const std::lock_guard lock(way->guard);
        way->near.send(one);
        way->near.flush();
    }
    void send_back(outgoing& one) {
        const std::lock_guard lock(way->guard);
        way->far.send(one);
        way->far.flush();
    }
    /// Runs the loop a little longer than anything here takes.
    void settle() { run(loop, a_while()); }

    event_loop loop;
    std::shared_ptr<arena> mine = std::make_shared<arena>(true);
    told_link* near_end = nullptr;
    told_link* far_end = nullptr;
    std::unique_ptr<road> way;
};

}  // namespace tutti::test
