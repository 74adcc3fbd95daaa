#include "rendezvous/name_service.hpp"

#include "base/descriptors.hpp"
#include "rendezvous/timed_event.hpp"
#include "runtime/name_question.hpp"

#include <tutti/sleep.hpp>

namespace tutti {
namespace {

using asio::ip::tcp;

class setter final : public detail::runnable {
public:
    explicit setter(timed_event& which) noexcept : event_(which) {}
    void run() noexcept override { event_.set(); }

private:
    timed_event& event_;
};

}  // namespace

task<result<std::vector<tcp::endpoint>>> system_names::look_up(std::string host, std::uint16_t port, time_point deadline) {
    using all = std::vector<tcp::endpoint>;
    boost::system::error_code is_name;
    const asio::ip::address number = asio::ip::make_address(host, is_name);
    if (!is_name) co_return all{tcp::endpoint(number, port)};
    if (host == "localhost") co_return all{{asio::ip::address_v4::loopback(), port}, {asio::ip::address_v6::loopback(), port}};
    event_loop& loop = co_await this_loop;
    timed_event answered(deadline);
    setter told(answered);
    const name_question asked(loop, host, port, told);
    const bool came = co_await answered;
    if (!came) co_return failure(error::timed_out, "the name service did not answer");
    if (asked.endpoints().empty()) {
        report why;
        why.code = out_of_descriptors(asked.code()) ? asked.code() : make_error_code(error::system);
        why.cause = asked.reason();
        co_return failure(std::move(why));
    }
    co_return asked.endpoints();
}

}  // namespace tutti
