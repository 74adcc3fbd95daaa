// The answer that a rank leaves in the store for rank 0, before any other rank can reach it.
#pragma once

#include "base/core_set.hpp"

#include <tutti/types.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace [[gnu::visibility("default")]] tutti {
struct context_options;
}  // namespace tutti

namespace tutti {

/// One rank's answer to the call of rank 0. As text it is one line: call, ticket, host, cores, address.
struct contact {
    static constexpr std::string_view unknown = "?";  // rank 0 has to say on which address this rank listens

    std::uint64_t call = 0;    // the number of the call that this answers
    std::uint32_t ticket = 0;  // a random number of this answer; not 0
    std::string host;          // a name that ranks of one host share
    core_set cores;            // the cores that it may use there
    std::string address;

    bool located() const noexcept { return address != unknown; }
    std::string to_string() const;
};

/// Describes this process, without call and address. A rank that cannot identify its host counts as alone on it.
contact contact_of(const context_options& options, rank me);
contact contact_in(std::string_view text);

/// Returns a random number of 64 bits, so that no earlier join has had it.
std::uint64_t fresh_number();

}  // namespace tutti
