#include "rendezvous/name_service.hpp"

#include "base/descriptors.hpp"
#include "base/quiet_thread.hpp"
#include "rendezvous/bell.hpp"

#include <tutti/sleep.hpp>

#include <memory>

namespace tutti {
namespace {

using asio::ip::tcp;

/// Shared with Asio's handler: the system's resolver cannot be interrupted, and may answer when its question is forgotten.
struct question {
    question(event_loop& loop, bell& rings) : resolver(executor_of(loop)), answered(&rings) {}
    tcp::resolver resolver;
    bell* answered;  // null when the answer is not wanted any more
    boost::system::error_code error;
    std::vector<tcp::endpoint> found;
};

void ask(const std::shared_ptr<question>& what, const std::string& host, std::uint16_t port) {
    const signals_blocked in_the_thread_it_starts;
    what->resolver.async_resolve(host, std::to_string(port), tcp::resolver::numeric_service,
                                 [what](boost::system::error_code error, const tcp::resolver::results_type& found) {
                                     if (what->answered == nullptr) return;
                                     what->error = error;
                                     for (const auto& each : found) what->found.push_back(each.endpoint());
                                     what->answered->ring();
                                 });
}

}  // namespace

task<result<std::vector<tcp::endpoint>>> system_names::look_up(std::string host, std::uint16_t port, time_point deadline) {
    using all = std::vector<tcp::endpoint>;
    boost::system::error_code is_name;
    const asio::ip::address number = asio::ip::make_address(host, is_name);
    if (!is_name) co_return all{tcp::endpoint(number, port)};
    if (host == "localhost") co_return all{{asio::ip::address_v4::loopback(), port}, {asio::ip::address_v6::loopback(), port}};
    event_loop& loop = co_await this_loop;
    bell answered(deadline);
    const auto asked = std::make_shared<question>(loop, answered);
    struct parting {
        explicit parting(question& from) : from_(from) {}
        ~parting() {
            from_.answered = nullptr;
            from_.resolver.cancel();
        }
        question& from_;
    } const part(*asked);
    ask(asked, host, port);
    const bool rung = co_await answered;
    if (!rung) co_return failure(error::timed_out, "the name service did not answer");
    if (asked->error) {
        report why;
        why.code = out_of_descriptors(asked->error) ? std::error_code(asked->error) : make_error_code(error::system);
        why.cause = asked->error.message();
        co_return failure(std::move(why));
    }
    co_return std::move(asked->found);
}

}  // namespace tutti
