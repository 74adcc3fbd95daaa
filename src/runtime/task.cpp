#include <tutti/error.hpp>
#include <tutti/task.hpp>

#include "base/check.hpp"

#include <fmt/format.h>

namespace tutti::detail {
namespace {

thread_local int forsaken_on_this_thread = 0;

/// "tutti::task<int> ns::train(model&)" -> "ns::train"
std::string_view name_in(std::string_view signature) {
    constexpr std::string_view unnamed = "(anonymous namespace)";
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i < signature.size(); ++i) {
        if (signature.substr(i, unnamed.size()) == unnamed) {
            i += unnamed.size() - 1;
            continue;
        }
        const char c = signature[i];
        if (c == '<') ++depth;
        if (c == '>') --depth;
        if (depth != 0) continue;
        if (c == ' ') begin = i + 1;
        if (c == '(') return signature.substr(begin, i - begin);
    }
    return signature;
}

/// "tutti::detail::tasks::when_all" -> "tutti::when_all", which users call.
std::string short_name(std::string_view signature) {
    std::string name(name_in(signature));
    constexpr std::string_view inner = "detail::tasks::";
    if (const auto place = name.find(inner); place != std::string::npos) name.erase(place, inner.size());
    return name;
}

std::string_view file_name(const std::source_location& where) {
    const std::string_view path = where.file_name();
    return path.substr(path.find_last_of('/') + 1);
}

class main_task final : public task_owner {
public:
    explicit main_task(event_loop& loop) noexcept : loop_(loop) {}
    void ended(promise_base&) noexcept override { loop_.stop(); }

private:
    event_loop& loop_;
};

}  // namespace

bool promise_base::start(promise_base& parent) noexcept {
    TUTTI_CHECK(!started_, "a task is awaited twice");
    started_ = true;
    parent_ = &parent;
    loop_ = parent.loop_;
    token_ = parent.token_;
    // Not by symmetric transfer: the parent goes on below us on the stack when we end at once, so a loop of such awaits
    // needs no more stack than a loop of calls, whatever the compiler makes of tail calls.
    starting_ = true;
    self_.resume();
    starting_ = false;
    return !done_;
}

void promise_base::start(event_loop& loop, cancel_token token, task_owner& owner) noexcept {
    TUTTI_CHECK(!started_, "a task is started twice");
    started_ = true;
    owner_ = &owner;
    loop_ = &loop;
    token_ = token;
    resume_soon();
}

bool start_child(promise_base* child, promise_base& parent) noexcept {
    TUTTI_CHECK(child != nullptr, "a task is awaited after it was moved away");
    return child->start(parent);
}

void promise_base::destroy() noexcept {
    if (done_ || !started_) return self_.destroy();
    const forsaking guard(*this);
    self_.destroy();
}

void promise_base::explain(explanation& out) const {
    std::string line = fmt::format("{} ({}:{})", short_name(made_by_.function_name()), file_name(made_by_), made_by_.line());
    if (done_ || explain_wait_ == nullptr) return out.line(line + (done_ ? " has ended" : " has not begun"));
    out.line(line + fmt::format(" waits at {}:{} for", file_name(waits_at_), waits_at_.line()));
    out.deeper();
    explain_wait_(waits_for_, out);
    out.back();
}

forsaking::forsaking() noexcept { ++forsaken_on_this_thread; }
forsaking::forsaking(promise_base& task) noexcept : forsaking() { task.loop().withdraw(task); }
forsaking::~forsaking() { --forsaken_on_this_thread; }
bool forsaking::going_on() noexcept { return forsaken_on_this_thread != 0; }

void explanation::line(std::string_view text) {
    text_.append(2 * depth_, ' ');
    text_ += text;
    text_ += '\n';
}

void run_to_end(event_loop& loop, promise_base* main) {
    TUTTI_CHECK(main != nullptr, "a task is run after it was moved away");
    if (loop.here()) throw failure(error::invalid_argument, "run() is called on the loop it would run; await the task instead");
    main_task owner(loop);
    main->start(loop, cancel_token(), owner);
    loop.run();
    if (main->done()) return;
    explanation why;
    main->explain(why);
    // ~task destroys what is left, without resuming it.
    if (loop.has_virtual_time()) throw failure(error::timed_out, "nothing can run any more, but the task has not ended:\n" + why.text());
    throw failure(error::cancelled, "the loop was stopped before the task ended:\n" + why.text());
}

}  // namespace tutti::detail
