// What a rank leaves in the store for rank 0, before any other rank can reach it.
#pragma once

#include "base/core_set.hpp"

#include <tutti/types.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace tutti {

struct [[gnu::visibility("default")]] context_options;

struct contact {
    static constexpr std::string_view unknown = "?";  // where rank 0 has to tell the address

    std::uint64_t call = 0;    // of rank 0, that this answers
    std::uint32_t ticket = 0;  // of this answer; not 0
    std::string host;          // a name that ranks of one host share
    core_set cores;            // that it may use there
    std::string address;

    bool located() const noexcept { return address != unknown; }
    std::string to_string() const;
};

/// Of this process. A rank that cannot tell where it is, is alone there.
contact contact_of(const context_options& options, rank me);
contact contact_in(std::string_view text);

/// A number that no earlier join has had.
std::uint64_t fresh_number();

}  // namespace tutti
