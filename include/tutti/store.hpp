// Where ranks that do not know each other yet leave and find messages: keys and values that every rank of a job sees.
#pragma once

#include <tutti/detail/compiler.hpp>
#include <tutti/result.hpp>
#include <tutti/task.hpp>
#include <tutti/world.hpp>

#include <memory>
#include <optional>
#include <string>

namespace [[gnu::visibility("default")]] tutti {

/// One rank's view of the shared keys. Used on the loop of the task that opened it; several operations may be under way at once.
/// Each ends by its deadline: with error::timed_out, naming the store and the key. Implement it to bring your own.
class store {
public:
    static constexpr std::size_t max_key_bytes = 4 * KiB;
    static constexpr std::size_t max_value_bytes = 1 * MiB;

    virtual ~store() = default;

    /// The value of `key`, as soon as somebody has set it.
    virtual task<result<std::string>> get(std::string key, time_point deadline) = 0;
    virtual task<result<>> set(std::string key, std::string value, time_point deadline) = 0;
    /// Adds to a decimal number, 0 when the key is not set, and returns the sum.
    virtual task<result<std::int64_t>> add(std::string key, std::int64_t delta, time_point deadline) = 0;
    /// Sets `key` to `desired` if its value is `expected` (nullopt: if it is not set). Whether it did.
    virtual task<result<bool>> compare_set(std::string key, std::optional<std::string> expected, std::string desired,
                                           time_point deadline) = 0;
    /// Whether there was such a key.
    virtual task<result<bool>> erase(std::string key, time_point deadline) = 0;
    /// No operation may be under way. The rank that keeps the store waits here until the others have closed theirs, and tells by
    /// error::timed_out which have not. Afterwards every operation is error::closed. A destructor closes without waiting.
    virtual task<result<>> close(time_point deadline) = 0;
    /// The address of this host, as a number, by which it is connected with the store: at the rank that keeps the store by which the others
    /// have come, of several the one by which most have. Ranks tell each other that as theirs. Empty where it is not known.
    virtual std::string local_address() const { return {}; }
};

/// Keys in this process's memory, for ranks that are threads or tasks of one program. It outlives its stores, which may be on different
/// loops.
class memory_table {
public:
    memory_table();
    memory_table(const memory_table&) = delete;
    memory_table& operator=(const memory_table&) = delete;
    ~memory_table();

    class state;
    state& inner() noexcept { return *state_; }

private:
    std::unique_ptr<state> state_;
};
TUTTI_API std::unique_ptr<store> memory_store(memory_table& table);

/// Keys in a file that all ranks, on one host, can write. The file is made when it is missing, and stays.
TUTTI_API result<std::unique_ptr<store>> file_store(std::string path);

/// The same keys under "prefix/": two users of one store do not see each other's.
TUTTI_API std::unique_ptr<store> prefixed(std::unique_ptr<store> inner, std::string prefix);

/// Job and epoch, so that a job started again never reads what the one before it left behind.
TUTTI_API std::string store_prefix(const world& all);

/// The store of the job, its keys prefixed: rank 0 keeps it at the master port (on the socket inherited from tutti-run, if there is one), the
/// others connect to it, by all the addresses that the master address has, again and again until the deadline (error::rendezvous_timeout).
/// With a store path: a file. For one rank: memory. `all` outlives the await.
TUTTI_API task<result<std::unique_ptr<store>>> open_store(const world& all, time_point deadline);

}  // namespace tutti
