// Buckets on their way: each leaves when it is full and all before it have left, is watched to its end by the thread that ends it, and
// the time in which any of them is under way is taken.
#pragma once

#include "communicator/agreement.hpp"
#include "communicator/bucket.hpp"

#include <tutti/future.hpp>
#include <tutti/reducer.hpp>

#include <deque>
#include <mutex>
#include <optional>

namespace tutti {

class flight final {
public:
    /// Nothing leaves before `plans` have been compared and are the same on all ranks; the comparison is issued here.
    flight(communicator& over, std::span<const bucket> buckets, const reducer_options& how, agreement& plans);
    flight(const flight&) = delete;
    flight& operator=(const flight&) = delete;
    /// Gives up what is under way.
    ~flight();

    std::byte* memory(std::size_t bucket) const noexcept { return legs_[bucket].memory.data(); }
    /// The bucket's memory is complete. One thread at a time.
    void full(std::size_t bucket);
    /// Until the plans have been compared.
    task<> compared();
    /// Until all buckets have ended, or nothing is under way after a failure or disagreement. The awaiter's cancellation ends the
    /// communicator.
    task<> landed();

    // After landed().
    std::optional<failure> why() const;
    duration busy() const;
    /// Before the next step.
    void renew();

private:
    enum class goal : std::uint8_t { none, compared, landed };

    /// One operation under way; called by the thread that ends it.
    class watcher final : public detail::runnable {
    public:
        explicit watcher(flight& owner) noexcept : owner_(owner) {}
        ~watcher();
        void start(future<> what) noexcept;
        void cancel() noexcept;
        bool done() const noexcept { return state_ && state_->done(); }
        /// The end was seen at the start already: run() is not called.
        bool missed() const noexcept { return state_ && !watched_; }
        const failure* why() const noexcept { return state_->why(); }
        /// After the end: nobody is inside of run() any more.
        void forget() noexcept;

    private:
        void run() noexcept override { owner_.ended(*this); }

        flight& owner_;
        detail::state_reference state_;
        bool watched_ = false;
    };

    struct leg {
        leg(flight& owner, std::size_t bytes, std::string called) : memory(bytes), label(std::move(called)), under_way(owner) {}
        bucket_memory memory;
        std::string label;
        watcher under_way;
        bool full = false;
    };

    /// What the awaiter waits for: ends when the goal is reached.
    class gate final : public detail::future_state {
    public:
        explicit gate(flight& owner) noexcept : owner_(owner) {}
        void close() noexcept { renew(); }
        void open() noexcept;
        void cancel() noexcept override { owner_.cancel(); }
        void abandon() noexcept override { owner_.cancel(); }
        void explain(detail::explanation& out) const override { owner_.explain(out); }

    private:
        void recycle() noexcept override {}
        flight& owner_;
    };

    task<> until(goal what);
    bool wait_needed(goal what);
    void cancel() noexcept;
    void explain(detail::explanation& out) const;
    void ended(const watcher& which) noexcept;

    // With the guard held.
    bool reached(goal what) const noexcept;
    void note_end(const watcher& which) noexcept;
    void launch();

    communicator& over_;
    const std::span<const bucket> buckets_;
    const reducer_options how_;
    agreement& plans_;

    mutable std::mutex guard_;
    std::size_t next_ = 0;  // bucket to leave
    std::size_t live_ = 0;  // left and not ended
    bool compared_ = false;
    bool agreed_ = false;
    bool cancelled_ = false;
    bool closed_ = false;
    std::optional<failure> why_;
    goal goal_ = goal::none;  // that somebody waits for
    time_point busy_since_{};
    duration busy_{};

    gate gate_{*this};
    watcher comparing_{*this};
    std::deque<leg> legs_;  // by bucket
};

/// Of the loop that this thread runs, if any.
time_point current_time() noexcept;

}  // namespace tutti
