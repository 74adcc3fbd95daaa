// The inside of a context: loop, thread, transport and link acceptor. Groups share it, so it outlives the last communicator.
#pragma once

#include "algorithm/catalogue.hpp"
#include "base/process.hpp"
#include "base/quiet_thread.hpp"
#include "handshake/link_acceptor.hpp"
#include "handshake/multiplexed_links.hpp"
#include "runtime/background.hpp"
#include "runtime/dependent.hpp"
#include "runtime/mailbox.hpp"
#include "transport/arena.hpp"
#include "validation/borrowed_memory.hpp"

#include <tutti/context_options.hpp>
#include <tutti/future.hpp>
#include <tutti/shared_array.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace tutti::detail {

/// A loop with a thread that runs it for as long as it lives: for lanes that are spread over context_options::threads.
class progress_thread {
public:
    progress_thread() : thread_([this] { loop_.run(); }) {}
    ~progress_thread() {
        loop_.stop();
        thread_.join();
    }
    event_loop& loop() noexcept { return loop_; }

private:
    event_loop loop_;
    quiet_thread thread_;
};

class group;

/// Owns the progress loop and its thread (or borrows a user's loop), the transport, the link acceptor, the multiplexed links and the arena.
/// `context` makes it and stops it; every group holds it by a shared_ptr. join, split and spawn reach its loop by send(). Members below "On
/// the loop" are used there only. It never blocks on a peer: stop() waits for the loop's current turn only.
class [[gnu::visibility("hidden")]] context_state : public std::enable_shared_from_this<context_state> {
public:
    explicit context_state(context_options options);
    context_state(event_loop& progress, std::unique_ptr<transport> network, context_options options);
    ~context_state();

    event_loop& loop() noexcept { return *loop_; }
    /// The process that made it. A process that was forked since leaves it alone.
    const birthplace& made() const noexcept { return made_; }
    void check_process() const {
        if (!made_.here()) throw made_.foreign("context");
    }
    /// Returns the loops of the threads beyond the first. They run for as long as groups do.
    std::vector<event_loop*> further_loops();
    bool embedded() const noexcept { return !own_loop_; }
    const context_options& options() const noexcept { return options_; }
    /// Returns the book of borrowed memory in the checking mode, else null.
    const std::shared_ptr<borrowed_memory>& borrowed() const noexcept { return borrowed_; }
    /// Names algorithms that groups take whatever they cost. Called before joining, with the same list on all ranks.
    void force(std::vector<const algorithm*> which) { forced_ = std::move(which); }
    const std::vector<const algorithm*>& forced() const noexcept { return forced_; }
    /// Any thread: runs the letter on the loop, or returns false when the loop takes no more.
    bool send(std::function<void()> letter) { return made_.here() && letters_.send(std::move(letter)); }

    /// Any thread: allocates memory that the ranks of this host can read, or ordinary memory where that is impossible.
    arena_memory allocate(std::size_t bytes);

    // On the loop.
    /// Returns the transport, and opens it at `address` the first time; later calls ignore the address.
    transport& network(const std::string& address);
    bool has_network() const noexcept { return network_ != nullptr; }
    /// Returns whether the transport is made here, not given by the user: only then its properties are known.
    bool own_network() const noexcept { return own_network_; }
    link_acceptor& acceptor() noexcept { return *acceptor_; }
    class multiplexed_links& multiplexed_links() noexcept { return *multiplexed_links_; }
    /// Sends a notice to the user: something works, but not as well as it might.
    void tell(const std::string& sentence) const;
    background& work() noexcept { return work_; }
    /// The number of rank 0's last call that a join of this job has answered here; a later join knows by it what is old in the store.
    std::uint64_t& last_call(std::uint64_t job) { return last_calls_[job]; }
    void add(group& which) { groups_.push_back(&which); }
    void remove(group& which, link_destination& guest) noexcept;
    const std::vector<group*>& groups() const noexcept { return groups_; }

    /// Ends all groups, and blocks only until the loop's current turn is over. Any thread but the loop's own; on a user's
    /// loop: there, or when no thread runs it.
    void stop() noexcept;
    bool stopped() const noexcept { return stopped_; }

private:
    /// Stops a context whose loop, or the host of that, is destroyed first.
    class end_with_loop final : dependent {
    public:
        end_with_loop(event_loop& loop, context_state& of) : dependent(loop), of_(of) {}

    private:
        void loop_goes() noexcept override { of_.stop(); }

        context_state& of_;
    };

    void end_all() noexcept;

    const birthplace made_;
    const context_options options_;
    const std::shared_ptr<borrowed_memory> borrowed_ = options_.check ? std::make_shared<borrowed_memory>() : nullptr;
    const std::shared_ptr<arena> arena_;
    std::atomic<bool> told_of_arena_{false};
    std::vector<const algorithm*> forced_;
    std::vector<std::unique_ptr<progress_thread>> further_;
    std::unique_ptr<event_loop> own_loop_;  // null where the user gave a loop
    event_loop* loop_;
    const bool own_network_ = true;
    std::unique_ptr<transport> network_;
    std::unique_ptr<link_acceptor> acceptor_;
    std::unique_ptr<class multiplexed_links> multiplexed_links_;
    std::vector<group*> groups_;
    std::map<std::uint64_t, std::uint64_t> last_calls_;
    mailbox letters_;
    background work_;
    std::atomic<bool> stopped_{false};
    std::optional<end_with_loop> with_loop_;  // only where the user gave the loop
    quiet_thread thread_;                     // last: it runs the loop as soon as it is made
};

}  // namespace tutti::detail
