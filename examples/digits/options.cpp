#include "digits/options.hpp"

#include "digits/input_error.hpp"

#include <CLI/CLI.hpp>

#include <charconv>

namespace digits {
namespace {

constexpr int max_epochs = 100'000;
constexpr std::size_t max_batch = 1'000'000;
constexpr double max_rate = 100;

// CLI11 takes -1 and 2^64 for unsigned numbers.
std::string check_seed(const std::string& text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    return whole ? "" : "expected an integer from 0 to 18446744073709551615, not " + text;
}

void declare(CLI::App& app, options& chosen) {
    app.add_option("--epochs", chosen.epochs, "Passes over the training images")->check(CLI::Range(1, max_epochs))->capture_default_str();
    app.add_option("--batch", chosen.batch, "Images per step, over all ranks together")
        ->check(CLI::Range(std::size_t{1}, max_batch))
        ->capture_default_str();
    app.add_option("--rate", chosen.rate, "Learning rate")->capture_default_str();
    app.add_option("--seed", chosen.seed, "Seed of the first weights and of the order of the images")
        ->check(check_seed)
        ->capture_default_str();
    app.add_flag("--device", chosen.device, "Train on a GPU: each rank on the one of its number on its host");
    app.add_option("--data", chosen.data, "CSV file: 64 pixels (0 to 16) and a label (0 to 9) a row")->capture_default_str();
    app.add_option("--json", chosen.json, "Write the curve as JSON, to FILE or to standard output")->type_name("[FILE]")->expected(0, 1);
    app.add_option("--plot", chosen.plot, "Draw loss and hidden communication as SVG")->type_name("FILE");
}

}  // namespace

options parse_options(int argc, const char* const* argv, const std::string& data) {
    options chosen;
    chosen.data = data;
    CLI::App app("Trains a perceptron on handwritten digits, on as many ranks as there are.", "digits");
    declare(app, chosen);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        chosen.help = app.help();
    } catch (const CLI::Error& error) {
        throw input_error(error.what());
    }
    // Not CLI::Range: it lets NaN pass.
    if (!(chosen.rate > 0 && chosen.rate <= max_rate))
        throw input_error("--rate: expected a number above 0 and up to " + std::to_string(static_cast<int>(max_rate)));
    if (chosen.json && chosen.json->empty()) chosen.json = "-";
    return chosen;
}

}  // namespace digits
