// The store whose keys are in a file: every process keeps a copy of the keys and reads what other processes have appended.
#include "base/descriptors.hpp"
#include "rendezvous/channel.hpp"
#include "rendezvous/key_table.hpp"
#include "rendezvous/log_file.hpp"

#include <tutti/sleep.hpp>

#include <algorithm>

namespace tutti {
namespace {

using namespace std::chrono_literals;

constexpr duration first_interval = 200us, longest_interval = 50ms;

class channel_to_file final : public request_channel {
public:
    explicit channel_to_file(log_file file) : file_(std::move(file)) {}

    // inotify reports no changes on network file systems, so a waiting rank polls the file, ever less often.
    task<result<store_reply>> ask(store_request request, time_point deadline) override {
        event_loop& loop = co_await this_loop;
        for (duration pause = first_interval;; pause = std::min(2 * pause, longest_interval)) {
            result<std::optional<store_reply>> reply = attempt(request);
            if (!reply) co_return reply.failure();
            if (*reply) co_return std::move(**reply);
            if (loop.now() >= deadline) co_return failure(error::timed_out, "");
            co_await sleep_until(std::min(loop.now() + pause, deadline));
        }
    }
    task<result<>> close(time_point) override { co_return result<>(); }
    std::string name() const override { return "store in " + file_.path(); }

private:
    /// Returns nothing if another process holds the file, or the key is not set yet.
    result<std::optional<store_reply>> attempt(const store_request& request) {
        result<bool> locks = file_.try_lock(request.op != store_op::get);
        if (!locks) return locks.failure();
        if (!*locks) return std::optional<store_reply>();
        result<std::optional<store_reply>> reply = locked(request);
        file_.unlock();
        return reply;
    }

    result<std::optional<store_reply>> locked(const store_request& request) {
        if (result<> read = catch_up(); !read) return read.failure();
        if (request.op == store_op::get) {
            std::optional<store_reply> reply;
            if (const std::string* value = keys_.find(request.key)) reply.emplace().value = *value;
            return reply;
        }
        const std::optional<std::string> before = copy(request.key);
        bool changed = false;
        store_reply reply = keys_.apply(request, changed);
        const log_record now{request.key, copy(request.key)};
        if (now.value == before) return std::optional(std::move(reply));
        result<> written = file_.append(now);
        if (written) return std::optional(std::move(reply));
        put(log_record{request.key, before});  // the record was not written, so the copy goes back too
        return written.failure();
    }

    result<> catch_up() {
        for (;;) {
            result<std::optional<log_record>> record = file_.next();
            if (!record) return record.failure();
            if (!*record) return {};
            put(**record);
        }
    }

    void put(const log_record& record) {
        store_request request(record.value ? store_op::set : store_op::erase, record.key);
        request.value = record.value.value_or("");
        bool changed = false;
        keys_.apply(request, changed);
    }

    std::optional<std::string> copy(const std::string& key) const {
        const std::string* value = keys_.find(key);
        return value != nullptr ? std::optional<std::string>(*value) : std::nullopt;
    }

    log_file file_;
    key_map keys_;
};

}  // namespace

result<std::unique_ptr<request_channel>> file_channel(const std::string& path) {
    result<log_file> file = log_file::open(path);
    if (!file) return file.failure();
    std::unique_ptr<request_channel> channel = std::make_unique<channel_to_file>(std::move(*file));
    return channel;
}

result<std::unique_ptr<store>> file_store(std::string path) {
    result<std::unique_ptr<request_channel>> channel = file_channel(path);
    if (!channel && out_of_descriptors(channel.failure().code()))
        return failure(error::system, "this process has " + no_descriptor_left("the store", channel.failure().code()));
    if (!channel) return channel.failure();
    return asking_store(std::move(*channel), -1);
}

}  // namespace tutti
