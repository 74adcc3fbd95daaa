#include "schedule/host_map.hpp"

#include <map>

namespace tutti {

host_map::host_map(std::span<const int> numbers) {
    std::map<int, int> known;
    std::vector<std::size_t> filled;
    for (const int number : numbers) {
        const int host = known.try_emplace(number, static_cast<int>(known.size())).first->second;
        filled.resize(known.size());
        host_.push_back(host);
        local_.push_back(static_cast<int>(filled[static_cast<std::size_t>(host)]++));
    }
    if (numbers.empty()) return;
    begin_.push_back(0);
    for (const std::size_t ranks : filled) begin_.push_back(begin_.back() + ranks);
    ranks_.resize(numbers.size());
    for (std::size_t each = 0; each < numbers.size(); ++each)
        ranks_[begin_[static_cast<std::size_t>(host_[each])] + static_cast<std::size_t>(local_[each])] = static_cast<rank>(each);
}

bool host_map::even() const noexcept {
    if (!layered()) return false;
    for (int host = 1; host < count(); ++host)
        if (ranks(host).size() != ranks(0).size()) return false;
    return true;
}

}  // namespace tutti
