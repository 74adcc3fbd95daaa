#include <tutti/error.hpp>
#include <tutti/scope.hpp>

namespace tutti {
namespace {

event_loop& loop_of_this_thread() {
    event_loop* const loop = event_loop::current();
    if (loop == nullptr) throw failure(error::invalid_argument, "a scope outside of any loop must be told which loop it is for");
    return *loop;
}

}  // namespace

scope::scope() : scope(loop_of_this_thread()) {}

void scope::start(task<> child) { children_.start(child.release()); }

}  // namespace tutti
