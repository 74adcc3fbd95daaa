// Ranks that are threads.
#pragma once

#include <tutti/types.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace tutti::test {

/// Calls `body` for every rank on a thread of its own, and waits for all. An exception of one is a failed check.
inline void on_threads(int size, const std::function<void(rank)>& body) {
    std::vector<std::string> errors(static_cast<std::size_t>(size));
    std::vector<std::thread> threads;
    for (rank me = 0; me < size; ++me)
        threads.emplace_back([&, me] {
            try {
                body(me);
            } catch (const std::exception& why) {
                errors[static_cast<std::size_t>(me)] = why.what();
            } catch (...) {
                errors[static_cast<std::size_t>(me)] = "it threw what is no std::exception, as a REQUIRE does";
            }
        });
    for (auto& each : threads) each.join();
    for (const auto& each : errors) CHECK(each == "");
}

}  // namespace tutti::test
