// A mistake of the user: the program reports it in one line and ends with exit code 2.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace digits {

class input_error final : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// `text` as printable ASCII or UTF-8 on one line: control characters become \xNN. File contents and arguments can hold anything.
std::string one_line(std::string_view text);

}  // namespace digits
