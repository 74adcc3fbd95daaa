#include "product.hpp"

#include <fmt/format.h>

#include <random>

namespace tutti::test {

const custom_op<std::uint16_t> masked_sum("sum modulo 4096", commutes::yes, [](const std::uint16_t& left, const std::uint16_t& right) {
    return static_cast<std::uint16_t>((left + right) % 4096);
});

namespace {

using enum sample_case::factor;

void add_reductions(const algorithm& entry, std::vector<subject>& all) {
    for (const reduction& op : all_ops)
        for (const data_type type : all_types)
            if (has_op(entry.kind, op) && defined(op.kind(), type)) all.push_back({&entry, type, 0, op});
    if (has_op(entry.kind, masked_sum)) all.push_back({&entry, data_type::u16, 0, masked_sum});
    if (has_op(entry.kind, matrix_product) && entry.ordered) all.push_back({&entry, data_type::opaque, sizeof(matrix), matrix_product});
}

std::vector<subject> make_subjects() {
    std::vector<subject> all;
    for (const algorithm& entry : catalogue()) {
        if (reduces(entry.kind)) add_reductions(entry, all);
        else if (entry.kind == collective::barrier) all.push_back({&entry});
        else {
            for (const data_type type : all_types) all.push_back({&entry, type});
            for (const std::size_t opaque_bytes : {std::size_t{3}, std::size_t{24}})
                all.push_back({&entry, data_type::opaque, opaque_bytes});
        }
    }
    return all;
}

/// The first possible case from this one on, with later sizes and the other place.
sample_case nearest_possible(sample_case one) {
    const auto ask = [&] { return possible(one); };
    for (std::size_t turn = 0; turn < std::size(sizes) && !ask(); ++turn) {
        one.at[by_place] ^= 1;
        if (ask()) break;
        one.at[by_place] ^= 1;
        one.at[by_size] = (one.at[by_size] + 1) % static_cast<int>(std::size(sizes));
    }
    return one;
}

}  // namespace

const std::vector<subject>& subjects() {
    static const std::vector<subject> all = make_subjects();
    return all;
}

std::string sample_case::text() const {
    const subject& one = what();
    return fmt::format("{} by {} of {} {} x {} on {} ranks, {}, over {} in slices of {} bytes", name(one.entry->kind), one.entry->name,
                       count(), name(one.type), one.op.user() ? one.op.user()->name() : name(one.op.kind()), size(),
                       where() == place::in_place ? "in place" : "beside", lane().name, slice_bytes());
}

std::array<int, sample_case::factors> levels() {
    return {static_cast<int>(subjects().size()), static_cast<int>(std::size(sizes)), static_cast<int>(counts_for(1).size()),
            static_cast<int>(std::size(places)), static_cast<int>(std::size(lanes)), static_cast<int>(std::size(slices))};
}

bool possible(const sample_case& one) {
    using enum collective;
    const collective kind = one.what().entry->kind;
    std::vector<int> hosts;
    for (rank me = 0; me < one.size(); ++me) hosts.push_back(host_of(*one.what().entry, me));
    if (!serves(*one.what().entry, one.size(), host_map(hosts))) return false;
    if (kind == barrier) return one.where() == place::beside && one.at[by_count] == 0;
    if (kind == all_to_all || kind == all_to_all_v) return one.where() == place::beside;
    return kind != broadcast || one.where() == place::in_place;  // which has one buffer
}

std::vector<sample_case> whole_product() {
    std::vector<sample_case> all;
    const auto limits = levels();
    sample_case next;
    for (;;) {
        if (possible(next)) all.push_back(next);
        std::size_t factor = sample_case::factors;
        while (factor > 0 && ++next.at[factor - 1] == limits[factor - 1]) next.at[--factor] = 0;
        if (factor == 0) return all;
    }
}

std::vector<sample_case> covering_sample() {
    std::vector<sample_case> all;
    const auto limits = levels();
    for (int subject = 0; subject < limits[by_subject]; ++subject) {
        // Every subject begins elsewhere, so that the other factors meet each other too.
        std::mt19937 random{static_cast<std::uint32_t>(subject)};
        const int size = static_cast<int>(random() % 64), count = static_cast<int>(random() % 64), bits = static_cast<int>(random() % 8);
        const int turns = std::max(limits[by_count], limits[by_size]);
        for (int turn = 0; turn < turns; ++turn) {
            sample_case one;
            const int way = turn ^ bits;
            one.at = {subject, (turn + size) % limits[by_size], (turn + count) % limits[by_count], way % 2, (turn + bits) % limits[by_lane], way / 4 % 2};
            if (subjects()[static_cast<std::size_t>(subject)].entry->kind == collective::barrier) one.at[by_count] = 0;
            all.push_back(nearest_possible(one));
        }
    }
    return all;
}

}  // namespace tutti::test
