// Goal: the rings keep the last samples of each kind with the time of the reading before them, bounded in number and in
// bytes; any thread may note and read. Method: notes and readings in a known order; threads.
#include "read/heat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace mergedb::read {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = Heat::Kind;

TEST(Heat, KeepsReadsAndWritesApart) {
  Heat heat(true);
  heat.Note(Kind::kRead, "a", 1);
  heat.Note(Kind::kWrite, "b", 20);
  heat.Note(Kind::kRead, "", 3);
  EXPECT_THAT(heat.Take(Kind::kRead, 100, 0), ElementsAre(Heat::Sample{"a", 1, 100}, Heat::Sample{"", 3, 100}));
  EXPECT_THAT(heat.Take(Kind::kWrite, 100, 0), ElementsAre(Heat::Sample{"b", 20, 100}));
}

TEST(Heat, SamplesHaveTheTimeOfTheReadingBefore) {
  Heat heat(true);
  EXPECT_THAT(heat.Take(Kind::kRead, 100, 0), IsEmpty());
  heat.Note(Kind::kRead, "a", 1);
  EXPECT_EQ(heat.Take(Kind::kRead, 200, 0).size(), 1u);
  heat.Note(Kind::kRead, "b", 1);
  EXPECT_THAT(heat.Take(Kind::kRead, 300, 0), ElementsAre(Heat::Sample{"a", 1, 100}, Heat::Sample{"b", 1, 200}));
  EXPECT_THAT(heat.Take(Kind::kRead, 400, 101), ElementsAre(Heat::Sample{"b", 1, 200})) << "older ones are left out";
}

TEST(Heat, KeepsTheLastSamples) {
  Heat heat(true);
  for (size_t i = 0; i < Heat::kSamples + 10; ++i) heat.Note(Kind::kWrite, "k" + std::to_string(i), 1);
  const auto samples = heat.Take(Kind::kWrite, 1, 0);
  ASSERT_EQ(samples.size(), Heat::kSamples);
  EXPECT_EQ(samples.front().key, "k10");
  EXPECT_EQ(samples.back().key, "k" + std::to_string(Heat::kSamples + 9));
}

TEST(Heat, LongKeysAreCutIfThatKeepsTheirOrder) {
  const std::string key(Heat::kKeyBytesMax + 5, 'x');
  Heat bytewise(true), other(false);
  bytewise.Note(Kind::kRead, key, 1);
  other.Note(Kind::kRead, key, 1);
  other.Note(Kind::kRead, key.substr(0, Heat::kKeyBytesMax), 1);
  EXPECT_EQ(bytewise.Take(Kind::kRead, 1, 0)[0].key, key.substr(0, Heat::kKeyBytesMax));
  EXPECT_EQ(other.Take(Kind::kRead, 1, 0).size(), 1u);
}

TEST(Heat, OneOfManyTakesTurns) {
  Heat heat(true);
  const std::string_view keys[] = {"a", "b", "c"};
  for (int i = 0; i < 3; ++i) heat.NoteOneOf(Kind::kRead, 3, 3, [&keys](uint64_t index) { return keys[index]; });
  heat.NoteOneOf(Kind::kRead, 0, 0, [](uint64_t) { return std::string_view("no key"); });
  EXPECT_THAT(heat.Take(Kind::kRead, 1, 0),
              ElementsAre(Heat::Sample{"a", 3, 1}, Heat::Sample{"b", 3, 1}, Heat::Sample{"c", 3, 1}));
}

TEST(Heat, ThreadsNoteAndRead) {
  Heat heat(true);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&heat, i] {
      for (int note = 0; note < 2000; ++note) heat.Note(Kind::kRead, std::string(static_cast<size_t>(i) + 1, 'k'), 1);
    });
  }
  for (uint64_t now = 1; now < 100; ++now) {
    for (const Heat::Sample& each : heat.Take(Kind::kRead, now, 0)) {
      EXPECT_EQ(each.key, std::string(each.key.size(), 'k'));
      EXPECT_LE(each.nanos, now);
    }
  }
  for (std::thread& each : threads) each.join();
  EXPECT_LE(heat.Take(Kind::kRead, 100, 0).size(), Heat::kSamples);
}

}  // namespace
}  // namespace mergedb::read
