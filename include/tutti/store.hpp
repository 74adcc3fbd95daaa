// Stores: keys and values that every rank of a job sees, by which ranks find each other.
#pragma once

#include <tutti/detail/compiler.hpp>
#include <tutti/result.hpp>
#include <tutti/task.hpp>
#include <tutti/world.hpp>

#include <memory>
#include <optional>
#include <string>

namespace [[gnu::visibility("default")]] tutti {

/// One rank's view of the shared keys. It is used on the loop of the task that opened it; several operations may be under way at once. Each
/// ends by its deadline, with error::timed_out naming the store and the key. Derive from it to bring your own.
class store {
public:
    static constexpr std::size_t max_key_bytes = 4 * KiB;
    static constexpr std::size_t max_value_bytes = 1 * MiB;

    virtual ~store() = default;

    /// Returns the value of `key` as soon as some rank has set it.
    virtual task<result<std::string>> get(std::string key, time_point deadline) = 0;
    virtual task<result<>> set(std::string key, std::string value, time_point deadline) = 0;
    /// Adds to a decimal number, which is 0 if the key is not set, and returns the sum.
    virtual task<result<std::int64_t>> add(std::string key, std::int64_t delta, time_point deadline) = 0;
    /// Sets `key` to `desired` if its value is `expected` (nullopt: if it is not set). Returns whether it did.
    virtual task<result<bool>> compare_set(std::string key, std::optional<std::string> expected, std::string desired,
                                           time_point deadline) = 0;
    /// Returns whether the key existed.
    virtual task<result<bool>> erase(std::string key, time_point deadline) = 0;
    /// Closes the store; no operation may be under way. The rank that keeps the store waits here until the others have closed theirs;
    /// error::timed_out names those that have not. Later operations end with error::closed. A destructor closes without waiting.
    virtual task<result<>> close(time_point deadline) = 0;
    /// Returns the numeric address of this host on its connection with the store, which ranks tell each other as theirs. The rank that
    /// keeps the store returns the address by which most others have come. Empty if unknown.
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
    /// For the library.
    state& inner() noexcept { return *state_; }

private:
    std::unique_ptr<state> state_;
};

/// Makes one rank's store of the keys in `table`.
TUTTI_API std::unique_ptr<store> memory_store(memory_table& table);

/// Opens a store in a file that all ranks, on one host, can write. A missing file is created; the file stays.
TUTTI_API result<std::unique_ptr<store>> file_store(std::string path);

/// Returns a store with the keys under "prefix/", so that two users of one store do not see each other's keys.
TUTTI_API std::unique_ptr<store> prefixed(std::unique_ptr<store> inner, std::string prefix);

/// Returns a prefix of job and epoch, so that a restarted job never reads what the earlier run left behind.
TUTTI_API std::string store_prefix(const world& all);

/// Opens the job's store, with prefixed keys. Rank 0 keeps it at the master port, on the socket inherited from tutti-run if there is one.
/// The others try all addresses of the master, again and again, until the deadline (error::rendezvous_timeout). With a store path it is a
/// file; for one rank, memory. `all` outlives the await.
TUTTI_API task<result<std::unique_ptr<store>>> open_store(const world& all, time_point deadline);

}  // namespace tutti
