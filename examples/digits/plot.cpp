#include "digits/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace digits {
namespace {

constexpr double width = 760;
constexpr double height = 560;
constexpr double left = 80;
constexpr double right = width - 30;

struct panel {
    double top;
    double bottom;
    double low;  // value at the bottom
    double high;
};

// Colours that people with any colour vision tell apart (Okabe, Ito 2008).
constexpr std::string_view loss_colour = "#0072b2";
constexpr std::string_view hidden_colour = "#d55e00";
constexpr std::string_view accuracy_colour = "#009e73";

double x_of(double epoch, int epochs) { return epochs == 1 ? (left + right) / 2 : left + (right - left) * (epoch - 1) / (epochs - 1); }

double y_of(double value, const panel& in) { return in.bottom - (in.bottom - in.top) * (value - in.low) / (in.high - in.low); }

std::string text(double x, double y, std::string_view anchor, std::string_view what) {
    return fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='{}'>{}</text>\n", x, y, anchor, what);
}

std::string horizontal(double y, std::string_view label) {
    return fmt::format("<line class='grid' x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}'/>\n", left, y, right, y) +
           text(left - 8, y + 4, "end", label);
}

// Steps of 1, 2, 5, 10, 20, ... so that there are at most ten.
int epoch_step(int epochs) {
    for (int power = 1;; power *= 10)
        for (const int digit : {1, 2, 5})
            if (epochs / (digit * power) <= 10) return digit * power;
}

std::string frame(const panel& in, int epochs, std::string_view label) {
    std::string out;
    const int step = epoch_step(epochs);
    for (int epoch = step == 1 ? 1 : step; epoch <= epochs; epoch += step) {
        const double x = x_of(epoch, epochs);
        out += fmt::format("<line class='tick' x1='{0:.1f}' y1='{1:.1f}' x2='{0:.1f}' y2='{2:.1f}'/>\n", x, in.bottom, in.bottom + 5);
        out += text(x, in.bottom + 19, "middle", std::to_string(epoch));
    }
    out += fmt::format("<path class='axis' d='M{:.1f} {:.1f}V{:.1f}H{:.1f}'/>\n", left, in.top, in.bottom, right);
    const double middle = (in.top + in.bottom) / 2;
    return out + fmt::format("<text transform='translate(22 {:.1f}) rotate(-90)' text-anchor='middle'>{}</text>\n", middle, label);
}

// A line through the points that exist; where one is missing (NaN), the line is interrupted.
template <class Value>
std::string curve(const run_report& what, const panel& in, std::string_view colour, Value value) {
    std::string path;
    std::string dots;
    const auto epochs = static_cast<int>(what.epochs.size());
    bool drawing = false;
    for (const auto& each : what.epochs) {
        const double y = y_of(value(each), in);
        const double x = x_of(each.epoch, epochs);
        const bool exists = std::isfinite(y);
        if (exists) path += fmt::format("{}{:.1f} {:.1f}", drawing ? 'L' : 'M', x, y);
        if (exists && epochs <= 60) dots += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='2.6' fill='{}'/>\n", x, y, colour);
        drawing = exists;
    }
    return path.empty() ? path : fmt::format("<path class='curve' stroke='{}' d='{}'/>\n", colour, path) + dots;
}

std::string legend(double x, double y, std::string_view colour, std::string_view label) {
    return fmt::format("<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' stroke='{}' stroke-width='3'/>\n", x, y, x + 24, y, colour) +
           text(x + 31, y + 4, "start", label);
}

double logarithm(double loss) { return loss > 0 ? std::log10(loss) : std::nan(""); }

// The marks of a logarithmic axis: ..., 0.1, 0.2, 0.5, 1, 2, 5, 10, ...; mark 0 is 1.
double mark(int number) {
    constexpr double leading[] = {1, 2, 5};
    const int power = static_cast<int>(std::floor(number / 3.0));
    return leading[number - 3 * power] * std::pow(10, power);
}

std::string loss_panel(const run_report& what) {
    double lowest = INFINITY;
    double highest = 0;
    for (const auto& each : what.epochs)
        if (std::isfinite(each.loss) && each.loss > 0) {
            lowest = std::min(lowest, each.loss);
            highest = std::max(highest, each.loss);
        }
    if (lowest > highest) lowest = highest = 1;
    int first = static_cast<int>(std::floor(3 * std::log10(lowest))) + 1;  // at or above; then down to the first below
    while (mark(first) >= lowest) --first;
    int last = first + 1;
    while (mark(last) < highest) ++last;
    const panel in{70, 300, logarithm(mark(first)), logarithm(mark(last))};
    std::string out;
    for (int number = first; number <= last; ++number)
        if (last - first <= 9 || number % 3 == 0) out += horizontal(y_of(logarithm(mark(number)), in), fmt::format("{:g}", mark(number)));
    out += frame(in, static_cast<int>(what.epochs.size()), "training loss (log scale)");
    out += curve(what, in, loss_colour, [](const epoch_report& each) { return logarithm(each.loss); });
    return out + legend(right - 120, 54, loss_colour, "training loss");
}

std::string share_panel(const run_report& what) {
    const panel in{360, 500, 0, 100};
    std::string out;
    for (int percent = 0; percent <= 100; percent += 25) out += horizontal(y_of(percent, in), fmt::format("{} %", percent));
    out += frame(in, static_cast<int>(what.epochs.size()), "share");
    out += text((left + right) / 2, in.bottom + 42, "middle", "epoch");
    out += curve(what, in, accuracy_colour, [](const epoch_report& each) { return 100 * each.accuracy; });
    out += curve(what, in, hidden_colour, [](const epoch_report& each) { return each.hidden ? 100 * *each.hidden : std::nan(""); });
    const bool any = std::any_of(what.epochs.begin(), what.epochs.end(), [](const auto& each) { return each.hidden.has_value(); });
    return out + legend(right - 330, 344, accuracy_colour, "test accuracy") +
           legend(right - 185, 344, hidden_colour, any ? "communication hidden" : "no communication");
}

}  // namespace

std::string to_svg(const run_report& what) {
    std::string out =
        fmt::format("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' width='{0}' height='{1}'>\n", width, height);
    const std::string title = fmt::format("digits: {} rank{}, batch {}, rate {}, seed {}", what.ranks, what.ranks == 1 ? "" : "s",
                                          what.batch, what.rate, what.seed);
    out += fmt::format("<title>{}</title>\n", title);
    out +=
        "<style>text{font:13px sans-serif;fill:#222}.grid{stroke:#ddd}.tick,.axis{stroke:#222;fill:none}"
        ".curve{fill:none;stroke-width:2;stroke-linejoin:round}</style>\n<rect width='100%' height='100%' fill='white'/>\n";
    out += fmt::format("<text x='{:.1f}' y='30' style='font-size:17px;font-weight:bold'>{}</text>\n", left, title);
    return out + loss_panel(what) + share_panel(what) + "</svg>\n";
}

}  // namespace digits
