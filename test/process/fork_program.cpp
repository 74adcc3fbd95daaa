// A rank that forks. All that it has made is global, so a child that calls exit() destroys it; the argument says what the child does before.
// Meanwhile the rank has an operation pending, and afterwards it goes on as if nothing had happened.
#include <tutti/asio.hpp>
#include <tutti/persistent.hpp>
#include <tutti/reducer.hpp>
#include <tutti/tutti.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace tutti;  // not `link`, which is POSIX's too

namespace {

constexpr int forks = 4;
constexpr std::size_t many = 200'000;

std::unique_ptr<boost::asio::io_context> host_context;
std::unique_ptr<event_loop> loop;
std::shared_ptr<store> meeting;
std::unique_ptr<context> home;
std::unique_ptr<communicator> all, part;
std::vector<float> numbers(many), gradient(many);
shared_array<float> lent;
std::unique_ptr<reducer> gradients;
std::unique_ptr<persistent> step;
future<> pending;
future<received> message;

void check(bool claim, const char* what) {
    if (!claim) throw std::runtime_error(what);
}

/// Returns whether `call` fails because this is not its process.
bool refused(const char* name, const std::function<void()>& call) {
    try {
        call();
        std::printf("child: %s did not fail\n", name);
    } catch (const failure& why) {
        const std::string parent = "process " + std::to_string(getppid());
        if (why.code() == error::closed && std::string(why.what()).find("from which this one") != std::string::npos) return true;
        std::printf("child of %s: %s failed otherwise: %s\n", parent.c_str(), name, why.what());
    }
    return false;
}

int call_everything() {
    float one[1] = {};
    const std::array<buffer, 1> list{buffer(one, 1, data_type::f32)};
    const std::pair<const char*, std::function<void()>> calls[] = {
        {"all_reduce", [&] { all->all_reduce(one, sum).get(); }},
        {"all_reduce of a list", [&] { all->all_reduce(list, sum).get(); }},
        {"barrier", [&] { all->barrier().get(); }},
        {"monitored_barrier", [&] { all->monitored_barrier().get(); }},
        {"send", [&] { all->send(one, 1).get(); }},
        {"recv", [&] { all->recv(one, 1).get(); }},
        {"try_recv", [&] { (void)all->try_recv(one, 1); }},
        {"probe", [&] { all->probe(1).get(); }},
        {"try_probe", [&] { (void)all->try_probe(1); }},
        {"exchange", [&] { all->exchange(send_to(one, 1)).get(); }},
        {"watch", [&] { all->watch().get(); }},
        {"spin", [&] { all->spin(all->barrier()); }},
        {"allocate", [&] { (void)all->allocate<float>(1); }},
        {"a persistent call", [&] { step->start().get(); }},
        {"ready", [&] { gradients->ready(0); }},
        {"a pending future", [&] { pending.get(); }},
        {"a pending receive", [&] { message.get(); }},
    };
    bool good = true;
    for (const auto& [name, call] : calls) good = refused(name, call) && good;
    all->abort("a child does not end its parent's job");
    event_loop own;
    const std::pair<const char*, std::function<void()>> tasks[] = {
        {"join", [&] { run(own, home->join(*world_from_environment())); }},
        {"split", [&] { run(own, all->split(0, 0)); }},
        {"close", [&] { run(own, all->close()); }},
        {"finish", [&] { run(own, gradients->finish()); }},
        {"the store", [&] { run(own, meeting->get("key", own.now())).value(); }},
        {"the loop", [&] { loop->run(); }},
        {"a context on the loop", [&] { const context other(*loop, nullptr); }},
    };
    for (const auto& [name, call] : tasks) good = (std::string(name) == "the loop" && host_context ? true : refused(name, call)) && good;
    return good ? 0 : 3;
}

task<int> own_job(context& mine) {
    auto joining = mine.join(world());
    const auto alone = co_await std::move(joining);
    std::vector<int> one(1000, 7);
    co_await alone->all_reduce(one, sum);
    auto closing = alone->close();
    co_await std::move(closing);
    co_return one.back() == 7 ? 0 : 4;
}

int make_its_own() {
    event_loop own;
    context mine;
    return run(own, own_job(mine));
}

/// From the last to the first, or the other way around.
int destroy(bool reverse) {
    const std::function<void()> steps[] = {[] { message = {}; },    [] { pending = {}; },  [] { step.reset(); }, [] { gradients.reset(); },
                                           [] { lent = {}; },       [] { part.reset(); },  [] { all.reset(); },  [] { home.reset(); },
                                           [] { meeting.reset(); }, [] { loop.reset(); }, [] { host_context.reset(); }};
    for (std::size_t at = 0; at < std::size(steps); ++at) steps[reverse ? std::size(steps) - 1 - at : at]();
    return 0;
}

int in_child(const std::string& what) {
    if (what == "calls") return call_everything();
    if (what == "own") return make_its_own();
    if (what == "destroys") return destroy(false);
    if (what == "destroys_backwards") return destroy(true);
    return 0;
}

/// With globals destroyed.
void fork_one(const std::string& what) {
    const pid_t child = fork();
    if (child == 0) {
        int code = 5;
        try {
            code = in_child(what);
        } catch (const std::exception& why) {
            std::printf("child: %s\n", why.what());
        }
        std::fflush(stdout);
        std::exit(code);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) std::printf("child: killed by signal %d\n", WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0) std::printf("child: exited with %d\n", WEXITSTATUS(status));
    check(status == 0, "a child did not end well");
}

task<> after_fork(int round) {
    std::fill(gradient.begin(), gradient.end(), static_cast<float>(all->rank()));
    gradients->ready(0);
    co_await gradients->finish();
    check(gradient.back() == 0.5f, "the average is wrong");
    co_await step->start();
    co_await all->all_reduce(lent, sum);
    check(lent[0] == 2 && lent[many - 1] == 2, "what was lent has changed");
    std::fill(lent.begin(), lent.end(), 1.0f);
    co_await part->barrier();
    const auto limit = loop->now() + std::chrono::seconds(10);
    const std::string key = "after " + std::to_string(round);
    if (all->rank() == 0) (co_await meeting->set(key, "good", limit)).value();
    auto asking = meeting->get(key, limit);
    check((co_await std::move(asking)).value() == "good", "the store does not answer");
}

task<> work(std::string what) {
    const auto who = *world_from_environment();
    auto joining = home->join(who, meeting);
    all = co_await std::move(joining);
    auto splitting = all->split(0, all->rank());
    part = co_await std::move(splitting);
    lent = all->allocate<float>(many);
    std::fill(lent.begin(), lent.end(), 1.0f);
    std::vector<parameter> parameters;
    parameters.emplace_back("one", gradient);
    gradients = std::make_unique<reducer>(*all, std::move(parameters));
    step = std::make_unique<persistent>([](call_options how) { return all->barrier(how); });
    auto comparison = gradients->agree();
    co_await std::move(comparison);
    for (int round = 0; round < forks; ++round) {
        if (all->rank() == 0) {
            pending = part->all_reduce(numbers, sum);
            message = all->recv(std::span<int>(), 1);
            fork_one(what);
        } else {
            co_await sleep_for(std::chrono::milliseconds(20));  // until then rank 0 waits in both
            pending = part->all_reduce(numbers, sum);
            co_await all->send(std::span<int>(), 0);
        }
        co_await std::move(pending);
        if (all->rank() == 0) co_await std::move(message);
        auto rest = after_fork(round);
        co_await std::move(rest);
    }
    step.reset();
    gradients.reset();
    for (auto* each : {&part, &all}) {
        auto closing = (*each)->close();
        co_await std::move(closing);
    }
    std::printf("rank %d closed\n", who.me);
}

/// The child does not know that it is one: it goes on with the task it was forked in.
task<> go_on(communicator& world) {
    std::vector<int> one(100);
    co_await world.all_reduce(one, sum);
    const bool child = world.rank() == 0 && fork() == 0;
    if (child) std::printf("child: goes on\n"), std::fflush(stdout);
    co_await world.all_reduce(one, sum);
    if (child) co_await sleep_for(std::chrono::milliseconds(1));
    int status = 0;
    if (world.rank() == 0) wait(&status);
    for (int turn = 0; turn < 100; ++turn) co_await world.all_reduce(one, sum);
    std::printf("rank %d: the child exited with %d\n", world.rank(), WEXITSTATUS(status));
}

task<std::shared_ptr<store>> open(const world& who) {
    auto opened = co_await open_store(who, loop->now() + std::chrono::seconds(20));
    co_return std::shared_ptr<store>(std::move(opened).value());
}

task<> work_with_store(std::string what) {
    const auto who = *world_from_environment();
    auto opening = open(who);
    meeting = co_await std::move(opening);
    auto working = work(std::move(what));
    co_await std::move(working);
}

int guest(const std::string& what) {
    host_context = std::make_unique<boost::asio::io_context>(1);
    loop = std::make_unique<event_loop>(host(host_context->get_executor()));
    home = std::make_unique<context>(*loop, nullptr, *with_environment({}));
    int code = 1;
    async_run(*loop, work_with_store(what), [&code](std::exception_ptr wrong) {
        host_context->stop();
        try {
            if (wrong) std::rethrow_exception(wrong);
            code = 0;
        } catch (const std::exception& why) {
            std::printf("guest: %s\n", why.what());
        }
    });
    host_context->run();
    return code;
}

}  // namespace

int main(int argc, char** argv) try {
    const std::string what = argc > 1 ? argv[1] : "", where = argc > 2 ? argv[2] : "";
    if (what == "goes_on") return run(go_on);
    if (where == "guest") return guest(what);
    loop = std::make_unique<event_loop>();
    context_options options;
    options.lanes = 2;
    options.threads = 2;
    home = std::make_unique<context>(*with_environment(options));
    loop->help(where == "helped" ? &home->progress() : nullptr);
    run(*loop, work_with_store(what));
    loop->help(nullptr);
} catch (const std::exception& why) {
    std::printf("fork_program: %s\n", why.what());
    return 1;
}
