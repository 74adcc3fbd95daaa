// How the ranks of a job find each other in a store. JOB is the name of the job:
//
//   key             set by        holds
//   JOB/call        rank 0        the call: a fresh number, and the number of ranks
//   JOB/address/R   rank R        the answer (join/contact.hpp), which repeats the call's number
//   JOB/home        rank 0        only if an answer has no address: the address on which to listen; R then answers again
//   JOB/members     rank 0        the list of members with the settings, or which ranks are late, or what went wrong
//
// A store may still hold the keys of an earlier join. Calls and answers have fresh numbers, so a rank knows what is old and waits on.
#pragma once

#include "join/contact.hpp"
#include "join/members.hpp"

#include <tutti/store.hpp>

#include <optional>
#include <string>

namespace tutti {

/// One gathering of one rank. join_over makes it and runs it once, on the context's loop; listen() opens the context's transport on the
/// way. It opens no link: group::form does that with the addresses found here.
class gathering {
public:
    gathering(detail::context_state& at, const world& one, store& over, std::string name, time_point limit)
        : context_(at),
          who(one),
          meeting(over),
          job(std::move(name)),
          deadline(limit) {}

    /// Returns when this rank listens and `all` is known, the same on all ranks. Throws error::rendezvous_timeout naming the missing ranks:
    /// on rank 0 at the deadline, on other ranks up to a second later.
    task<> run(detail::membership& all);
    /// Returns whether the end of the gathering is in the store, where all ranks read it.
    bool heard() const noexcept { return heard_; }
    /// Returns, in words, what this rank waits for.
    std::string awaited() const;

private:
    struct answers;

    task<> call(detail::membership& all);
    task<> collect(answers& told, bool located);
    task<> locate(answers& told);
    task<result<std::optional<contact>>> contact_with(rank other, std::uint64_t call, bool located, time_point limit);

    task<> answer(detail::membership& all);
    task<> obey(const detail::membership& all, contact& mine, time_point limit);
    bool is_for(const addressees& to, const contact& mine, std::string_view rest, std::uint64_t earlier) const;
    task<> settle(contact& mine, std::string address, time_point limit);
    task<std::string> hear(const detail::membership& all, contact& mine, time_point limit);
    task<failure> not_called(const detail::membership& all, std::uint64_t call);
    task<bool> has_come(rank which, std::uint64_t call, time_point limit);

    void listen(contact& mine, const std::string& address);
    std::string key(const char* what) const;
    std::string address_key(rank which) const;

    detail::context_state& context_;
    const world& who;
    store& meeting;
    const std::string job;
    const time_point deadline;
    bool heard_ = false;
    rank next_ = 0;  // at rank 0: the rank whose answer it waits for
};

}  // namespace tutti
