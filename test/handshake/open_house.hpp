// A communicator that welcomes nearly all ranks, and the hellos of ranks that come to it.
#pragma once

#include "handshake/link_acceptor.hpp"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tutti::test {

inline constexpr std::uint64_t job = 7;

/// Welcomes all but rank 13, and keeps their links by rank, in the order of their coming.
class open_house final : public link_destination {
public:
    std::uint64_t id() const noexcept override { return 42; }
    reply answer_hello(const hello& who) override { return who.from == 13 ? reply{answer::refused, "unlucky"} : reply{}; }
    bool takes_stream(const hello&) const noexcept override { return wants_streams; }
    void exhausted(std::error_code) noexcept override { FAIL("there are enough descriptors"); }
    void take_link(const hello& who, std::unique_ptr<link> over) override { inside[who.from].push_back(std::move(over)); }

    std::map<rank, std::vector<std::unique_ptr<link>>> inside;
    bool wants_streams = false;
};

inline hello from(rank who, std::uint64_t of_job = job, std::uint64_t group = 42) {
    hello said;
    said.job = of_job;
    said.group = group;
    said.from = who;
    said.to = 1;
    said.size = 20;
    return said;
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace tutti::test
