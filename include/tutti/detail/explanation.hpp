// The text that explains what tasks wait for: a line for each wait, indented below the line of its waiter.
#pragma once

#include <string>
#include <string_view>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

/// An awaitable with long waits has `void explain(explanation& out) const`, which adds a line or descends into tasks.
class explanation {
public:
    void line(std::string_view text);
    void deeper() noexcept { ++depth_; }
    void back() noexcept { --depth_; }
    const std::string& text() const noexcept { return text_; }

private:
    std::string text_;
    std::size_t depth_ = 0;
};

}  // namespace detail
}  // namespace tutti
