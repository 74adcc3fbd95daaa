#include "digits/report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace digits {
namespace {

using json = nlohmann::ordered_json;

json json_of(const epoch_report& what) {
    return {{"epoch", what.epoch},
            {"loss", what.loss},
            {"accuracy", what.accuracy},
            {"samples_per_second", what.samples_per_second},
            {"hidden", what.hidden ? json(*what.hidden) : json()}};
}

}  // namespace

std::string progress_line(const epoch_report& what, int epochs) {
    const std::size_t width = fmt::formatted_size("{}", epochs);
    const std::string hidden = what.hidden ? fmt::format("{:3.0f} % of communication hidden", 100 * *what.hidden) : "no communication";
    return fmt::format("epoch {:{}}/{}  loss {:8.5f}  accuracy {:6.2f} %  {:7.0f} samples/s  {}", what.epoch, width, epochs, what.loss,
                       100 * what.accuracy, what.samples_per_second, hidden);
}

std::string summary(const run_report& what) {
    const char* const verdict = what.ranks == 1  ? ""
                                : what.identical ? ", parameters bit-identical on all ranks"
                                                 : ", PARAMETERS DIFFER BETWEEN RANKS";
    return fmt::format("test accuracy {:.2f} % after {} epoch{} in {:.2f} s on {} rank{}{}", 100 * what.epochs.back().accuracy,
                       what.epochs.size(), what.epochs.size() == 1 ? "" : "s", what.seconds, what.ranks, what.ranks == 1 ? "" : "s",
                       verdict);
}

std::string to_json(const run_report& what) {
    json all{{"ranks", what.ranks}, {"batch", what.batch},     {"rate", what.rate},       {"seed", what.seed},
             {"data", what.data},   {"epochs", json::array()}, {"seconds", what.seconds}, {"identical", what.identical}};
    for (const epoch_report& each : what.epochs) all["epochs"].push_back(json_of(each));
    // A file name may hold any bytes; JSON may not.
    return all.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace digits
