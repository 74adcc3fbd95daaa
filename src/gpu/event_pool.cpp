#include "gpu/event_pool.hpp"

namespace tutti::gpu {

CUresult event_pool::make(CUevent& place) {
    if (made_ == at_most) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult code = driver_.cuEventCreate(&place, CU_EVENT_DISABLE_TIMING);
    if (code == CUDA_SUCCESS) ++made_;
    return code;
}

CUresult event_pool::fill() {
    const std::lock_guard lock(guard_);
    here_.reserve(at_first);
    while (made_ < at_first) {
        CUevent fresh = nullptr;
        if (const CUresult code = make(fresh); code != CUDA_SUCCESS) return code;
        here_.push_back(fresh);
    }
    return CUDA_SUCCESS;
}

CUresult event_pool::take(CUevent& place) {
    const std::lock_guard lock(guard_);
    if (here_.empty()) return make(place);
    place = here_.back();
    here_.pop_back();
    return CUDA_SUCCESS;
}

void event_pool::give(CUevent which) {
    const std::lock_guard lock(guard_);
    here_.push_back(which);
}

std::size_t event_pool::clear() {
    const std::lock_guard lock(guard_);
    for (CUevent each : here_) driver_.cuEventDestroy(each);
    made_ -= here_.size();
    here_.clear();
    return made_;
}

std::size_t event_pool::made() const {
    const std::lock_guard lock(guard_);
    return made_;
}

}  // namespace tutti::gpu
