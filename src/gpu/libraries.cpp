#include "gpu/libraries.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace tutti::gpu {
namespace {

constexpr int oldest_driver = 12000;
constexpr int oldest_nccl = NCCL_VERSION(2, 18, 0);

std::string driver_version(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }
std::string nccl_version(int number) { return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100); }

template <class Function>
void take(Function& place, const library& from, const char* name, std::vector<std::string>& missing) {
    place = reinterpret_cast<Function>(symbol_in(from, name));
    if (!place) missing.emplace_back(name);
}

template <class... Words>
failure of_no_use(const library& from, fmt::format_string<Words...> text, Words&&... words) {
    return failure(error::unsupported, fmt::format("{} {}", from.path, fmt::format(text, std::forward<Words>(words)...)));
}

// In two steps, so that macros of cuda.h, which name the versions of functions, are replaced first.
#define TUTTI_TEXT(symbol) TUTTI_QUOTED(symbol)
#define TUTTI_QUOTED(symbol) #symbol
#define TUTTI_REQUIRED(symbol) take(all.table.symbol, all.from, TUTTI_TEXT(symbol), lacking);
#define TUTTI_OPTIONAL(symbol) take(all.table.symbol, all.from, TUTTI_TEXT(symbol), all.missing);

std::optional<failure> check_version(loaded<driver_table>& all) {
    std::vector<std::string> lacking;
    TUTTI_REQUIRED(cuDriverGetVersion)
    if (!lacking.empty()) return of_no_use(all.from, "is no CUDA driver: it lacks cuDriverGetVersion");
    int number = 0;
    if (const CUresult code = all.table.cuDriverGetVersion(&number); code != CUDA_SUCCESS)
        return of_no_use(all.from, "does not tell its version: {}", text_of(all.table, code));
    all.version = driver_version(number);
    if (number < oldest_driver)
        return of_no_use(all.from, "is too old: it serves CUDA {}, and {} is needed", all.version, driver_version(oldest_driver));
    return {};
}

std::optional<failure> check_version(loaded<nccl_table>& all) {
    std::vector<std::string> lacking;
    TUTTI_REQUIRED(ncclGetVersion)
    if (!lacking.empty()) return of_no_use(all.from, "is no NCCL: it lacks ncclGetVersion");
    int number = 0;
    if (const ncclResult_t code = all.table.ncclGetVersion(&number); code != ncclSuccess)
        return of_no_use(all.from, "does not tell its version: NCCL error {}", static_cast<int>(code));
    all.version = nccl_version(number);
    if (number < oldest_nccl)
        return of_no_use(all.from, "is too old: it is NCCL {}, and {} is needed", all.version, nccl_version(oldest_nccl));
    return {};
}

void fill(loaded<driver_table>& all, std::vector<std::string>& lacking) {
    TUTTI_DRIVER_SYMBOLS(TUTTI_REQUIRED)
    TUTTI_OPTIONAL_DRIVER_SYMBOLS(TUTTI_OPTIONAL)
}

void fill(loaded<nccl_table>& all, std::vector<std::string>& lacking) {
    TUTTI_NCCL_SYMBOLS(TUTTI_REQUIRED)
    TUTTI_OPTIONAL_NCCL_SYMBOLS(TUTTI_OPTIONAL)
}

/// Checks the version first, so that an old library is reported as old and not as incomplete.
template <class Table>
loaded<Table> load(const char* variable, const char* soname) {
    loaded<Table> all;
    auto opened = open_library(variable, soname);
    if (!opened) {
        all.why_not = opened.failure();
        return all;
    }
    all.from = std::move(*opened);
    all.why_not = check_version(all);
    if (all.why_not) return all;
    std::vector<std::string> lacking;
    fill(all, lacking);
    if (!lacking.empty()) all.why_not = of_no_use(all.from, "lacks {}", fmt::join(lacking, ", "));
    return all;
}

}  // namespace

loaded<driver_table> load_driver() {
    auto all = load<driver_table>("TUTTI_CUDA_LIBRARY", "libcuda.so.1");
    if (!all) return all;
    if (const CUresult code = all.table.cuInit(0); code != CUDA_SUCCESS)
        all.why_not = of_no_use(all.from, "does not start: {}", text_of(all.table, code));
    return all;
}

loaded<nccl_table> load_nccl() { return load<nccl_table>("TUTTI_NCCL_LIBRARY", "libnccl.so.2"); }

const loaded<driver_table>& driver() {
    static const auto& mine = *new loaded(load_driver());  // never destroyed: a device's thread may end after main() has
    return mine;
}

const loaded<nccl_table>& nccl() {
    static const auto& mine = *new loaded(load_nccl());
    return mine;
}

std::string text_of(const driver_table& driver, CUresult code) {
    const char *name = nullptr, *words = nullptr;
    if (driver.cuGetErrorName) driver.cuGetErrorName(code, &name);
    if (driver.cuGetErrorString) driver.cuGetErrorString(code, &words);
    if (!name) return fmt::format("CUDA error {}", static_cast<int>(code));
    return words ? fmt::format("{}: {}", name, words) : name;
}

}  // namespace tutti::gpu
