// The main function of each program of conformance tests. Where there is nothing to run on it says so, and its exit code is 77, which Meson and
// others take for "skipped". Tests that cannot be tried there are listed at the end; where none could, that is 77, too. Where no test
// has the name that was asked for it says so, and fails.
#include "gpu/conformance/skipped.hpp"
#include "gpu/conformance/testbed.hpp"

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

namespace {

#ifdef TUTTI_TESTS_NEED_NCCL
constexpr bool with_nccl = true;
#else
constexpr bool with_nccl = false;
#endif

int tests_run = 0;

/// Counts the test cases that were run.
struct counter : doctest::IReporter {
    explicit counter(const doctest::ContextOptions&) {}
    void report_query(const doctest::QueryData&) override {}
    void test_run_start() override {}
    void test_run_end(const doctest::TestRunStats&) override {}
    void test_case_start(const doctest::TestCaseData&) override { ++tests_run; }
    void test_case_reenter(const doctest::TestCaseData&) override {}
    void test_case_end(const doctest::CurrentTestCaseStats&) override {}
    void test_case_exception(const doctest::TestCaseException&) override {}
    void subcase_start(const doctest::SubcaseSignature&) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData&) override {}
    void log_message(const doctest::MessageData&) override {}
    void test_case_skipped(const doctest::TestCaseData&) override {}
};

}  // namespace

REGISTER_LISTENER("counter", 1, counter);

int main(int argc, char** argv) {
    using namespace tutti::test;
    if (const auto missing = missing_here(with_nccl)) {
        std::printf("skipped: there is nothing to test on here: %s\n", missing->c_str());
        return exit_skipped;
    }
    std::printf("on %s\n", whereabouts(with_nccl).c_str());
    std::fflush(stdout);
    doctest::Context context(argc, argv);
    const int code = context.run();
    if (tests_run == 0 && !context.shouldExit()) {  // which it should where it was only asked what there is
        std::printf("there is no test of that name\n");
        return EXIT_FAILURE;
    }
    for (const auto& each : skipped()) std::printf("skipped: %s\n", each.c_str());
    const bool none_tried = tests_run > 0 && skipped().size() == static_cast<std::size_t>(tests_run);
    return code == 0 && none_tried ? exit_skipped : code;
}
