#include "transport/listener.hpp"

#include "base/descriptors.hpp"

#include <algorithm>

namespace tutti {

/// The pause when the process has no descriptor for the next link, since one may be closed meanwhile; also after most_strangers.
static constexpr std::chrono::milliseconds exhausted_pause{50};
/// Without a descriptor for so long, accepting fails.
static constexpr std::chrono::seconds exhausted_for{1};

task<result<std::unique_ptr<link>>> entrance::accept() {
    struct waiting {
        explicit waiting(entrance& at) noexcept : where(at) { where.accepting_ = &call; }
        ~waiting() {
            where.accepting_ = nullptr;
            for (listener* each : where.doors_) each->forget();
        }
        entrance& where;
        wake_call call;
    } me{*this};
    time_point exhausted_since = no_deadline;
    while (!closed_) {
        std::error_code code;
        for (listener* each : doors_)
            if (auto came = each->next(code)) co_return std::move(came);
        if (!out_of_descriptors(code)) exhausted_since = no_deadline;
        else exhausted_since = std::min(exhausted_since, loop_.now());
        if (exhausted_since != no_deadline && loop_.now() - exhausted_since >= exhausted_for) {
            report why;
            why.code = code;
            why.cause = no_descriptor_left("a link that another rank opens", code);
            co_return failure(std::move(why));
        }
        if (!code)
            for (listener* each : doors_) each->when_any(me.call);
        const auto how = co_await me.call.until(code ? loop_.now() + exhausted_pause : no_deadline, "somebody who connects");
        if (how == woken::by_cancel) co_return failure(error::cancelled, "nobody connected before the wait was cancelled");
    }
    co_return failure(error::closed, "the transport was closed");
}

void entrance::close() noexcept {
    closed_ = true;
    for (listener* each : doors_) each->close();
    if (accepting_ != nullptr) accepting_->run();
}

}  // namespace tutti
