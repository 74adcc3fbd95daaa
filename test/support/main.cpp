// The main function of test programs. A test case that does not end is aborted, which tells its name, after two minutes, TUTTI_TEST_PATIENCE
// times as many (0: never), or what it says with doctest::timeout.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace {

void give_up(int) {
    constexpr char why[] = "this test case does not end\n";
    static_cast<void>(!::write(STDERR_FILENO, why, sizeof why - 1));
    std::abort();  // doctest tells which
}

/// An alarm and not a thread, so that the children of tests have none.
struct watchdog final : doctest::IReporter {
    explicit watchdog(const doctest::ContextOptions&) { std::signal(SIGALRM, give_up); }
    void test_case_start(const doctest::TestCaseData& which) override {
        const char* const patience = std::getenv("TUTTI_TEST_PATIENCE");
        const double seconds = which.m_timeout > 0 ? which.m_timeout : 120 * (patience ? std::atof(patience) : 1);
        ::alarm(static_cast<unsigned>(seconds));
    }
    void test_case_end(const doctest::CurrentTestCaseStats&) override { ::alarm(0); }

    void report_query(const doctest::QueryData&) override {}
    void test_run_start() override {}
    void test_run_end(const doctest::TestRunStats&) override {}
    void test_case_reenter(const doctest::TestCaseData&) override {}
    void test_case_exception(const doctest::TestCaseException&) override {}
    void subcase_start(const doctest::SubcaseSignature&) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData&) override {}
    void log_message(const doctest::MessageData&) override {}
    void test_case_skipped(const doctest::TestCaseData&) override {}
};
REGISTER_LISTENER("watchdog", 1, watchdog);

}  // namespace
