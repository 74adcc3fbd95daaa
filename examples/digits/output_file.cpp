#include "digits/output_file.hpp"

#include "digits/input_error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <iostream>

namespace digits {

output_file::output_file(std::string path) : path_(std::move(path)) {
    if (path_ == "-") return;
    file_.open(path_, std::ios::binary);
    if (!file_) throw input_error(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
}

void output_file::write(const std::string& text) {
    std::ostream& out = path_ == "-" ? std::cout : file_;
    out << text << std::flush;
    if (!out) throw std::runtime_error(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
}

}  // namespace digits
