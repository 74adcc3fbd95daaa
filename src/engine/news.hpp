// News for the observer of an engine: lanes that are needed, links that ended, a failure, a label that differs.
#pragma once

#include "engine/engine_observer.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tutti {

/// All that an engine's observer is still to hear. The engine collects it with its guard held, and tells it without.
struct news {
    struct wish {
        rank peer;
        lane_kind kind;
    };
    struct ended_link {
        rank peer;
        lane_id which;
        std::error_code why;
    };
    /// A call for which a peer has another label: the peer is sent ours.
    struct label_question {
        rank peer;
        std::uint64_t sequence;
        call_signature mine;
        std::string label;
    };

    std::optional<report> failed;
    std::vector<wish> wanted;
    std::vector<ended_link> lost;
    std::optional<label_question> question;

    bool any() const noexcept { return failed || !wanted.empty() || !lost.empty() || question; }
    void tell(engine_observer& observer) const noexcept {
        if (failed) observer.engine_failed(*failed);
        for (const wish& each : wanted) observer.wanted(each.peer, each.kind);
        for (const ended_link& each : lost) observer.link_lost(each.peer, each.which, each.why);
        if (question) observer.differs(question->peer, question->sequence, question->mine, question->label);
    }
};

}  // namespace tutti
