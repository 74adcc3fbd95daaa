// Cores of one host, by their numbers there.
#pragma once

#include <sched.h>

#include <string>
#include <string_view>

namespace tutti {

class core_set {
public:
    core_set() noexcept { CPU_ZERO(&cores_); }
    /// Returns the cores that the calling thread may run on; none if the system does not say.
    static core_set of_this_thread() noexcept;
    /// Reads what to_string() writes; no cores for another text.
    static core_set in(std::string_view text) noexcept;

    /// Returns hexadecimal digits of four cores each, the lowest first: "3" is cores 0 and 1, "08" is core 7.
    std::string to_string() const;
    int count() const noexcept { return CPU_COUNT(&cores_); }
    /// Returns the number of the core that has `index` cores of the set before it; -1 if there are not so many.
    int at(int index) const noexcept;
    void add(int core) noexcept { CPU_SET(core, &cores_); }
    void add(const core_set& others) noexcept { CPU_OR(&cores_, &cores_, &others.cores_); }
    /// Restricts the calling thread, and all that it starts, to these cores. Returns false if the system refuses.
    bool bind_this_thread() const noexcept { return ::sched_setaffinity(0, sizeof cores_, &cores_) == 0; }

    friend bool operator==(const core_set& a, const core_set& b) noexcept { return CPU_EQUAL(&a.cores_, &b.cores_); }

private:
    cpu_set_t cores_;
};

}  // namespace tutti
