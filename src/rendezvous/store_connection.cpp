#include "rendezvous/store_connection.hpp"

#include "rendezvous/dial.hpp"

namespace tutti {

/// A key that the client waits for. The reply leaves when the key is set.
class store_connection::remote_get final : public key_waiter {
public:
    remote_get(store_connection& from, std::uint64_t id, std::string key) : key_waiter(from.loop_, std::move(key)), from_(from), id_(id) {}
    ~remote_get() { from_.table_.forget(*this); }

    store_reply reply() const {
        store_reply told;
        told.value = value();
        return told;
    }

private:
    void run() noexcept override {
        from_.answer(id_, reply());
        from_.gets_.erase(id_);  // ends this object
    }

    store_connection& from_;
    std::uint64_t id_;
};

store_connection::store_connection(connection_owner& owner, event_loop& loop, memory_table::state& table, asio::ip::tcp::socket socket)
    : owner_(owner),
      loop_(loop),
      table_(table),
      local_address_(local_address_of(socket)),
      socket_(std::make_shared<frame_socket>(std::move(socket), static_cast<frame_listener&>(*this))) {
    loop_.start_timer(hello_alarm_, loop_.now() + hello_time);
    socket_->start(protocol::mark.size(), protocol::max_hello_bytes);
}

store_connection::~store_connection() {
    loop_.stop_timer(hello_alarm_);
    gets_.clear();
    socket_->close();
}

void store_connection::ended(const std::string& why) { break_off(why); }

void store_connection::break_off(const std::string& why) noexcept {
    if (peer_ >= 0 && !leaves_) owner_.lost(peer_, why);
    leave();
}

void store_connection::arrived(std::string_view body) {
    if (!marked_) {
        if (body != protocol::mark) return leave();
        marked_ = true;
    } else if (peer_ < 0) {
        greet(body);
    } else if (std::optional<protocol::numbered_request> asked = protocol::parse_request(body)) {
        serve(*std::move(asked));
    } else {
        break_off("it sent what no rank sends");
    }
}

void store_connection::greet(std::string_view body) {
    const std::optional<protocol::hello> who = protocol::parse_hello(body);
    if (!who) return leave();
    if (const std::string why = owner_.judge(*who); !why.empty()) {
        answer(0, store_reply::refusal(why));
        return leave();
    }
    loop_.stop_timer(hello_alarm_);
    peer_ = who->me;
    ticket_ = who->ticket;
    socket_->allow(protocol::max_frame_bytes);
    answer(0, store_reply());
}

void store_connection::serve(protocol::numbered_request asked) {
    if (asked.request.op == store_op::get) return wait(std::move(asked));
    if (asked.request.op == store_op::leave) {
        leaves_ = true;
        return;
    }
    if (asked.request.op == store_op::forget) {
        gets_.erase(static_cast<std::uint64_t>(asked.request.delta));
        return;
    }
    answer(asked.id, table_.apply(asked.request));
}

void store_connection::wait(protocol::numbered_request asked) {
    if (gets_.contains(asked.id)) return break_off("it sent what no rank sends");
    if (gets_.size() == max_gets) return answer(asked.id, store_reply::refusal("too many keys are waited for"));
    auto waiter = std::make_unique<remote_get>(*this, asked.id, std::move(asked.request.key));
    if (table_.get_or_wait(*waiter)) answer(asked.id, waiter->reply());
    else gets_.emplace(asked.id, std::move(waiter));
}

}  // namespace tutti
