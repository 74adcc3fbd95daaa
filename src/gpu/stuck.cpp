#include "gpu/stuck.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace tutti::gpu::stuck {
namespace {

struct registry {
    std::mutex guard;
    std::vector<std::shared_ptr<const void>> kept;
};

/// Not destroyed when the program ends: threads that are stuck go on until then.
registry& here() {
    static auto* const one = new registry;
    return *one;
}

}  // namespace

void keep(std::shared_ptr<const void> what) {
    const std::lock_guard lock(here().guard);
    here().kept.push_back(std::move(what));
}

void let_go(const void* what) {
    std::shared_ptr<const void> last;  // ends without the lock
    const std::lock_guard lock(here().guard);
    auto& kept = here().kept;
    const auto found = std::find_if(kept.begin(), kept.end(), [what](const auto& each) { return each.get() == what; });
    if (found == kept.end()) return;
    last = std::move(*found);
    kept.erase(found);
}

std::size_t count() {
    const std::lock_guard lock(here().guard);
    return here().kept.size();
}

}  // namespace tutti::gpu::stuck
