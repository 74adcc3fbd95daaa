#include "base/quiet_thread.hpp"

namespace tutti {

signals_blocked::signals_blocked() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) ::sigdelset(&all, fault);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
}

signals_blocked::~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace tutti
