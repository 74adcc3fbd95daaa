// The training loop for GPUs, and why there is none here.
#pragma once

#include "digits/options.hpp"
#include "digits/report.hpp"

#include <tutti/tutti.hpp>

#include <cstdio>
#include <memory>
#include <stdexcept>

namespace digits {

struct split;

/// There is no device to train on; says why.
class device_error : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Returns the device of this rank. If its last owner releases it on a thread without a loop, that thread waits until all has been given back.
/// Throws device_error when this process cannot train on a device: there is none, or the program was built without the headers for it.
std::shared_ptr<void> open_device();

/// Every rank on the device of its number on its host. Throws tutti::failure.
tutti::task<run_report> train_on_device(tutti::communicator& world, const options& chosen, const split& data, std::FILE* progress);

}  // namespace digits
