#include "transport/frame.hpp"

#include "support/seeds.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace tutti;

namespace {

frame sample() {
    frame what;
    what.kind = frame_kind::data;
    what.epoch = 0x01020304;
    what.index = 0x05060708;
    what.sequence = 0x1112131415161718;
    what.slice = 0x21222324;
    what.payload_bytes = 0x333435363738;
    what.what.kind = 0x41;
    what.what.type = 0x42;
    what.what.op = 0x43;
    what.what.algorithm = 0x44;
    what.what.root = -2;
    what.what.count = 0x5152535455565758;
    what.what.digest = 0x6162636465666768;
    what.what.opaque_bytes = 0x71727374;
    what.what.label = 0x818283;
    return what;
}

frame random_frame(std::mt19937_64& random) {
    frame what;
    what.kind = static_cast<frame_kind>(1 + random() % 9);
    what.epoch = static_cast<std::uint32_t>(random());
    what.index = static_cast<std::uint32_t>(random());
    what.sequence = random();
    what.slice = static_cast<std::uint32_t>(random());
    what.payload_bytes = random() >> 16;
    what.what.kind = static_cast<std::uint8_t>(random());
    what.what.type = static_cast<std::uint8_t>(random());
    what.what.op = static_cast<std::uint8_t>(random());
    what.what.algorithm = static_cast<std::uint8_t>(random());
    what.what.root = static_cast<std::int32_t>(random());
    what.what.count = random();
    what.what.digest = random();
    what.what.opaque_bytes = static_cast<std::uint32_t>(random());
    what.what.allocated = random() % 2 == 0;
    what.what.label = static_cast<std::uint32_t>(random()) & 0xff'ffff;
    return what;
}

}  // namespace

TEST_CASE("a frame has these 64 bytes on the wire, whatever the machine") {
    constexpr unsigned char golden[frame_bytes] = {
        'T',  'U',  'T',  'I',  0x08, 0x83, 0x01, 0x00,  // magic, version, label, kind, allocated
        0x04, 0x03, 0x02, 0x01, 0x08, 0x07, 0x06, 0x05,  // epoch, round
        0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,  // sequence
        0x24, 0x23, 0x22, 0x21, 0xfe, 0xff, 0xff, 0xff,  // slice, root
        0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x82, 0x81,  // payload, label
        0x58, 0x57, 0x56, 0x55, 0x54, 0x53, 0x52, 0x51,  // count
        0x68, 0x67, 0x66, 0x65, 0x64, 0x63, 0x62, 0x61,  // digest
        0x41, 0x42, 0x43, 0x44, 0x74, 0x73, 0x72, 0x71,  // collective, type, operator, algorithm, bytes of an opaque element
    };
    const auto bytes = encode(sample());
    for (std::size_t i = 0; i < frame_bytes; ++i) {
        CAPTURE(i);
        CHECK(std::to_integer<int>(bytes[i]) == golden[i]);
    }
}

TEST_CASE("what was encoded is decoded") {
    const auto seed = test::any_seed();
    CAPTURE(seed);
    std::mt19937_64 random{seed};
    for (int i = 0; i < 10'000; ++i) {
        const auto sent = random_frame(random);
        frame received;
        REQUIRE(decode(encode(sent), received));
        REQUIRE(received == sent);
    }
}

TEST_CASE("a frame with any other magic, version or kind, or any other bit, is refused and leaves the target alone") {
    for (std::size_t index = 0; index < 8; ++index)
        for (int value = 0; value < 256; ++value) {
            auto bytes = encode(sample());
            const bool kind = index == 6 && value >= static_cast<int>(frame_kind::data) && value <= static_cast<int>(frame_kind::roll);
            const bool allocated = index == 7 && (value == 0 || value == 0x20);
            if (bytes[index] == static_cast<std::byte>(value) || index == 5 || kind || allocated) continue;  // 5: of a label
            bytes[index] = static_cast<std::byte>(value);
            CAPTURE(index);
            CAPTURE(value);
            frame untouched;
            CHECK_FALSE(decode(bytes, untouched));
            CHECK(untouched == frame{});
        }
}
