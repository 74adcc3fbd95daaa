#include "gpu/stream_shelf.hpp"

namespace tutti::gpu {

CUstream stream_shelf::take() {
    const std::lock_guard lock(guard_);
    if (!here_.empty()) {
        CUstream one = here_.back();
        here_.pop_back();
        return one;
    }
    CUstream fresh = nullptr;
    if (made_ == at_most || driver_.cuStreamCreateWithPriority(&fresh, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS) return nullptr;
    ++made_;
    return fresh;
}

void stream_shelf::give(CUstream which) {
    const std::lock_guard lock(guard_);
    here_.push_back(which);
}

void stream_shelf::clear() {
    const std::lock_guard lock(guard_);
    for (CUstream each : here_) driver_.cuStreamDestroy(each);
    made_ -= here_.size();
    here_.clear();
}

}  // namespace tutti::gpu
