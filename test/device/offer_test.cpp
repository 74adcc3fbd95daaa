// The offers that ranks send each other before they join, and what they choose from them.
#include "device/offer.hpp"
#include "device/staging.hpp"

#include "device/ranks.hpp"
#include "gpu/fakes.hpp"

#include <fmt/format.h>

#include <limits>
#include <string>
#include <vector>

namespace offer_test {

using namespace tutti;
using test::device_rank;
using test::device_stage;
using test::rank_memory;

namespace {

std::vector<std::string>* heard = nullptr;

gpu::device_offer seat_with(const char* no_device, const char* no_nccl, gpu::engine_kind wanted) {
    gpu::device_offer made;
    made.no_device = no_device;
    made.no_nccl = no_nccl;
    made.wanted = wanted;
    made.chunk_bytes = 8192;
    made.nccl_version = 22809;
    static int others = 0;
    made.uuid = fmt::format("GPU-{}", ++others);
    return made;
}

}  // namespace

TEST_CASE("what decided a rank's device is told, however many devices were named") {
    std::string devices;
    for (int each = 0; each < 8; ++each) devices += fmt::format("GPU-{:08}-abab-abab-abab-abababababab,", each);
    const gpu::variable visible("CUDA_VISIBLE_DEVICES", devices), local("LOCAL_RANK", "3");
    auto mine = seat_with("", "", gpu::engine_kind::automatic);
    mine.chosen = gpu::device_choice();
    std::vector<std::byte> written(gpu::device_offer::bytes);
    mine.write(written);
    const auto read = gpu::device_offer::read(written);
    CHECK(read.uuid == mine.uuid);
    CHECK(read.no_nccl == "");
    const auto refused = gpu::choose_engine({read, read});
    REQUIRE_FALSE(refused);
    CHECK(std::string(refused.failure().what()).find("(LOCAL_RANK=3, CUDA_VISIBLE_DEVICES=GPU-00000000-abab") != std::string::npos);
}

TEST_CASE("all ranks choose the same engine from what each has and wants, and say why") {
    using kind = gpu::engine_kind;
    struct row {
        gpu::device_offer one, other;
        kind chosen;
        const char* words;
        bool told;
    };
    const row rows[] = {
        {seat_with("", "", kind::automatic), seat_with("", "", kind::automatic), kind::nccl, "", false},
        {seat_with("", "", kind::nccl), seat_with("", "", kind::automatic), kind::nccl, "", false},
        {seat_with("", "", kind::automatic), seat_with("", "", kind::staged), kind::staged, "rank 1 wants it so", false},
        {seat_with("", "", kind::automatic), seat_with("no driver", "no library", kind::automatic), kind::staged,
         "rank 1 has no device: no driver", true},
        {seat_with("", "no library", kind::automatic), seat_with("", "", kind::automatic), kind::staged, "rank 0 has no NCCL: no library",
         true},
    };
    for (const row& each : rows) {
        auto chosen = gpu::choose_engine({each.one, each.other});
        REQUIRE(chosen);
        CHECK(chosen->kind == each.chosen);
        CHECK(chosen->why == each.words);
        CHECK(chosen->told == each.told);
    }
    auto smaller = seat_with("", "", kind::staged);
    smaller.chunk_bytes = 5000;
    CHECK(gpu::choose_engine({rows[0].one, smaller})->chunk_bytes == 5000);
    const auto refused = gpu::choose_engine({seat_with("", "", kind::nccl), seat_with("", "", kind::staged)});
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code() == error::invalid_argument);
}

namespace {

task<> ask_who_works(device_rank& here) {
    const std::string words = here.all.engine();
    CHECK(words == "staged through memory of the hosts: rank 1 has no device: there is no driver");
    CHECK(here.all.native() == nullptr);
    CHECK(here.all.on().has_value() == (here.me != 1));
    CHECK(here.all.over().has_value() == (here.me != 1));
    auto splitting = here.all.split(0, -here.me);
    const auto turned = co_await std::move(splitting);
    CHECK(turned->rank() == 2 - here.me);
    const rank_memory data = here.place_filled<std::int32_t>(3000, here.me);
    auto summed = turned->all_reduce(data.all<std::int32_t>(), sum);
    co_await std::move(summed);
    CHECK(data.at<std::int32_t>(2999) == 3);
    auto closing = turned->close();
    co_await std::move(closing);
}

}  // namespace

TEST_CASE("what was chosen without being asked for is told once, and children choose like their parent") {
    std::vector<std::string> notices;
    heard = &notices;
    device_stage stage(3);
    test::mix(stage);
    stage.options.notice = [](const std::string& sentence) { heard->push_back(sentence); };
    stage.run(ask_who_works);
    heard = nullptr;
    REQUIRE(notices.size() == 2);  // the child's, too
    CHECK(notices[0] == "collectives on devices go through the hosts: rank 1 has no device: there is no driver");
}

TEST_CASE("a rank without a device has none, even where nobody says why") {
    device_stage stage(2);
    test::mix(stage);
    stage.no_driver = "";
    stage.run([](device_rank& here) -> task<> {
        const std::string words = here.all.engine(), before = "staged through memory of the hosts: rank 1 has no device: ";
        CHECK(words.starts_with(before));
        CHECK(words.size() > before.size());
        co_return;
    });
}

TEST_CASE("a chunk is of whole pages, and neither so small that ranks have no room nor so large that it cannot be counted") {
    struct row {
        std::size_t asked;
        int ranks;
        std::size_t made;
    };
    constexpr std::size_t all = std::numeric_limits<std::size_t>::max(), most = std::size_t{1} << 30;
    const row rows[] = {{0, 2, 4096},        {5000, 2, 8192},    {4096, 1000, 32768}, {most, 2, most},
                        {most + 1, 2, most}, {all / 2, 2, most}, {all, 2, most}};
    for (const row& each : rows) {
        CAPTURE(each.asked);
        const gpu::staging made("", each.asked, 64, each.ranks);
        CHECK(made.chunk_bytes == each.made);
        CHECK(made.bytes() == 64 * each.made);
    }
}

}  // namespace offer_test
