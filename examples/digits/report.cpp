#include "digits/report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace digits {
namespace {

std::string number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

std::string number(std::optional<double> value) { return value ? number(*value) : "null"; }

// The length of the UTF-8 sequence at the start of `text`, or 0 where it is not valid (RFC 3629: no overlong forms, no surrogates).
std::size_t sequence_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    const unsigned first = byte(0);
    const unsigned second = byte(1);
    if (first < 0x80) return 1;
    if (first < 0xc2 || first > 0xf4) return 0;
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
    if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
    std::size_t length = 2;
    if (first >= 0xe0) length = 3;
    if (first >= 0xf0) length = 4;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xc0U) != 0x80) return 0;
    return length;
}

// A file name may hold any bytes; JSON may not.
std::string quoted(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        const std::size_t length = sequence_length(text);
        const auto code = static_cast<unsigned char>(text.front());
        if (length == 0) out += "\\ufffd";
        else if (code == '"' || code == '\\') out += {'\\', text.front()};
        else if (code < 0x20) out += fmt::format("\\u{:04x}", code);
        else out += text.substr(0, length);
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return out + '"';
}

std::string epoch_object(const epoch_report& what) {
    return fmt::format(R"({{"epoch": {}, "loss": {}, "accuracy": {}, "samples_per_second": {}, "hidden": {}}})", what.epoch,
                       number(what.loss), number(what.accuracy), number(what.samples_per_second), number(what.hidden));
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
    std::string text = fmt::format("{{\n  \"ranks\": {},\n  \"batch\": {},\n  \"rate\": {},\n  \"seed\": {},\n  \"data\": {},\n",
                                   what.ranks, what.batch, number(what.rate), what.seed, quoted(what.data));
    text += "  \"epochs\": [";
    for (std::size_t i = 0; i < what.epochs.size(); ++i) text += (i == 0 ? "\n    " : ",\n    ") + epoch_object(what.epochs[i]);
    return text + fmt::format("\n  ],\n  \"seconds\": {},\n  \"identical\": {}\n}}\n", number(what.seconds), what.identical);
}

}  // namespace digits
