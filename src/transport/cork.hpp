// Lets frames that several lanes are given at about the same time leave together.
#pragma once

namespace tutti {

class lane;

/// Of lanes that share a guard, and used with it held. A call to the system costs more than many small frames: while somebody holds the cork
/// they only queue, and what answers a dozen frames that came at once, or belongs to a dozen operations that start at once, goes in one call
/// to each peer. When nobody holds the guard nothing is kept back.
class cork {
public:
    /// While one lives frames are kept back; when the last one ends they are sent.
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

    /// Whether frames are kept back now. Then this lane sends its own later.
    bool keep(lane& one) noexcept;
    /// Sends all that has been kept back. Before whoever holds the cork makes a call to the system. A user's operator, however long it takes,
    /// is not one: of frames that came together all are combined first.
    void send_kept() noexcept;

private:
    int holders_ = 0;
    lane* first_ = nullptr;
    lane* last_ = nullptr;
};

}  // namespace tutti
