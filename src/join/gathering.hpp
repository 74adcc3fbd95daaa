// How the ranks of a job find each other in a store: rank 0 calls, every other rank answers with where it is, and rank 0 publishes the
// list of members. Every call, and every answer, has a number that none had before, so what an earlier join has left in the store is
// known as such.
#pragma once

#include "join/contact.hpp"
#include "join/members.hpp"

#include <tutti/store.hpp>

#include <optional>
#include <string>

namespace tutti {

class gathering {
public:
    gathering(detail::context_state& at, const world& one, store& over, std::string name, time_point limit)
        : context_(at),
          who(one),
          meeting(over),
          job(std::move(name)),
          deadline(limit) {}

    /// Until `all` is known, the same on all ranks, and this rank listens. Throws error::rendezvous_timeout, naming the ranks that are
    /// missing, on rank 0 at the deadline, elsewhere up to a second later.
    task<> run(detail::membership& all);
    /// Whether rank 0 has told this rank how it ended; then it has told the others, too.
    bool heard() const noexcept { return heard_; }
    /// What this rank waits for right now, in words.
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
    rank next_ = 0;  // whose answer rank 0 waits for
};

}  // namespace tutti
