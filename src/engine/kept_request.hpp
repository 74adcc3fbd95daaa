// A request that outlives its call.
#pragma once

#include "engine/request.hpp"

#include <vector>

namespace tutti {

/// A request with copies of the lists and counts that it borrows for the call only. Their memory stays for the next request.
class kept_request final : public request {
public:
    kept_request() = default;
    kept_request(const kept_request&) = delete;
    kept_request& operator=(const kept_request&) = delete;

    void keep(const request& asking) {
        static_cast<request&>(*this) = asking;
        list = copied(asking.list, list_);
        input_list = copied(asking.input_list, input_list_);
        counts = copied(asking.counts, counts_);
        recv_counts = copied(asking.recv_counts, recv_counts_);
    }

private:
    template <class T>
    static std::span<const T> copied(std::span<const T> from, std::vector<T>& into) {
        into.assign(from.begin(), from.end());
        return into;
    }

    std::vector<buffer> list_;
    std::vector<buffer> input_list_;
    std::vector<std::size_t> counts_;
    std::vector<std::size_t> recv_counts_;
};

}  // namespace tutti
