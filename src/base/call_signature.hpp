// The part of a call that ranks compare, to find out whether they have made the same one.
#pragma once

#include <cstdint>

namespace tutti {

/// The part of a call about which all ranks must agree. It travels whole in every frame, so a mismatch can be told in words.
struct call_signature {
    std::uint8_t kind = 0;       // collective
    std::uint8_t type = 0;       // data_type
    std::uint8_t op = 0;         // reduce_op
    std::uint8_t algorithm = 0;  // its number in the catalogue
    std::int32_t root = 0;       // 0 where there is none
    std::uint64_t count = 0;     // elements
    std::uint64_t digest = 0;    // of a list, v-counts or an operator's name, which do not fit here; a message's tag; credited bytes
    std::uint32_t opaque_bytes = 0;  // of one element that has no type; else 0
    bool allocated = false;          // call_options::allocated
    std::uint32_t label : 24 = 0;    // digest of call_options::label; 0 where there is none

    friend bool operator==(const call_signature&, const call_signature&) = default;
};

}  // namespace tutti
