// A file that is opened before the work whose result it will hold: a path that cannot be written is found out at once.
#pragma once

#include <fstream>
#include <string>

namespace digits {

class output_file final {
public:
    /// Throws input_error when `path` cannot be written. "-" is standard output.
    explicit output_file(std::string path);

    /// Throws std::runtime_error when the text did not arrive, e.g. on a full disk.
    void write(const std::string& text);

private:
    std::string path_;
    std::ofstream file_;
};

}  // namespace digits
