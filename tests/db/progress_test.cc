// Goal: the progress of a long verb has percent, rate and time left, is printed seldom enough, and Ctrl-C ends the work
// with a message. Method: the meter with times that the test gives; its output is caught.
#include "progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <string>

namespace mergedb::tool::progress_test {
namespace {

using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

constexpr uint64_t kSecond = 1'000'000'000;

TEST(ProgressMeter, Text) {
  EXPECT_EQ(ProgressMeter::Text(0, 1'000'000, 0), "  0 % of 1.0 MB");
  EXPECT_EQ(ProgressMeter::Text(250'000, 1'000'000, 5 * kSecond), " 25 % of 1.0 MB, 50.0 kB/s, 15 s left");
  EXPECT_EQ(ProgressMeter::Text(1'000'000, 100'000'000, kSecond), "  1 % of 100.0 MB, 1.0 MB/s, 2 min left");
  EXPECT_EQ(ProgressMeter::Text(5, 0, 0), "100 % of 0 B");
}

int Prints(const std::string& text, char mark) { return static_cast<int>(std::ranges::count(text, mark)); }

TEST(ProgressMeter, PrintsAtMostTenTimesASecondOnATerminal) {
  CaptureStderr();
  {
    ProgressMeter meter(true);
    for (uint64_t i = 0; i <= 1'000; ++i) EXPECT_TRUE(meter.Note(i, 1'000, kSecond + i * 1'000'000));
  }
  const std::string text = GetCapturedStderr();
  EXPECT_EQ(Prints(text, '\r'), 1 + 10 + 1) << "at once, ten times in the second, and the end";
  EXPECT_TRUE(text.ends_with("\r\033[K"));
}

TEST(ProgressMeter, PrintsALineEveryFiveSecondsElsewhere) {
  CaptureStderr();
  {
    ProgressMeter meter(false);
    for (uint64_t i = 0; i <= 22; ++i) EXPECT_TRUE(meter.Note(i, 100, kSecond + i * kSecond));
  }
  const std::string text = GetCapturedStderr();
  EXPECT_EQ(Prints(text, '\n'), 4);
  EXPECT_THAT(text, HasSubstr("mergedb:   5 % of 100 B, 1 B/s, 2 min left"));
}

TEST(ProgressMeter, CtrlCEndsTheWork) {
  CaptureStderr();
  {
    ProgressMeter meter(true);
    EXPECT_TRUE(meter.Note(1'000, 4'000, kSecond));
    raise(SIGINT);
    EXPECT_FALSE(meter.Note(2'000, 4'000, kSecond));
  }
  EXPECT_THAT(GetCapturedStderr(),
              HasSubstr("stopped by Ctrl-C at 50 %: 2.0 kB of 4.0 kB are done, and the rest is not\n"));
  EXPECT_EQ(std::signal(SIGINT, SIG_DFL), SIG_DFL) << "a second Ctrl-C ends the process";
}

}  // namespace
}  // namespace mergedb::tool::progress_test
