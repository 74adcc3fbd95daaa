// A kernel that writes to an illegal address. From then on the device is of no use to the process, so this is a program with one test.
#include "gpu/conformance/skipped.hpp"
#include "gpu/conformance/testbed.hpp"
#include "gpu/device_state.hpp"

#include <tutti/event_loop.hpp>
#include <tutti/gpu/copy.hpp>
#include <tutti/gpu/device_buffer.hpp>
#include <tutti/gpu/device_code.hpp>
#include <tutti/gpu/pinned_buffer.hpp>
#include <tutti/task.hpp>

#include <string>
#include <vector>

using namespace tutti;
using test::testbed;

namespace {

void is_the_fault(const failure& found) {
    const std::string words = found.what();
    CAPTURE(words);
    CHECK(found.code() == error::device_failed);
    CHECK(words.find("CUDA_ERROR_ILLEGAL_ADDRESS") != std::string::npos);
}

/// Every call that needs the device, whatever it is for, gives the code of the first fault.
void every_call_fails(const testbed& bed, const gpu::device& card, const gpu::stream& stream, CUevent event, CUdeviceptr memory) {
    const auto& cuda = bed.cuda();
    const gpu::on_device here(cuda, card.inner()->context());
    for (int times = 0; times < 3; ++times) {
        CHECK(cuda.cuEventQuery(event) == CUDA_ERROR_ILLEGAL_ADDRESS);
        CHECK(cuda.cuStreamSynchronize(stream.handle()) == CUDA_ERROR_ILLEGAL_ADDRESS);
        CHECK(cuda.cuMemsetD8Async(memory, 0, 4, stream.handle()) == CUDA_ERROR_ILLEGAL_ADDRESS);
        CUdeviceptr more = 0;
        CHECK(cuda.cuMemAlloc(&more, 100) == CUDA_ERROR_ILLEGAL_ADDRESS);
    }
}

task<> break_down(const testbed& bed, gpu::device card) {
    const gpu::stream stream = gpu::stream::make(card).value(), other = gpu::stream::make(card).value();
    const auto memory = gpu::device_buffer<unsigned>::allocate(card, 1000).value();
    const auto host = gpu::pinned_buffer<unsigned>::allocate(card, 1000).value();
    const auto wrong = gpu::device_code::load(card, bed.code()).value().find("written_nowhere").value();
    CUevent event = nullptr;
    {
        const gpu::on_device here(bed.cuda(), card.inner()->context());
        REQUIRE(bed.cuda().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
    }
    CHECK_FALSE(card.fault());
    CHECK(wrong.launch(stream, {}, static_cast<unsigned*>(nullptr)));
    std::vector<future<>> pending;
    pending.push_back(stream.completed());
    // These calls may find the fault already.
    auto behind = stream.record();
    if (behind) CHECK((other.wait(*behind) || card.fault()));
    pending.push_back(gpu::copy(stream, host, memory));
    pending.push_back(gpu::copy(stream, memory, host));
    for (auto& each : pending) {
        const auto how = co_await as_result(std::move(each));
        REQUIRE_FALSE(how);
        is_the_fault(how.failure());
    }
    REQUIRE(card.fault());
    is_the_fault(*card.fault());
    every_call_fails(bed, card, stream, event, reinterpret_cast<CUdeviceptr>(memory.data()));
    const auto recorded = stream.record();
    REQUIRE_FALSE(recorded);
    is_the_fault(recorded.failure());
    const auto allocated = gpu::device_buffer<int>::allocate(card, 1);
    REQUIRE_FALSE(allocated);
    is_the_fault(allocated.failure());
    const gpu::on_device here(bed.cuda(), card.inner()->context());
    bed.cuda().cuEventDestroy(event);
}

}  // namespace

TEST_CASE("an illegal address ends everything that is pending on the device, and every later call says the same") {
    testbed bed;
    if (bed.code().bytes.empty()) return test::skip("this program was built without nvcc, and has no kernel that fails");
    event_loop loop;
    run(loop, break_down(bed, bed.open()));
}
