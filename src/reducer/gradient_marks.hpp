// The steps of a reducer: which gradients are there, pass by pass, until finish(), and what was wrong with that. Knows no memory and no
// bucket's way; hosts and devices share it.
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

class gradient_marks final {
public:
    enum class mark : std::uint8_t { none, ready, unused };
    /// What becomes of a gradient that has been marked: nothing, because something was wrong; nothing yet, because another pass adds to it;
    /// or it goes into its bucket.
    enum class consequence : std::uint8_t { refused, waits, goes };

    /// Over which communicator, and how it is ended on all ranks.
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
    /// Of a gradient that goes: whether its bucket is full now.
    bool fills(std::size_t which) noexcept { return --waiting_[plan_.locations[which].bucket] == 0; }
    /// Whether any pass of this step has made the gradient.
    bool made(std::size_t which) const noexcept { return made_[which]; }
    /// Fails the communicator, because the other ranks wait for our buckets. The first complaint stays.
    void complain(std::string what, error code = error::invalid_argument);
    /// The reducer goes. In the middle of a step's last pass the other ranks wait for it, and this fails the communicator.
    void give_up() noexcept;

    // The thread of finish().
    /// finish() or agree() is going on; when it is left otherwise than by `succeed`, the reducer has failed.
    class ending {
    public:
        explicit ending(gradient_marks& of);
        ~ending();
        void succeed() noexcept { well_ = true; }

    private:
        gradient_marks& of_;
        bool well_ = false;
    };
    /// Whether all is marked, and this pass was the step's last; if not the last, the next begins.
    bool complete();
    void check() const;
    /// The ranks' plans differ; throws.
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

    // By the thread of the backward pass, then by that of finish().
    std::vector<mark> marks_;           // in this pass, by parameter
    std::vector<bool> made_;            // in this step, by parameter
    std::vector<std::size_t> waiting_;  // parameters not marked in the last pass, by bucket
    std::size_t marked_ = 0;
    int passes_ = 1;
    int pass_ = 0;
    std::uint64_t step_ = 1;

    mutable std::mutex guard_;
    bool ending_ = false;
    bool failed_ = false;
    std::optional<failure> complaint_;  // the first mistake, here or between the ranks
};

/// One more step.
void add(reducer_stats& to, std::uint64_t bytes, duration busy, duration exposed) noexcept;

}  // namespace tutti
