// Buckets on their way: each leaves when it is full and all before it have left, is watched to its end by the thread that ends it, and
// the time in which any of them is under way is taken. What a bucket is, and what carries it, is not known here.
#pragma once

#include <tutti/future.hpp>
#include <tutti/reducer.hpp>

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace tutti {

/// Of the ranks' plans.
struct plan_comparison {
    future<> end;
    /// What it works on. With that it goes on to its end when the pipeline is gone, and keeps this until then; without, it is given up.
    std::shared_ptr<const void> memory = nullptr;
};

/// What carries buckets. Called with the pipeline's guard held, except for give_up.
class bucket_carrier {
public:
    /// Called once, by the pipeline's constructor.
    virtual plan_comparison compare() = 0;
    /// Ends, never well, when nothing can be carried any more; empty: the comparison and the buckets tell that themselves. Called once.
    virtual future<> end() { return {}; }
    /// When the comparison has ended well: whether all are the same.
    virtual bool agreed() const noexcept = 0;
    /// The bucket leaves: ends when it has landed.
    virtual future<> leave(std::size_t bucket) = 0;
    /// Of a bucket that has left before its memory is complete: ends when it is. Empty: it is complete.
    virtual future<> completion(std::size_t) { return {}; }
    /// All buckets have landed well: how long at least one was under way, and for how long of that nothing more was to be completed.
    virtual void landed(duration busy, duration exposed) noexcept = 0;
    /// Nobody waits any more. Whether this ends what is under way; otherwise it is cancelled one by one.
    virtual bool give_up() noexcept { return false; }

protected:
    ~bucket_carrier() = default;
};

class bucket_pipeline final {
public:
    /// Nothing leaves before the plans have been compared and are the same on all ranks; the comparison is issued here.
    bucket_pipeline(bucket_carrier& with, std::size_t buckets, std::size_t live);
    bucket_pipeline(const bucket_pipeline&) = delete;
    bucket_pipeline& operator=(const bucket_pipeline&) = delete;
    /// Gives up the buckets under way.
    ~bucket_pipeline();

    /// The bucket's memory is complete, or what makes it complete has been issued. One thread at a time.
    void full(std::size_t bucket);
    /// Until the plans have been compared.
    task<> compared();
    /// Until all buckets have left, or nothing will leave after a failure or disagreement.
    task<> left();
    /// Until all buckets have ended, or nothing is under way after a failure or disagreement. When who awaits this or `left` cancels, the
    /// communicator ends.
    task<> landed();

    // After landed(), or left().
    std::optional<failure> why() const;
    /// Before the next step, in which a bucket leaves when it has landed in this one.
    void renew();

private:
    enum class goal : std::uint8_t { none, compared, left, landed };
    struct bucket_state;

    /// One end that is waited for; called by the thread on which it comes.
    class watcher final : public detail::runnable {
    public:
        explicit watcher(bucket_pipeline& owner, bucket_state* of = nullptr) noexcept : owner_(owner), of_(of) {}
        ~watcher();
        void start(future<> what) noexcept;
        void cancel() noexcept;
        bool pending() const noexcept { return state_ && !ended_; }
        /// The end was seen at the start already: run() is not called.
        bool missed() const noexcept { return state_ && !watched_; }
        const failure* why() const noexcept { return state_->why(); }
        /// True once after each start.
        bool note_end() noexcept { return !std::exchange(ended_, true); }
        bucket_state* of() const noexcept { return of_; }
        /// After the end: nobody is inside of run() any more.
        void forget() noexcept;
        /// It goes on without the pipeline, and has `memory` until it has ended.
        void leave(std::shared_ptr<const void> memory);

    private:
        void run() noexcept override { owner_.ended(*this); }

        bucket_pipeline& owner_;
        bucket_state* const of_;
        detail::state_reference state_;
        bool watched_ = false;
        bool ended_ = false;
    };

    struct bucket_state {
        explicit bucket_state(bucket_pipeline& owner) : completing(owner, this), under_way(owner, this) {}
        watcher completing, under_way;
        bool full = false;
        bool moving = false;  // complete and not landed
        bool landed = false;
    };

    /// What the awaiter waits for: ends when the goal is reached.
    class gate final : public detail::future_state {
    public:
        explicit gate(bucket_pipeline& owner) noexcept : owner_(owner) {}
        void close() noexcept { renew(); }
        void open() noexcept;
        void cancel() noexcept override { owner_.cancel(); }
        void abandon() noexcept override { owner_.cancel(); }
        void explain(detail::explanation& out) const override { owner_.explain(out); }

    private:
        void recycle() noexcept override {}
        bucket_pipeline& owner_;
    };

    task<> until(goal what);
    bool wait_needed(goal what);
    void cancel() noexcept;
    void explain(detail::explanation& out) const;
    void ended(watcher& which) noexcept;
    void open() noexcept;
    /// Returns when nobody is opening the gate any more; who waited for that may already have gone on.
    void settle() const noexcept;

    // With the guard held.
    bool reached(goal what) const noexcept;
    void note_end(watcher& which) noexcept;
    void note_complete(bucket_state& which) noexcept;
    void note_landed(bucket_state& which) noexcept;
    void launch();
    /// Whether what is waited for has been reached just now: then the gate is to be opened, without the guard.
    bool opens_now() noexcept;

    bucket_carrier& with_;
    const std::size_t most_;  // under way

    mutable std::mutex guard_;
    std::size_t next_ = 0;    // bucket to leave
    std::size_t live_ = 0;    // left and not ended
    std::size_t moving_ = 0;  // of these, complete
    std::size_t ended_ = 0;   // in the step whose buckets end now
    bool compared_ = false;
    bool agreed_ = false;
    bool cancelled_ = false;  // one by one
    bool closed_ = false;
    bool over_ = false;  // nothing can be carried any more
    std::optional<failure> why_;
    bool vague_ = false;      // a bucket can say it better
    goal goal_ = goal::none;  // that somebody waits for
    std::atomic<bool> opening_{false};
    time_point busy_since_{};
    time_point completed_{};  // the last bucket of these
    duration busy_{};

    gate gate_{*this};
    std::shared_ptr<const void> compared_memory_;
    watcher comparing_{*this};
    watcher ending_{*this};
    std::deque<bucket_state> buckets_;  // by bucket
};

/// Of the loop that this thread runs, if any.
time_point current_time() noexcept;

}  // namespace tutti
