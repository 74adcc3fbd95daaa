#include "base/file_descriptor.hpp"

#include <unistd.h>

namespace tutti {

void file_descriptor::close() noexcept {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
}

}  // namespace tutti
