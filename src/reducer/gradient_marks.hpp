// The steps of a reducer: which gradients have been marked, pass by pass, until finish(), and the first mistake in that. It knows no memory
// and no transfers; the reducers of hosts and devices share it.
#pragma once

#include "reducer/bucket.hpp"

#include <tutti/reducer.hpp>
#include <tutti/task.hpp>

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tutti {

/// Owned by a reducer. The first functions below belong to the thread of the backward pass, the rest to that of finish(). One may follow the
/// other without a lock; the guard is for finding that they overlap.
class gradient_marks final {
public:
    enum class mark : std::uint8_t { none, ready, unused };
    /// The mark of a gradient is refused after a mistake, the gradient waits for a further pass that adds to it, or it goes into its bucket.
    enum class consequence : std::uint8_t { refused, waits, goes };

    /// The communicator of the reducer, and how to fail it on all ranks.
    struct owner {
        std::string communicator;
        rank me = 0;
        std::function<void(std::string)> abort;
    };

    gradient_marks(owner whose, std::span<const parameter> parameters, const bucket_plan& plan);
    gradient_marks(const gradient_marks&) = delete;
    gradient_marks& operator=(const gradient_marks&) = delete;

    // The thread of the backward pass.
    consequence set(std::size_t which, mark how);
    /// For a gradient that goes: returns whether it has filled its bucket.
    bool fills(std::size_t which) noexcept { return --waiting_[plan_.locations[which].bucket] == 0; }
    /// Returns whether a pass of this step has made the gradient.
    bool made(std::size_t which) const noexcept { return made_[which]; }
    /// Fails the communicator, because the other ranks wait for this rank's buckets. The first complaint stays.
    void complain(std::string what, error code = error::invalid_argument);
    /// The reducer is destroyed. In the middle of a step's last pass the other ranks wait for it, so the communicator fails.
    void give_up() noexcept;

    // The thread of finish().
    /// Lives while finish() or agree() goes on. If it ends without succeed(), the reducer has failed.
    class ending {
    public:
        explicit ending(gradient_marks& of);
        ~ending();
        void succeed() noexcept { well_ = true; }

    private:
        gradient_marks& of_;
        bool well_ = false;
    };
    /// Ends a pass in which all must be marked. Returns whether it was the step's last; if not, the next pass begins.
    bool complete();
    void check() const;
    /// Throws error::mismatch with the difference of the ranks' plans.
    task<> disagree(task<std::string> difference);
    void next();
    void accumulate(int passes);
    std::uint64_t number() const noexcept { return step_; }

    const parameter& at(std::size_t which) const;
    report told(error code, std::string cause) const;

private:
    void open_pass();
    void open_step();
    void check_missing();

    const owner whose_;
    const std::span<const parameter> parameters_;
    const bucket_plan& plan_;

    // Used by the thread of the backward pass, then by that of finish().
    std::vector<mark> marks_;           // in this pass, by parameter
    std::vector<bool> made_;            // in this step, by parameter
    std::vector<std::size_t> waiting_;  // by bucket: parameters that are still to go into it
    std::size_t marked_ = 0;
    int passes_ = 1;
    int pass_ = 0;
    std::uint64_t step_ = 1;

    mutable std::mutex guard_;
    bool ending_ = false;
    bool failed_ = false;
    std::optional<failure> complaint_;  // the first mistake, here or between the ranks
};

/// Adds one step.
void add(reducer_stats& to, std::uint64_t bytes, duration busy, duration exposed) noexcept;

}  // namespace tutti
