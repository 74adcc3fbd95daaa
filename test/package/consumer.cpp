// A stranger's first program: it sees nothing but the installed headers and what pkg-config says.
#include <tutti/tutti.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace {

/// What functions of the library throw, not inline ones, is caught by its type.
bool catches(tutti::communicator& alone) {
    std::vector<float> gradient(3);
    try {
        const tutti::reducer too_small(alone, {{"gradient", gradient}}, {.bucket = 1});
    } catch (const tutti::failure& why) {
        return why.code() == tutti::error::invalid_argument;
    }
    return false;
}

/// Of an operation that ends in the library it is seen here that it has ended.
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

int main() {
    static_assert(TUTTI_VERSION_MAJOR + TUTTI_VERSION_MINOR + TUTTI_VERSION_PATCH > 0);
    const tutti::result<> answer = tutti::failure(tutti::error::timed_out, "nobody came");
    if (answer || std::string(answer.failure().what()) != "nobody came") return 1;
    if (static_cast<float>(tutti::float16(1.5f)) != 1.5f) return 1;
    tutti::context home;
    tutti::event_loop loop;
    if (!tutti::run(loop, sum_alone(home))) return 1;
    std::puts(("the installed copy of " + std::string(tutti::version) + " works").c_str());
}
