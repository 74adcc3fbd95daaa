// How long a rank waits in a collective before it asks its neighbours, and before its user hears of it.
#pragma once

#include <tutti/types.hpp>

#include <algorithm>
#include <chrono>

namespace tutti {

/// A rank that waits in a collective asks after so long whether its neighbours wait in the same one. It asks again after twice as long, and
/// so on up to the last.
inline constexpr duration first_patience = std::chrono::milliseconds(250);
inline constexpr duration last_patience = 256 * first_patience;

/// Says when a call that waits is to ask the neighbours, and when to warn the user. Both intervals double. Ranks that disagree may wait for
/// each other without a frame between them, so a rank that waits asks.
class patience {
public:
    /// `warning` is the time from the call until the first warning; 0: never.
    void begin(duration warning) noexcept {
        question_ = first_patience;
        warning_ = warning;
    }
    /// Returns when the next of the two is due for a call that began at `started`; no_deadline when none is.
    time_point next(time_point started) const noexcept {
        const time_point question = question_ <= last_patience ? started + question_ : no_deadline;
        return warning_ == duration{} ? question : std::min(question, later(started, warning_));
    }
    /// Returns whether a question is due when the call has waited for `passed`; then the next one is due after twice as long.
    bool asks(duration passed) noexcept {
        if (question_ > last_patience || passed < question_) return false;
        question_ *= 2;
        return true;
    }
    /// Returns the same of a warning.
    bool warns(duration passed) noexcept {
        if (warning_ == duration{} || passed < warning_) return false;
        warning_ = twice(warning_);
        return true;
    }

private:
    duration question_{};
    duration warning_{};
};

}  // namespace tutti
