// What a run costs the machine: the device's counters, the size of a directory, and the cost of a load.
#include "bench/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "bench/load_cost.h"

namespace mergedb::bench {
namespace {

using testing::DoubleEq;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;

TEST(ParseBlockStat, CountsSectorsOf512Bytes) {
  const auto bytes = ParseBlockStat("   9708     2183   600018     1042   7102  11713  1443096  5310   0  3040  6353");
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->read, 600018u * 512);
  EXPECT_EQ(bytes->written, 1443096u * 512);
}

TEST(ParseBlockStat, RefusesOtherTexts) {
  EXPECT_FALSE(ParseBlockStat(""));
  EXPECT_FALSE(ParseBlockStat("1 2 3 4 5 6"));
  EXPECT_FALSE(ParseBlockStat("1 2 3 4 5 6 many"));
}

TEST(DeviceCounter, FindsNoBlockDeviceOfProc) {
  const DeviceCounter counter("/proc");
  EXPECT_FALSE(counter.is_block_device());
  EXPECT_EQ(counter.source(), "/proc/self/io");
}

TEST(SizeOfDirectory, TellsAllocatedFromApparentBytes) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "mergedb_size_of_directory";
  std::filesystem::create_directories(folder / "below");
  std::ofstream(folder / "below" / "full") << std::string(8192, 'x');
  std::ofstream(folder / "sparse").close();
  std::filesystem::resize_file(folder / "sparse", 1 << 20);
  const DirectorySize size = SizeOfDirectory(folder);
  EXPECT_EQ(size.apparent, 8192u + (1 << 20));
  EXPECT_LT(size.allocated, 1u << 20);
  std::filesystem::remove_all(folder);
}

TEST(LoadMeter, CountsUntilTheWaitAndUntilTheClose) {
  LoadCost cost;
  LoadMeter meter;
  meter.AddRow(&cost, 100, 1000, {.allocated = 50, .apparent = 60});
  meter.AddRow(nullptr, 0, 1100, {.allocated = 70, .apparent = 40});  // the wait itself
  meter.Drain(1200, {.allocated = 30, .apparent = 31});
  meter.AddRow(nullptr, 100, 1200, {.allocated = 65, .apparent = 20});  // a row that also writes, beside reads
  meter.Close(1500, {.allocated = 20, .apparent = 21});
  EXPECT_THAT(cost.device_drained, Optional(DoubleEq(2.0)));
  EXPECT_THAT(cost.device_closed, Optional(DoubleEq(2.5)));
  EXPECT_EQ(cost.size_peak.allocated, 70u);
  EXPECT_EQ(cost.size_peak.apparent, 60u);
  EXPECT_EQ(cost.size_drained->allocated, 30u);
  EXPECT_EQ(cost.size_closed->apparent, 21u);
  EXPECT_FALSE(meter.has_rows());
}

TEST(LoadMeter, KeepsTheFirstWaitOfEachRow) {
  LoadCost first, second;
  LoadMeter meter;
  meter.AddRow(&first, 100, 0, {});
  meter.Drain(300, {});
  meter.AddRow(&second, 100, 400, {});
  meter.Drain(600, {});
  meter.Close(600, {});
  EXPECT_THAT(first.device_drained, Optional(DoubleEq(3.0)));
  EXPECT_THAT(first.device_closed, Optional(DoubleEq(3.0)));
  EXPECT_THAT(second.device_drained, Optional(DoubleEq(2.0)));
}

TEST(LoadMeter, HasNoDeviceFiguresWithoutABlockDevice) {
  LoadCost cost;
  LoadMeter meter;
  meter.AddRow(&cost, 100, 0, {});
  meter.Drain(std::nullopt, {});
  meter.Close(std::nullopt, {});
  EXPECT_FALSE(cost.device_drained);
  EXPECT_FALSE(cost.device_closed);
  EXPECT_TRUE(cost.size_closed);
  EXPECT_THAT(LoadCostLine("fillrandom", cost), Not(HasSubstr("device")));
}

TEST(LoadCostLine, NamesAllFigures) {
  const LoadCost cost{.user_bytes = 1,
                      .size_peak = {.allocated = 3 << 20, .apparent = 4 << 20},
                      .size_drained = DirectorySize{.allocated = 2 << 20, .apparent = 2 << 20},
                      .device_drained = 2.346,
                      .size_closed = DirectorySize{.allocated = 1 << 20, .apparent = 1 << 20},
                      .device_closed = 2.5};
  EXPECT_EQ(LoadCostLine("fillrandom", cost),
            "fillrandom: 2.35 device bytes per user byte until drained, 2.50 after close and sync, directory "
            "3.0 MB (apparent 4.0) at its largest, 2.0 MB (apparent 2.0) drained, 1.0 MB (apparent 1.0) closed\n");
}

}  // namespace
}  // namespace mergedb::bench
