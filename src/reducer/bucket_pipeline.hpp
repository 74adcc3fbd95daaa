// Buckets of gradients on their way. A bucket leaves when it is full and all before it have left, so all ranks issue them in the same
// order. The pipeline also measures for how long any bucket is under way. It does not know what a bucket is, nor what carries it.
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

/// The comparison of the ranks' plans, which the carrier has begun.
struct plan_comparison {
    future<> end;
    /// The memory of the comparison. With it, the comparison outlives the pipeline and keeps the memory until its end; without, it is given
    /// up.
    std::shared_ptr<const void> memory = nullptr;
};

/// Carries the buckets: a reducer of the host, or one of devices. Called with the pipeline's guard held, except compare(), end() and
/// give_up().
class bucket_carrier {
public:
    /// Called once, by the pipeline's constructor.
    virtual plan_comparison compare() = 0;
    /// Returns a future that fails when nothing can be carried any more, or an empty one if the comparison and the buckets report that
    /// themselves. Called once.
    virtual future<> end() { return {}; }
    /// After a comparison that ended well: returns whether all plans are the same.
    virtual bool agreed() const noexcept = 0;
    /// Issues the bucket. The future ends when the bucket has landed.
    virtual future<> leave(std::size_t bucket) = 0;
    /// Returns a future that ends when the bucket's memory is complete, for a bucket that leaves before that; empty if it is complete.
    virtual future<> completion(std::size_t) { return {}; }
    /// All buckets of a step have landed well. `busy`: how long at least one was under way; `exposed`: how long after the last was
    /// complete.
    virtual void landed(duration busy, duration exposed) noexcept = 0;
    /// The awaiter has cancelled. Returns whether this ends everything under way; if not, the pipeline cancels each bucket.
    virtual bool give_up() noexcept { return false; }

protected:
    ~bucket_carrier() = default;
};

/// Owns the state of each bucket and the futures of the operations under way. A reducer makes it, calls full() on the thread of its
/// backward pass, and awaits left() or landed() on its loop. Ends come on the threads that end the operations (watcher::run), and launch
/// the next buckets there. All state is under `guard_`. The pipeline never touches the memory of a bucket.
///
///             full()           launch()             completion()            leave()'s end
///   filling ---------> full --------------> left ----------------> moving ----------------> landed
///      ^                    in order, while                                                    |
///      |                    live_ < most_                                                      |
///      +------------------------ renew(), for the next step -----------------------------------+
///
/// A bucket whose carrier has no completion() is moving as soon as it has left. After a failure (`why_`) or a disagreement no further
/// bucket leaves. The destructor gives up the buckets under way, but not a comparison that has memory of its own.
class bucket_pipeline final {
public:
    /// Issues the comparison of the plans; no bucket leaves before it has found them equal. At most `live` buckets are under way.
    bucket_pipeline(bucket_carrier& with, std::size_t buckets, std::size_t live);
    bucket_pipeline(const bucket_pipeline&) = delete;
    bucket_pipeline& operator=(const bucket_pipeline&) = delete;
    /// Gives up the buckets under way.
    ~bucket_pipeline();

    /// The bucket's memory is complete, or the work that completes it has been issued. One thread at a time.
    void full(std::size_t bucket);
    /// Returns when the plans have been compared.
    task<> compared();
    /// Returns when all buckets have left, or none will leave after a failure or disagreement.
    task<> left();
    /// Returns when all buckets have ended, or none is under way after a failure or disagreement. Cancelling this or left() fails the
    /// communicator.
    task<> landed();

    // After landed() or left().
    std::optional<failure> why() const;
    /// Begins the next step, in which a bucket leaves once it has landed in this one.
    void renew();

private:
    enum class goal : std::uint8_t { none, compared, left, landed };
    struct bucket_state;

    /// Waits for the end of one future; run() is called by the thread that ends it.
    class watcher final : public detail::runnable {
    public:
        explicit watcher(bucket_pipeline& owner, bucket_state* of = nullptr) noexcept : owner_(owner), of_(of) {}
        ~watcher();
        void start(future<> what) noexcept;
        void cancel() noexcept;
        bool pending() const noexcept { return state_ && !ended_; }
        /// Returns whether the future had ended at the start, so that run() is not called.
        bool missed() const noexcept { return state_ && !watched_; }
        const failure* why() const noexcept { return state_->why(); }
        /// True once after each start.
        bool note_end() noexcept { return !std::exchange(ended_, true); }
        bucket_state* of() const noexcept { return of_; }
        /// Lets go of the future if it has ended, and returns when no thread is inside of run().
        void forget() noexcept;
        /// Lets the operation go on without the pipeline; `memory` lives until its end.
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

    /// The future state of the one awaiter: it ends when the goal is reached.
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
    /// Returns when no thread is opening the gate. The awaiter may have gone on before that, and must not destroy or close the gate yet.
    void settle() const noexcept;

    // With the guard held.
    bool reached(goal what) const noexcept;
    void note_end(watcher& which) noexcept;
    void note_complete(bucket_state& which) noexcept;
    void note_landed(bucket_state& which) noexcept;
    void launch();
    /// Returns whether the goal has just been reached. The caller then opens the gate, after it has released the guard.
    bool opens_now() noexcept;

    bucket_carrier& with_;
    const std::size_t most_;  // buckets under way

    mutable std::mutex guard_;
    std::size_t next_ = 0;    // the bucket that leaves next
    std::size_t live_ = 0;    // buckets that have left and not ended
    std::size_t moving_ = 0;  // of these, the complete ones
    std::size_t ended_ = 0;   // buckets that have ended, in the step whose buckets end
    bool compared_ = false;
    bool agreed_ = false;
    bool cancelled_ = false;  // each bucket is cancelled as it leaves
    bool closed_ = false;     // the destructor runs
    bool over_ = false;       // nothing can be carried any more
    std::optional<failure> why_;
    bool vague_ = false;      // why_ is from end(): the report of a bucket replaces it
    goal goal_ = goal::none;  // of the awaiter
    std::atomic<bool> opening_{false};
    time_point busy_since_{};
    time_point completed_{};  // when the last bucket was complete
    duration busy_{};

    gate gate_{*this};
    std::shared_ptr<const void> compared_memory_;
    watcher comparing_{*this};
    watcher ending_{*this};
    std::deque<bucket_state> buckets_;  // by bucket
};

/// Returns the time of the loop that this thread runs, which may be virtual, or else the steady clock's.
time_point current_time() noexcept;

}  // namespace tutti
