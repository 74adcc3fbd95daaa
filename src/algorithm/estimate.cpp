#include "algorithm/estimate.hpp"

#include <algorithm>

namespace tutti {

estimate::estimate(const algorithm& entry, int size, const cost_model& model, std::size_t slice_bytes)
    : model_(model),
      chained_(size <= most_chained) {
    std::vector<schedule> plans;
    for (rank me = 0; me < size; ++me)
        if (me < most_chained / 2 || me >= size - most_chained / 2) plans.push_back(entry.build({me, size, 0}));
    for (const schedule& each : plans) {
        ranks_.push_back(count(each));
        for (const step& one : each.steps())
            if (one.what != action::copy)
                sliced_share_ =
                    std::max(sliced_share_, one.here.count / (static_cast<double>(ranks_.back().whole) * static_cast<double>(slice_bytes)));
    }
    if (entry.hops)
        for (cost& each : ranks_) each.exchanges = std::max(each.exchanges, entry.hops(size));
    ranks_.erase(std::unique(ranks_.begin(), ranks_.end()), ranks_.end());
    if (chained_) first_ = chain(plans, {model.round, model.message, model.sent_byte, model.reduced_byte});
}

double estimate::flow_seconds(const cost& of, double bytes) const noexcept {
    return of.messages * model_.message + of.bytes(of.serial + of.copied, bytes) * model_.sent_byte +
           of.bytes(of.reduced, bytes) * model_.reduced_byte;
}

double estimate::seconds(double vector_bytes) const noexcept {
    const double slices = std::max(1.0, vector_bytes * sliced_share_), slice = vector_bytes / slices;
    double first = chained_ ? first_.seconds(slice) : 0, flow = 0, cold = 0;
    for (const cost& one : ranks_) {
        if (!chained_) first = std::max(first, one.exchanges * model_.round + flow_seconds(one, slice));
        flow = std::max(flow, flow_seconds(one, slice));
        cold = std::max(cold, one.bytes(one.spread, vector_bytes) - model_.window_bytes);
    }
    return first + (slices - 1) * flow + cold * model_.cold_byte;
}

}  // namespace tutti
