// The text that tells who waits for what: one line each, indented below the one who waits for it.
#pragma once

#include <string>
#include <string_view>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

/// An awaitable that can be waited for long has `void explain(explanation& out) const`, which adds a line or descends into tasks.
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
