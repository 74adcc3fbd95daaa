// A loop that a thread of its own runs.
#pragma once

#include <tutti/event_loop.hpp>

#include <thread>

namespace tutti::test {

class running_loop final {
public:
    running_loop() : thread_([this] { loop.run(); }) {}
    ~running_loop() {
        loop.stop();
        thread_.join();
    }

    event_loop loop;

private:
    std::thread thread_;
};

}  // namespace tutti::test
