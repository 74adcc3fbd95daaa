// Several ranks in one process, each a thread with a loop of its own; its bytes move on the thread of its context.
#pragma once

#include "support/ranks.hpp"
#include "support/threads.hpp"

namespace tutti::test {

/// `helped`: each rank's loop makes the progress of its context too, while it has nothing else to do.
inline void run_ranks_on_threads(int size, const rank_body& body, const make_options& options, bool helped = false) {
    memory_table table;
    on_threads(size, [&](rank me) {
        context home(options(me));
        event_loop loop;
        if (helped) loop.help(&home.progress());
        run(loop, detail::one_rank(home, me, size, memory_store(table), body));
    });
}

}  // namespace tutti::test
