// The store whose keys are in this process.
#include "rendezvous/channel.hpp"
#include "rendezvous/key_table.hpp"
#include "rendezvous/timed_event.hpp"

#include <tutti/sleep.hpp>

namespace tutti {
namespace {

/// A task that waits for a key.
class waiting_get final : public key_waiter {
public:
    waiting_get(memory_table::state& table, event_loop& loop, std::string key, time_point deadline)
        : key_waiter(loop, std::move(key)),
          table_(table),
          answer_(deadline) {
        if (table_.get_or_wait(*this)) answer_.set();
    }
    ~waiting_get() { table_.forget(*this); }

    timed_event& answer() noexcept { return answer_; }

private:
    void run() noexcept override { answer_.set(); }

    memory_table::state& table_;
    timed_event answer_;
};

class channel_to_memory final : public request_channel {
public:
    explicit channel_to_memory(memory_table::state& table) : table_(table) {}

    task<result<store_reply>> ask(store_request request, time_point deadline) override {
        if (request.op != store_op::get) co_return table_.apply(request);
        event_loop& loop = co_await this_loop;
        waiting_get waiter(table_, loop, std::move(request.key), deadline);
        const bool set = co_await waiter.answer();
        if (!set) co_return failure(error::timed_out, "");
        store_reply reply;
        reply.value = waiter.value();
        co_return reply;
    }
    task<result<>> close(time_point) override { co_return result<>(); }
    std::string name() const override { return "store in memory"; }

private:
    memory_table::state& table_;
};

}  // namespace

std::unique_ptr<request_channel> memory_channel(memory_table::state& table) { return std::make_unique<channel_to_memory>(table); }

std::unique_ptr<store> memory_store(memory_table& table) { return asking_store(memory_channel(table.inner()), -1); }

}  // namespace tutti
