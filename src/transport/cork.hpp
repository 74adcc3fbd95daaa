// Lets frames that several lanes are given at about the same time leave together.
#pragma once

namespace tutti {

class lane;

/// One for all lanes of an engine, and used with its guard held. A system call costs more than many small frames. While the cork is held,
/// lanes only queue. So answers to a dozen frames that came at once leave in one call to each peer, as do the frames of a dozen operations
/// that start at once. The engine holds it while operations start, a lane while it reads. Nothing is kept back once the guard is released.
class cork {
public:
    /// Keeps frames back while it lives; the end of the last one sends them.
    class held {
    public:
        explicit held(cork& on) noexcept : on_(on) { ++on_.holders_; }
        held(const held&) = delete;
        held& operator=(const held&) = delete;
        ~held() {
            if (on_.holders_ == 1) on_.send_kept();
            --on_.holders_;
        }

    private:
        cork& on_;
    };

    /// Returns whether frames are kept back now; then this lane sends its own in `send_kept`.
    bool keep(lane& one) noexcept;
    /// Sends all kept frames. Called before the holder makes a system call. A user's operator is none, however long it takes: all frames
    /// that came together are combined first.
    void send_kept() noexcept;

private:
    int holders_ = 0;
    lane* first_ = nullptr;
    lane* last_ = nullptr;
};

}  // namespace tutti
