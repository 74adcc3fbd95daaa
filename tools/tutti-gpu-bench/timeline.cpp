#include "timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gpu_bench {
namespace {

constexpr double width = 1000, left = 130, right = 20, top = 40, row_height = 18, gap = 10, axis = 30;
constexpr const char* colours[] = {"#4c78a8", "#f58518", "#54a24b", "#b279a2"};

std::string escaped(const std::string& text) {
    std::string safe;
    for (const char letter : text) {
        if (letter == '&') safe += "&amp;";
        else if (letter == '<') safe += "&lt;";
        else if (letter == '>') safe += "&gt;";
        else if (letter == '"') safe += "&quot;";
        else safe += letter;
    }
    return safe;
}

/// 1, 2 or 5 times a power of ten, so that there are about ten of them.
double tick_of(double length) {
    const double raw = length / 10, power = std::pow(10, std::floor(std::log10(raw)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (raw <= factor * power) return factor * power;
    return 10 * power;
}

double last_of(const std::vector<band>& bands) {
    double last = 0;
    for (const band& each : bands)
        for (const interval& one : each.all) last = std::max(last, one.ended);
    return last;
}

std::string axis_of(double length, double scale, double bottom) {
    std::string text;
    const double tick = tick_of(length);
    for (int i = 0; i * tick <= length; ++i) {
        const double x = left + i * tick * scale;
        text += fmt::format(R"(<line x1="{0:.2f}" y1="{1}" x2="{0:.2f}" y2="{2}" stroke="#ddd"/>)"
                            R"(<text x="{0:.2f}" y="{3}" text-anchor="middle">{4:g}</text>)"
                            "\n",
                            x, top, bottom, bottom + 16, i * tick * 1e3);
    }
    return text + fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">ms</text>\n", left - 8, bottom + 16);
}

/// Begins at `y`; says where the next one may.
double draw(std::string& into, const band& what, const char* colour, double y, double scale) {
    const auto rows = rows_of(what.all);
    into += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", left - 8, y + row_height - 5, escaped(what.name));
    int used = 1;
    for (std::size_t i = 0; i < what.all.size(); ++i) {
        const interval& each = what.all[i];
        used = std::max(used, rows[i] + 1);
        into +=
            fmt::format(R"(<rect x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{}" fill="{}"><title>{}: {:.3f} to {:.3f} ms</title></rect>)"
                        "\n",
                        left + each.began * scale, y + rows[i] * row_height, std::max(0.5, (each.ended - each.began) * scale),
                        row_height - 2, colour, escaped(each.name), each.began * 1e3, each.ended * 1e3);
    }
    return y + used * row_height + gap;
}

}  // namespace

std::vector<int> rows_of(const std::vector<interval>& all) {
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return all[a].began < all[b].began; });
    std::vector<double> ends;  // of the rows
    std::vector<int> rows(all.size());
    for (const std::size_t index : order) {
        const auto free = std::find_if(ends.begin(), ends.end(), [&](double end) { return end <= all[index].began; });
        rows[index] = static_cast<int>(free - ends.begin());
        if (free == ends.end()) ends.push_back(all[index].ended);
        else *free = all[index].ended;
    }
    return rows;
}

std::string drawn(const std::string& title, const std::vector<band>& bands) {
    const double length = std::max(last_of(bands), 1e-9), scale = (width - left - right) / length;
    std::string bars;
    double y = top + gap;
    for (std::size_t i = 0; i < bands.size(); ++i) y = draw(bars, bands[i], colours[i % std::size(colours)], y, scale);
    return fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" font-family="sans-serif" font-size="12">)"
                       "\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n<text x=\"{2}\" y=\"24\" font-size=\"15\">{3}</text>\n",
                       width, y + axis, left, escaped(title)) +
           axis_of(length, scale, y) + bars + "</svg>\n";
}

}  // namespace gpu_bench
