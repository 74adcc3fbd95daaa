// Reads the names and values that a user types.
#pragma once

#include "algorithm/catalogue.hpp"

#include <tutti/cost_model.hpp>

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>

namespace plan {

/// Told in one line; exit code 2.
struct bad_input : std::runtime_error {
    using std::runtime_error::runtime_error;
};

std::string names_of(std::optional<tutti::collective> kind);
tutti::collective collective_named(const std::string& text);
const tutti::algorithm& algorithm_named(const std::string& kind, const std::string& text);

/// "4", "64KiB", "25MiB".
double bytes_in(const std::string& option, const std::string& text);
/// "20us", "1.5ms", "2s".
double seconds_in(const std::string& option, const std::string& text);
/// Bytes in a second: "100Gbit", "12.5GB", "10GiB".
double rate_in(const std::string& option, const std::string& text);
/// "shm,cores=2,round=8e-6"; empty: those that ranks on this host have by default.
tutti::cost_model costs_given(const std::string& text);

/// "4": 4 ranks on each host, one after the other; "0,1,0,1": the host of each rank; empty: all on one.
tutti::host_map hosts_given(const std::string& text, int size);

/// "64KiB", or bytes where that is not exact.
std::string size_text(double bytes);
/// "4 ranks", "4 ranks on 2 hosts".
std::string ranks_text(int size, const tutti::host_map& hosts);

}  // namespace plan
