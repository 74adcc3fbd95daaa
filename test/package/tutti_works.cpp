// A stranger's code, which sees nothing of Tutti but the installed headers.
#include "tutti_works.hpp"

#include <tutti/tutti.hpp>

#include <string>
#include <vector>

namespace {

/// An exception of a function of the library, not an inline one, is caught by its type.
bool catches(tutti::communicator& alone) {
    std::vector<float> gradient(3);
    try {
        const tutti::reducer too_small(alone, {{"gradient", gradient}}, {.bucket = 1});
    } catch (const tutti::failure& why) {
        return why.code() == tutti::error::invalid_argument;
    }
    return false;
}

/// The end of an operation is seen here, although it ends in the library.
tutti::task<bool> sum_alone(tutti::context& home) {
    auto joining = home.join(tutti::world{});
    const auto alone = co_await std::move(joining);
    std::vector<float> ones(3, 1);
    tutti::future<> summing = alone->all_reduce(ones, tutti::sum);
    while (!summing.ready()) co_await tutti::yield();
    co_await std::move(summing);
    const bool caught = catches(*alone);
    auto closing = alone->close();
    co_await std::move(closing);
    if (!caught) co_return false;
    co_return ones == std::vector<float>(3, 1);
}

}  // namespace

bool tutti_works() {
    static_assert(TUTTI_VERSION_MAJOR + TUTTI_VERSION_MINOR + TUTTI_VERSION_PATCH > 0);
    const tutti::result<> answer = tutti::failure(tutti::error::timed_out, "nobody came");
    if (answer || std::string(answer.failure().what()) != "nobody came") return false;
    if (static_cast<float>(tutti::float16(1.5f)) != 1.5f) return false;
    tutti::context home;
    tutti::event_loop loop;
    return tutti::run(loop, sum_alone(home));
}
