// Goal: the promises of an open WAL: replay returns the frames in order after a kill, and the durable ones
// after a power cut. Errors and lack of space neither lose nor repeat a frame. Method: tiny WAL buffers and
// segments on the fault-injecting file system; background work runs when the test asks for it.
#include "wal/wal.h"

#include "gtest/gtest.h"
#include "tests/unit/wal/wal_fixture.h"

namespace mergedb::wal {
namespace {

using testing::Fault;
using testing::FileOp;
using testing::IsOk;
using testing::StatusIs;

// Each test runs with the WAL buffer in a mapped file and in memory.
class WalTest : public ::testing::TestWithParam<bool> {
 protected:
  WalTest() : fixture_({.allow_mapping = GetParam()}) {}
  // A WAL whose buffer and segments have 1 MiB.
  std::unique_ptr<Wal> CreateLarge() {
    Options options = fixture_.LogOptions();
    options.buffer_bytes = size_t{1} << 20;
    options.segment_bytes = size_t{1} << 20;
    auto log = fixture_.Create(options);
    EXPECT_OK(log->Prepare());
    return log;
  }
  WalFixture fixture_;
};
INSTANTIATE_TEST_SUITE_P(, WalTest, ::testing::Values(true, false),
                         [](const auto& test) { return test.param ? "Mapped" : "InMemory"; });

TEST_P(WalTest, FramesComeBackInOrderAfterAKill) {
  auto log = fixture_.Create();
  EXPECT_EQ(log->is_mapped(), GetParam());
  for (uint64_t i = 0; i < 10; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 100 + i)));
  const Outcome outcome = ReplayAll(*fixture_.Kill());
  ASSERT_OK(outcome.status);
  EXPECT_EQ(CountPrefix(outcome), 10u);
  EXPECT_EQ(outcome.replayed.end.position, log->end().position);
  EXPECT_EQ(outcome.replayed.end.chain, log->end().chain);
  EXPECT_EQ(outcome.replayed.end.sequence, log->end().sequence);
  EXPECT_EQ(outcome.replayed.dropped_bytes, 0u);
}

TEST_P(WalTest, NothingWasWrittenNothingComesBack) {
  auto log = fixture_.Create();
  const Outcome outcome = ReplayAll(*fixture_.Kill());
  ASSERT_OK(outcome.status);
  EXPECT_TRUE(outcome.frames.empty());
}

TEST_P(WalTest, DurableFramesSurviveAPowerCutAndOnlyTheyDo) {
  auto log = fixture_.Create();
  for (uint64_t i = 0; i < 10; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 100)));
  ASSERT_OK(log->MakeDurable());
  EXPECT_EQ(log->durable_position(), log->end().position);
  for (uint64_t i = 10; i < 20; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 100)));
  const Outcome outcome = ReplayAll(*fixture_.CutPower());
  ASSERT_OK(outcome.status);
  EXPECT_EQ(CountPrefix(outcome), 10u);
}

TEST_P(WalTest, WrapsTheRingAndCrossesSegments) {
  auto log = fixture_.Create();
  uint64_t i = 0;
  base::Random random(1);
  while (log->end().position < (size_t{300} << 10)) {
    ASSERT_OK(Append(*log, PayloadOf(i++, random.Uniform(3000))));
    if (random.OneIn(10)) fixture_.executor.RunAll();
    if (random.OneIn(50)) { ASSERT_OK(log->MakeDurable()); }
  }
  const Outcome outcome = ReplayAll(*fixture_.Kill());
  ASSERT_OK(outcome.status);
  EXPECT_EQ(CountPrefix(outcome), i);
  EXPECT_GE(log->segments().size(), 5u);
}

TEST_P(WalTest, EveryFrameSizeUpToTheLargestComesBack) {
  auto log = fixture_.Create();
  uint64_t i = 0;
  for (size_t bytes = 8; bytes < log->direct_bytes_max(); bytes += 509) ASSERT_OK(Append(*log, PayloadOf(i++, bytes)));
  ASSERT_OK(Append(*log, PayloadOf(i++, log->direct_bytes_max())));
  const Outcome outcome = ReplayAll(*fixture_.Kill());
  ASSERT_OK(outcome.status);
  EXPECT_EQ(CountPrefix(outcome), i);
}

TEST_P(WalTest, EmptyPayloadsAreFrames) {
  auto log = fixture_.Create();
  for (int i = 0; i < 3; ++i) ASSERT_OK(Append(*log, ""));
  EXPECT_EQ(ReplayAll(*fixture_.Kill()).frames.size(), 3u);
}

TEST_P(WalTest, LargeFramesGoStraightToSegmentsAndAreDurable) {
  auto log = fixture_.Create();
  ASSERT_OK(Append(*log, PayloadOf(0, 1001)));
  for (uint64_t i = 1; i < 4; ++i) {
    ASSERT_OK(Append(*log, PayloadOf(i, 100'000 * i + 3)));
    EXPECT_EQ(log->durable_position(), log->end().position);
  }
  EXPECT_EQ(CountPrefix(ReplayAll(*fixture_.CutPower())), 4u);
  for (uint64_t i = 4; i < 40; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 1000)));
  EXPECT_EQ(CountPrefix(ReplayAll(*fixture_.Kill())), 40u);
  ASSERT_OK(log->MakeDurable());
  EXPECT_EQ(CountPrefix(ReplayAll(*fixture_.CutPower())), 40u);
}

TEST_P(WalTest, LargeFrameFindsItsWayAtEveryOffsetOfABlock) {
  for (size_t offset = 8; offset < 9000; offset += 1016) {
    WalFixture fixture({.allow_mapping = GetParam()});
    auto log = fixture.Create();
    ASSERT_OK(Append(*log, PayloadOf(0, offset - kFrameHeaderBytes % 8)));
    ASSERT_OK(Append(*log, PayloadOf(1, 70'000)));
    ASSERT_OK(Append(*log, PayloadOf(2, 10)));
    ASSERT_OK(log->MakeDurable());
    EXPECT_EQ(CountPrefix(ReplayAll(*fixture.CutPower())), 3u) << offset;
  }
}

// Appends small frames; the last one ends at `position`. Returns their number.
uint64_t FillUpTo(Wal& log, uint64_t position) {
  uint64_t frames = 0;
  while (log.end().position < position) {
    const uint64_t left = position - log.end().position;
    const uint64_t bytes = left < 6000 ? left : 4000;  // the last frame must have room for a header
    EXPECT_OK(Append(log, PayloadOf(frames++, bytes - kFrameHeaderBytes)));
  }
  EXPECT_EQ(log.end().position, position);
  return frames;
}

// The header of a frame may cross into the next block, which may be the first block of the next segment.
TEST_P(WalTest, AFrameMayBeginAnywhereAroundTheEndOfASegment) {
  const uint64_t segment_end = fixture_.LogOptions().segment_bytes;
  for (const size_t payload_bytes : {10, 9'000, 70'000}) {
    for (uint64_t position = segment_end - 64; position <= segment_end + 64; position += 8) {
      SCOPED_TRACE(std::to_string(payload_bytes) + " bytes at " + std::to_string(position));
      WalFixture fixture({.allow_mapping = GetParam()});
      const auto log = fixture.Create();
      const uint64_t before = FillUpTo(*log, position);
      ASSERT_OK(Append(*log, PayloadOf(before, payload_bytes)));
      EXPECT_EQ(CountPrefix(ReplayAll(*fixture.Kill())), before + 1);
      ASSERT_OK(Append(*log, PayloadOf(before + 1, 10)));
      ASSERT_OK(log->MakeDurable());
      EXPECT_EQ(CountPrefix(ReplayAll(*fixture.Kill())), before + 2);
      EXPECT_EQ(CountPrefix(ReplayAll(*fixture.CutPower())), before + 2);
      if (HasFailure()) return;
    }
  }
}

TEST_P(WalTest, ReplayStartsAtAnyMark) {
  auto log = fixture_.Create();
  std::vector<Mark> marks;
  for (uint64_t i = 0; i < 200; ++i) {
    marks.push_back(log->end());
    ASSERT_OK(Append(*log, PayloadOf(i, 1000)));
  }
  const auto image = fixture_.Kill();
  for (size_t i = 0; i < marks.size(); i += 17) {
    const Outcome outcome = ReplayAll(*image, {.start = marks[i]});
    ASSERT_OK(outcome.status);
    EXPECT_EQ(outcome.frames.size(), marks.size() - i);
    EXPECT_EQ(outcome.frames.front().first, i + 1);
  }
}

TEST_P(WalTest, SequencesMaySkip) {
  auto log = fixture_.Create();
  ASSERT_OK(Append(*log, PayloadOf(0, 10), 5));
  EXPECT_EQ(log->next_sequence(), 6u);
  log->SkipTo(100);
  ASSERT_OK(Append(*log, PayloadOf(1, 10)));
  const Outcome outcome = ReplayAll(*fixture_.Kill());
  ASSERT_EQ(outcome.frames.size(), 2u);
  EXPECT_EQ(outcome.frames[0].first, 1u);
  EXPECT_EQ(outcome.frames[1].first, 100u);
}

TEST_P(WalTest, ReleasedSegmentsAreUsedAgain) {
  auto log = fixture_.Create();
  Mark mark;
  uint64_t i = 0;
  for (int round = 0; round < 20; ++round) {
    mark = log->end();
    for (int k = 0; k < 100; ++k) ASSERT_OK(Append(*log, PayloadOf(i++, 1000)));
    fixture_.executor.RunAll();
    log->Release(mark);
  }
  EXPECT_LE(log->segments().size(), 8u);
  EXPECT_GT(log->counters().segments_reused.load(), 10u);
  EXPECT_LE(log->counters().segments_created.load(), 8u);
  for (const auto& image : {fixture_.Kill(), fixture_.CutPower()}) {
    const Outcome outcome = ReplayAll(*image, {.start = mark, .expected = log->segments_from(mark.position)});
    ASSERT_OK(outcome.status);
    for (const auto& [sequence, payload] : outcome.frames) EXPECT_EQ(payload, PayloadOf(sequence - 1, 1000));
  }
  EXPECT_EQ(ReplayAll(*fixture_.Kill(), {.start = mark}).frames.size(), 100u);
}

// The frames of a memtable that is flushed before anything asks for a sync.
TEST_P(WalTest, ReleasedFramesAreNotWritten) {
  if (!GetParam()) GTEST_SKIP() << "each group is written at once";
  auto log = fixture_.Create();
  ASSERT_OK(log->Prepare());
  uint64_t i = 0;
  for (int round = 0; round < 30; ++round) {
    for (int k = 0; k < 20; ++k) ASSERT_OK(Append(*log, PayloadOf(i++, 700)));
    fixture_.executor.RunAll();
    const Mark mark = log->end();
    const auto listed = log->segments_from(mark.position);
    log->Release(mark);
    fixture_.RunInterval();
    EXPECT_EQ(log->durable_position(), mark.position) << "tables hold it";
    for (int k = 0; k < 3; ++k) ASSERT_OK(Append(*log, PayloadOf(i++, 700)));
    const Outcome killed = ReplayAll(*fixture_.Kill(), {.start = mark, .expected = listed});
    ASSERT_OK(killed.status);
    EXPECT_EQ(killed.frames.size(), 3u);
    const Outcome cut = ReplayAll(*fixture_.CutPower(), {.start = mark, .expected = listed});
    ASSERT_OK(cut.status);
    EXPECT_EQ(cut.frames.size(), 0u);
  }
  EXPECT_EQ(log->counters().bytes_written.load(), 0u);
  EXPECT_EQ(log->segments().size(), 1u);
  const Mark before = log->end();
  for (int k = 0; k < 3; ++k) ASSERT_OK(Append(*log, PayloadOf(i++, 700)));
  log->Release(before);
  ASSERT_OK(log->MakeDurable());
  const Outcome synced = ReplayAll(*fixture_.CutPower(), {.start = before});
  ASSERT_OK(synced.status);
  EXPECT_EQ(synced.frames.size(), 3u);
}

// Repair has no MANIFEST that says where the chain begins; the head of the segment does.
TEST_P(WalTest, WithoutAManifestUnwrittenFramesAreFound) {
  auto log = fixture_.Create();
  ASSERT_OK(log->Prepare());
  for (uint64_t i = 0; i < 60; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 1000)));
  log->Release(log->end());
  for (uint64_t i = 60; i < 65; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 1000)));
  const auto image = fixture_.Kill();
  ASSERT_OK_AND_ASSIGN(const std::optional<Origin> origin, FindOrigin(image.get(), kDirectory));
  ASSERT_TRUE(origin.has_value());
  uint64_t frames = 0;
  ASSERT_OK_AND_ASSIGN(const Salvaged salvaged,
                       Salvage(image.get(), kDirectory, *origin, {}, [&](kv::Sequence sequence, std::string_view) {
                         EXPECT_GE(sequence, GetParam() ? 61u : 1u);
                         ++frames;
                         return Status();
                       }));
  EXPECT_OK(salvaged.verdict);
  EXPECT_GE(frames, 5u);
}

TEST_P(WalTest, WithoutALimitInTimeNothingIsWritten) {
  Options options = fixture_.LogOptions();
  options.sync_interval_nanos = 0;
  auto log = fixture_.Create(options);
  for (uint64_t i = 0; i < 5; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 100)));
  for (int i = 0; i < 10; ++i) fixture_.RunInterval();
  EXPECT_EQ(log->durable_position(), 0u);
  ASSERT_OK(log->MakeDurable());
  EXPECT_EQ(CountPrefix(ReplayAll(*fixture_.CutPower())), 5u);
}

// A frame is durable after as many ticks as the interval has, not earlier, unless it is a part of a small rest: this
// goes along with the frames that are due.
TEST_P(WalTest, TheIntervalCountsFromTheCommit) {
  for (const bool is_small : {false, true}) {
    SCOPED_TRACE(is_small ? "small" : "large");
    WalFixture fixture({.allow_mapping = GetParam()});
    Options options = fixture.LogOptions();
    options.sync_interval_nanos = 5'000'000'000;
    options.buffer_bytes = options.segment_bytes = size_t{1} << 20;
    auto log = fixture.Create(options);
    std::vector<uint64_t> ends;
    for (uint64_t i = 0; i < 20; ++i) {
      ASSERT_OK(Append(*log, PayloadOf(i, is_small ? 100 : 20'000)));
      ends.push_back(log->end().position);
      fixture.executor.RunTimers();
      fixture.executor.RunAll();
      EXPECT_GE(log->durable_position(), i < 4 ? 0u : ends[i - 4]) << i;
      const uint64_t synced = is_small ? i - (i + 1) % 5 : i - 4;
      if (GetParam()) { EXPECT_EQ(log->durable_position(), i < 4 ? 0u : ends[synced]) << i; }
    }
  }
}

TEST_P(WalTest, AFullDiskRefusesACommitThatWillBeSyncedBeforeItIsStaged) {
  auto log = fixture_.Create();
  ASSERT_OK(log->Prepare());
  uint64_t i = 0;
  for (; i < 10; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 100)));
  fixture_.files.SetCapacity(fixture_.files.bytes_used());
  Status status;
  while (status.ok()) {
    const std::string payload = PayloadOf(i, 1000);
    const std::string_view pieces[] = {payload};
    const Mark before = log->end();
    status = log->Append(pieces, 1, true);
    if (!status.ok()) {
      EXPECT_EQ(log->end().position, before.position);
      break;
    }
    ++i;
    ASSERT_OK(log->MakeDurable()) << "the frame has its place";
    ASSERT_LT(i, 1000u);
  }
  EXPECT_THAT(status, StatusIs(Code::kNoSpace));
  EXPECT_OK(log->failure());
  EXPECT_EQ(CountPrefix(ReplayAll(*fixture_.CutPower())), i);
}

TEST_P(WalTest, AnIdleLogGivesItsDiskSpaceBack) {
  auto log = CreateLarge();
  uint64_t i = 0;
  for (int round = 0; round < 3; ++round) {
    const Mark begin = log->end();
    const uint64_t first = i;
    while (log->bytes_on_disk() < (size_t{1} << 20)) {
      ASSERT_OK(Append(*log, PayloadOf(i++, 5000)));
      if (round == 1) { ASSERT_OK(log->MakeDurable()); }
    }
    while (log->GiveBackBlocks(true)) continue;
    EXPECT_FALSE(log->GiveBackSegments());
    EXPECT_EQ(ReplayAll(*fixture_.Kill(), {.start = begin}).frames.size(), i - first) << "frames are not released";
    log->Release(log->end());
    while (log->GiveBackBlocks(true)) continue;
    EXPECT_TRUE(log->GiveBackSegments());
    EXPECT_LE(log->bytes_on_disk(), size_t{128} << 10);
    const Mark start = log->end();
    for (int k = 0; k < 20; ++k) ASSERT_OK(Append(*log, PayloadOf(i++, 5000)));
    EXPECT_EQ(ReplayAll(*fixture_.Kill(), {.start = start}).frames.size(), 20u);
    ASSERT_OK(log->MakeDurable());
    EXPECT_EQ(ReplayAll(*fixture_.CutPower(), {.start = start}).frames.size(), 20u);
    log->Release(log->end());
  }
}

// A program that waits for compactions leaves a part of the frames unreleased.
TEST_P(WalTest, GivesTheReleasedPartOfTheBufferBack) {
  auto log = CreateLarge();
  uint64_t i = 0;
  for (int lap = 0; lap < 4; ++lap) {
    for (int k = 0; k < 150; ++k) ASSERT_OK(Append(*log, PayloadOf(i++, 5000)));
    const Mark start = log->end();
    for (int k = 0; k < 20; ++k) ASSERT_OK(Append(*log, PayloadOf(i++, 5000)));
    const auto listed = log->segments_from(start.position);
    log->Release(start);
    while (log->GiveBackBlocks(false)) continue;
    EXPECT_FALSE(log->GiveBackSegments()) << "not all frames are released";
    if (log->is_mapped()) { EXPECT_LE(log->bytes_on_disk(), size_t{200} << 10); }
    const Outcome outcome = ReplayAll(*fixture_.Kill(), {.start = start, .expected = listed});
    ASSERT_OK(outcome.status);
    ASSERT_EQ(outcome.frames.size(), 20u);
    for (size_t k = 0; k < 20; ++k) EXPECT_EQ(outcome.frames[k].second, PayloadOf(i - 20 + k, 5000));
  }
}

// After a failed sync, what was written to segments may be lost there.
TEST_P(WalTest, AFailedLogGivesBackNothingThatIsNotDurable) {
  auto log = CreateLarge();
  if (!log->is_mapped()) return;  // the process has the buffer, and no file
  // So that the later frames need no new segment, whose sync would fail before a byte is written.
  for (uint64_t i = 0; i < 100; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 5000)));
  ASSERT_OK(log->MakeDurable());
  for (uint64_t i = 100; i < 150; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 5000)));
  fixture_.files.AddFault(
      {.op = FileOp::kSync, .path_contains = ".seg", .sticky = true, .status = Status::NoSpace("full")});
  EXPECT_THAT(log->MakeDurable(), StatusIs(Code::kNoSpace));
  ASSERT_THAT(log->failure(), StatusIs(Code::kNoSpace)) << "all frames are in segments, and their sync has failed";
  const uint64_t held = log->bytes_on_disk();
  while (log->GiveBackBlocks(false)) continue;
  EXPECT_LT(log->bytes_on_disk(), held);
  ASSERT_OK_AND_ASSIGN(const std::string staging, fixture_.files.ReadWhole(kDirectory + std::string("/STAGING")));
  for (uint64_t i = 100; i < 150; ++i) EXPECT_NE(staging.find(PayloadOf(i, 5000)), std::string::npos) << i;
}

TEST_P(WalTest, AClosedLogLeavesNoFileThatReplayDoesNotNeed) {
  auto log = fixture_.Create();
  for (uint64_t i = 0; i < 200; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 1000)));
  const Mark start = log->end();
  for (uint64_t i = 200; i < 205; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 1000)));
  ASSERT_OK(log->MakeDurable());
  const auto listed = log->segments_from(start.position);
  log->Stop();
  log->RemoveUnneeded();
  EXPECT_EQ(fixture_.files.Files().size(), listed.size());
  const Outcome outcome =
      ReplayAll(*fixture_.CutPower(), {.start = start, .clean_end = log->end().position, .expected = listed});
  ASSERT_OK(outcome.status);
  EXPECT_EQ(outcome.frames.size(), 5u);
}

TEST_P(WalTest, ANewEpochInRecycledFilesShowsNothingOfTheOld) {
  std::vector<kv::FileNumber> left;
  {
    auto log = fixture_.Create();
    for (uint64_t i = 0; i < 100; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 1000)));
    ASSERT_OK(log->MakeDurable());
    left = ReplayAll(fixture_.files).replayed.segments;
    EXPECT_FALSE(left.empty());
  }
  Options options = fixture_.LogOptions();
  options.epoch = 2;
  options.salt = 43;
  options.reusable_segments = left;
  auto log = fixture_.Create(options);
  const ReplayArgs args = {.epoch = 2, .salt = 43};
  EXPECT_TRUE(ReplayAll(*fixture_.Kill(), args).frames.empty());
  for (uint64_t i = 0; i < 20; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 500)));
  ASSERT_OK(log->MakeDurable());
  EXPECT_EQ(log->counters().segments_created.load(), 0u);
  EXPECT_EQ(CountPrefix(ReplayAll(*fixture_.CutPower(), args)), 20u);
}

TEST_P(WalTest, AppendedFramesAreDurableAfterTheTimer) {
  auto log = fixture_.Create();
  for (uint64_t i = 0; i < 5; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 100)));
  EXPECT_EQ(log->durable_position(), 0u);
  fixture_.RunInterval();
  EXPECT_EQ(log->durable_position(), log->end().position);
  EXPECT_EQ(CountPrefix(ReplayAll(*fixture_.CutPower())), 5u);
}

TEST_P(WalTest, TheTimerRestsWithoutAppendsAndStartsAgain) {
  auto log = fixture_.Create();
  ASSERT_OK(Append(*log, PayloadOf(0, 100)));
  for (int i = 0; i < 3; ++i) fixture_.RunInterval();
  fixture_.executor.RunTimers();
  EXPECT_EQ(fixture_.executor.waiting(), 0u);
  ASSERT_OK(Append(*log, PayloadOf(1, 100)));
  fixture_.RunInterval();
  EXPECT_EQ(log->durable_position(), log->end().position);
}

TEST_P(WalTest, WorkThatComesLateFindsTheLogGone) {
  auto log = fixture_.Create();
  for (uint64_t i = 0; i < 100; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 500)));
  log.reset();
  fixture_.RunInterval();
}

TEST_P(WalTest, UndrainedBytesAreBoundedWithoutAnyBackgroundWork) {
  auto log = fixture_.Create();
  ASSERT_OK(log->MakeDurable());  // syncs are expected for the next half buffer of bytes
  for (uint64_t i = 0; i < 22; ++i) {
    ASSERT_OK(Append(*log, PayloadOf(i, 700)));
    ASSERT_LE(log->unwritten_bytes(), size_t{16} << 10);
  }
  for (uint64_t i = 0; i < 1000; ++i) {
    ASSERT_OK(Append(*log, PayloadOf(i, 700)));
    ASSERT_LE(log->unwritten_bytes(), size_t{32} << 10);
  }
}

TEST_P(WalTest, TheWalWriterMovesBytesWithoutTheAppender) {
  if (!GetParam()) GTEST_SKIP() << "the writer writes";
  Options options = fixture_.LogOptions();
  options.buffer_bytes = size_t{256} << 10;
  auto log = fixture_.Create(options);
  for (uint64_t i = 0; i < 2000; ++i) {
    ASSERT_OK(Append(*log, PayloadOf(i, 700)));
    fixture_.executor.RunAll();
  }
  EXPECT_EQ(log->counters().wal_buffer_waits.count(), 0u);
  EXPECT_LT(log->unwritten_bytes(), size_t{256} << 10);
  EXPECT_GT(log->unwritten_bytes(), size_t{128} << 10) << "nothing asks for them";
  ASSERT_OK(log->MakeDurable());
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_OK(Append(*log, PayloadOf(i, 700)));
    fixture_.executor.RunAll();
    EXPECT_LT(log->unwritten_bytes(), size_t{64} << 10) << "another sync is expected";
  }
}

TEST_P(WalTest, AFullDiskIsNoSpaceBeforeAByteIsAppendedAndPasses) {
  auto log = fixture_.Create();
  uint64_t i = 0;
  for (; i < 30; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 1000)));
  fixture_.files.SetCapacity(fixture_.files.bytes_used());
  Status status;
  while (status.ok()) {
    status = Append(*log, PayloadOf(i, 1000));
    if (status.ok()) ++i;
    ASSERT_LT(i, 1000u);
  }
  EXPECT_THAT(status, StatusIs(Code::kNoSpace));
  EXPECT_FALSE(status.outcome_unknown());
  const Status synced = log->MakeDurable();
  EXPECT_EQ(synced.IsNoSpace(), GetParam()) << "bytes of a mapped buffer need a segment for the first time";
  EXPECT_FALSE(synced.outcome_unknown());
  EXPECT_OK(log->failure());
  EXPECT_EQ(CountPrefix(ReplayAll(*fixture_.Kill())), i);
  for (int again = 0; again < 3; ++again) EXPECT_THAT(Append(*log, PayloadOf(i, 1000)), StatusIs(Code::kNoSpace));
  EXPECT_THAT(Append(*log, PayloadOf(i, 100'000)), StatusIs(Code::kNoSpace));

  fixture_.files.SetCapacity(UINT64_MAX);
  for (int k = 0; k < 100; ++k) ASSERT_OK(Append(*log, PayloadOf(i++, 1000)));
  ASSERT_OK(log->MakeDurable());
  EXPECT_EQ(CountPrefix(ReplayAll(*fixture_.CutPower())), i);
}

TEST_P(WalTest, AFailedWriteMovesTheLogToAnotherSegment) {
  auto log = fixture_.Create();
  uint64_t i = 0;
  for (; i < 5; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 1000)));
  ASSERT_OK(log->MakeDurable());
  fixture_.files.AddFault({.op = FileOp::kWrite, .path_contains = ".seg", .partial_bytes = 700});
  Status status = Append(*log, PayloadOf(i++, 1000));
  if (status.ok()) status = log->MakeDurable();
  EXPECT_THAT(status, StatusIs(Code::kIOError));
  EXPECT_TRUE(status.outcome_unknown());
  EXPECT_OK(log->failure());
  for (; i < 50; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 1000)));
  EXPECT_EQ(log->segments_from(0).size(), 2u);
  for (; i < 100; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 1000)));
  EXPECT_EQ(CountPrefix(ReplayAll(*fixture_.Kill())), i);
  ASSERT_OK(log->MakeDurable());
  const Outcome outcome = ReplayAll(*fixture_.CutPower(), {.expected = log->segments_from(0)});
  ASSERT_OK(outcome.status);
  EXPECT_EQ(CountPrefix(outcome), i);
}

TEST_P(WalTest, WritesThatKeepFailingCostNoFrameAndNoFiles) {
  auto log = fixture_.Create();
  uint64_t i = 0;
  for (; i < 5; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 1000)));
  ASSERT_OK(log->MakeDurable());
  fixture_.files.AddFault({.op = FileOp::kWrite, .path_contains = ".seg", .sticky = true});
  (void)Append(*log, PayloadOf(i++, 1000));
  EXPECT_THAT(log->MakeDurable(), StatusIs(Code::kIOError));
  for (int again = 0; again < 20; ++again) EXPECT_THAT(Append(*log, PayloadOf(i, 1000)), StatusIs(Code::kIOError));
  EXPECT_LE(log->segments().size(), 6u);
  fixture_.files.ClearFaults();
  for (; i < 50; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 1000)));
  ASSERT_OK(log->MakeDurable());
  EXPECT_EQ(CountPrefix(ReplayAll(*fixture_.CutPower())), i);
}

TEST_P(WalTest, ALargeFrameThatFailedIsAbsentAndItsPlaceIsTaken) {
  for (uint64_t nth = 1; nth <= 12; ++nth) {
    SCOPED_TRACE(nth);
    WalFixture fixture({.allow_mapping = GetParam()});
    auto log = fixture.Create();
    ASSERT_OK(Append(*log, PayloadOf(0, 5000)));
    ASSERT_OK(log->MakeDurable());
    fixture.files.AddFault({.op = FileOp::kWrite, .path_contains = ".seg", .nth = nth, .has_happened = true});
    const Status status = Append(*log, PayloadOf(1, 150'000));
    if (status.ok()) break;
    if (status.outcome_unknown()) {
      EXPECT_FALSE(log->failure().ok());
      EXPECT_FALSE(Append(*log, PayloadOf(1, 10)).ok());
      continue;
    }
    EXPECT_EQ(CountPrefix(ReplayAll(*fixture.Kill())), 1u);
    for (uint64_t i = 1; i < 200; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 1000)));
    EXPECT_EQ(CountPrefix(ReplayAll(*fixture.Kill())), 200u);
    ASSERT_OK(log->MakeDurable());
    EXPECT_EQ(CountPrefix(ReplayAll(*fixture.CutPower())), 200u);
  }
}

// If bytes in front of the frame are not in a segment yet, the frame needs a step of the WAL writer, and
// perhaps a new segment. Without a mapping the test also covers append-only files.
TEST_P(WalTest, ALargeFrameIsRefusedWhereNoSegmentCanBeHadAndGoesInLater) {
  for (const FileOp op : {FileOp::kCreate, FileOp::kOpen, FileOp::kWrite, FileOp::kSync, FileOp::kSyncDirectory}) {
    for (const uint64_t staged : {uint64_t{0}, uint64_t{1}, uint64_t{3}}) {
      for (uint64_t nth = 1; nth < 12; ++nth) {
        SCOPED_TRACE(std::string(testing::OpName(op)) + " " + std::to_string(nth) + " behind " +
                     std::to_string(staged));
        WalFixture fixture({.allow_mapping = GetParam(), .is_append_only = !GetParam() && staged != 1});
        auto log = fixture.Create();
        for (uint64_t i = 0; i < staged; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 3000)));
        fixture.files.AddFault({.op = op, .nth = nth});
        const Status status = Append(*log, PayloadOf(staged, 150'000));
        const bool was_hit = fixture.files.faults_hit() > 0;
        fixture.files.ClearFaults();
        if (!was_hit) {
          ASSERT_OK(status);
          break;
        }
        if (!log->failure().ok()) {  // final; every later call reports it
          EXPECT_FALSE(Append(*log, PayloadOf(staged, 150'000)).ok());
          continue;
        }
        if (!status.ok()) { ASSERT_OK(Append(*log, PayloadOf(staged, 150'000))); }
        EXPECT_EQ(CountPrefix(ReplayAll(*fixture.CutPower())), staged + 1);
      }
    }
  }
}

// With append-only files, a segment that begins within a block is padded behind its head up to that position.
TEST(AppendedLogTest, APaddingThatFailsCostsNoFrame) {
  WalFixture fixture({.allow_mapping = false, .is_append_only = true});
  auto log = fixture.Create();
  uint64_t i = 0;
  for (; i < 5; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 1000)));
  ASSERT_OK(log->MakeDurable());
  fixture.files.AddFault(
      {.op = FileOp::kWrite, .path_contains = ".seg"});  // the write of a frame: its segment ends there
  EXPECT_THAT(Append(*log, PayloadOf(i++, 1000)), StatusIs(Code::kIOError));
  fixture.files.AddFault({.op = FileOp::kWrite, .path_contains = ".seg", .nth = 2});
  EXPECT_THAT(Append(*log, PayloadOf(i, 1000)), StatusIs(Code::kIOError, ::testing::HasSubstr(".seg: write")));
  EXPECT_EQ(fixture.files.faults_hit(), 2u);
  EXPECT_OK(log->failure());
  for (; i < 200; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 1000)));
  EXPECT_EQ(CountPrefix(ReplayAll(*fixture.Kill())), i);
  ASSERT_OK(log->MakeDurable());
  const Outcome outcome = ReplayAll(*fixture.CutPower(), {.expected = log->segments_from(0)});
  ASSERT_OK(outcome.status);
  EXPECT_EQ(CountPrefix(outcome), i);
}

TEST_P(WalTest, ASegmentThatFailedIsStillThereForTheManifestThatListsIt) {
  auto log = fixture_.Create();
  ASSERT_OK(Append(*log, PayloadOf(0, 5000)));
  std::vector<std::vector<kv::FileNumber>> listed;
  fixture_.files.SetOpHook([&](uint64_t, const char*, const std::string&) { listed.push_back(log->segments_from(0)); });
  fixture_.files.AddFault({.op = FileOp::kWrite, .path_contains = ".seg", .nth = GetParam() ? 8u : 7u});
  EXPECT_THAT(Append(*log, PayloadOf(1, 150'000)), StatusIs(Code::kIOError));
  fixture_.files.SetOpHook(nullptr);
  for (const auto& expected : listed) EXPECT_OK(ReplayAll(*fixture_.Kill(), {.expected = expected}).status);
  log->Release({});
  log->Release({});
  for (uint64_t i = 1; i < 50; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 1000)));
  EXPECT_OK(ReplayAll(*fixture_.Kill(), {.expected = log->segments_from(0)}).status);
  EXPECT_EQ(log->segments().size() + 1 + (GetParam() ? 1 : 0), fixture_.files.Files().size() + 1)
      << "no file is forgotten";
}

// Symptom: after a kill, "the MANIFEST lists this WAL segment, but it is missing". Cause: the WAL start of the
// edit lies beyond the bytes that are in segments, so the edit lists the segment that is being filled. When
// the edit is durable, later segments hold those positions, and the listed segment is surplus.
TEST_P(WalTest, ASegmentInTheDurableVersionEditIsNotRemoved) {
  auto log = fixture_.Create();
  uint64_t i = 0;
  const auto append_bytes = [&](uint64_t bytes) {
    for (const uint64_t end = log->end().position + bytes; log->end().position < end;)
      ASSERT_OK(Append(*log, PayloadOf(i++, 1000)));
  };
  append_bytes(uint64_t{700} << 10);  // more segments than the WAL keeps for reuse
  ASSERT_OK(log->MakeDurable());
  append_bytes(5000);
  const uint64_t listed_from = log->end().position + (uint64_t{64} << 10);
  const auto listed = log->segments_from(listed_from);  // of the edit that a commit writes now
  append_bytes(uint64_t{200} << 10);
  ASSERT_OK(log->MakeDurable());
  const Mark start = log->end();
  log->Release({.position = listed_from});
  const auto held = log->segments();
  for (const kv::FileNumber number : listed) {
    EXPECT_TRUE(fixture_.files.SizeOf(format::SegmentPath(kDirectory, number))) << kv::ToInt(number);
    EXPECT_NE(std::ranges::find(held, number), held.end());
  }
  EXPECT_OK(ReplayAll(*fixture_.Kill(), {.start = start, .expected = listed}).status);
  // The next edit does not list the segment.
  const auto listed_next = log->segments_from(start.position);
  EXPECT_EQ(std::ranges::find(listed_next, listed.front()), listed_next.end());
  log->Release(start);
  EXPECT_EQ(log->segments().size() + GetParam(), fixture_.files.Files().size()) << "no file is forgotten";
}

TEST_P(WalTest, FilesOfAKilledProcessHaveDurableNamesBeforeTheyAreUsed) {
  std::vector<kv::FileNumber> left;
  auto log = fixture_.Create();
  fixture_.files.SetOpHook([&](uint64_t, const char* what, const std::string&) {
    if (std::string_view(what) == "syncdir") throw 0;  // the process dies before this
  });
  try {
    (void)log->Prepare();
  } catch (int) {}
  fixture_.files.SetOpHook(nullptr);
  left = ReplayAll(fixture_.files).replayed.segments;
  ASSERT_EQ(left.size(), 1u);
  Options options = fixture_.LogOptions();
  options.epoch = 2;
  options.reusable_segments = left;
  auto next = fixture_.Create(options);
  ASSERT_OK(Append(*next, PayloadOf(0, 10)));
  ASSERT_OK(next->MakeDurable());
  EXPECT_EQ(next->counters().segments_created.load(), 1u) << "the one that was never in use is not used";
  EXPECT_EQ(CountPrefix(ReplayAll(*fixture_.CutPower(), {.epoch = 2})), 1u);
}

// Symptom: Open refuses a database whose data is all in tables, because a segment that the MANIFEST lists is
// short. Cause: a kill during the sync of the new file; the next process takes the file over, and power fails
// before its first sync.
TEST_P(WalTest, FilesOfAKilledProcessAreDurableBeforeTheManifestNamesThem) {
  auto log = fixture_.Create();
  fixture_.files.SetOpHook([&](uint64_t, const char* what, const std::string& path) {
    if (std::string_view(what) == "sync" && path.ends_with(".seg")) throw 0;  // the process dies before this
  });
  try {
    (void)log->Prepare();
  } catch (int) {}
  fixture_.files.SetOpHook(nullptr);
  Options options = fixture_.LogOptions();
  options.epoch = 2;
  options.reusable_segments = ReplayAll(fixture_.files).replayed.segments;
  ASSERT_EQ(options.reusable_segments.size(), 1u);
  auto next = fixture_.Create(options);
  ASSERT_OK(next->Prepare());
  for (uint64_t i = 0; i < 10; ++i) ASSERT_OK(Append(*next, PayloadOf(i, 3'000)));
  fixture_.executor.RunAll();
  const auto listed = next->segments_from(0);
  EXPECT_FALSE(listed.empty());
  EXPECT_OK(ReplayAll(*fixture_.CutPower(), {.epoch = 2, .expected = listed}).status);
}

// Symptom: after a value for which the disk has no room, all other writes are NoSpace until the next open.
TEST_P(WalTest, ALargeFrameThatIsRefusedGivesItsSegmentsBack) {
  auto log = fixture_.Create();
  ASSERT_OK(Append(*log, PayloadOf(0, 10)));
  fixture_.files.AddFault({.op = FileOp::kCreate, .nth = 30, .sticky = true, .status = Status::NoSpace("full")});
  EXPECT_THAT(Append(*log, PayloadOf(1, 3 << 20)), StatusIs(Code::kNoSpace));
  EXPECT_LE(log->segments().size(), 10u);
  const auto files = fixture_.files.List(kDirectory);
  ASSERT_OK(files.status());
  EXPECT_LE(std::ranges::count_if(*files, [](const std::string& name) { return name.ends_with(".seg"); }), 10);
  ASSERT_OK(Append(*log, PayloadOf(1, 3'000))) << "small frames go on";
  EXPECT_EQ(CountPrefix(ReplayAll(*fixture_.Kill())), 2u);
}

// Symptom: after a failed partial write and a kill, Open returns Corruption, "the WAL was durable up to position" the
// middle of a frame.
TEST_P(WalTest, APartOfAFrameIsNotCalledDurable) {
  uint64_t failures = 0;
  for (uint64_t nth = 1; nth <= 3; ++nth) {
    WalFixture fixture({.allow_mapping = GetParam()});
    auto log = fixture.Create();
    for (uint64_t i = 0; i < 40; ++i) {
      fixture.files.AddFault({.op = FileOp::kWrite, .path_contains = ".seg", .nth = nth});
      const Status status = Append(*log, PayloadOf(i, 3'000));
      fixture.files.ClearFaults();
      if (!status.ok()) {
        ++failures;
        fixture.executor.RunTimers();
        fixture.executor.RunAll();
        const uint64_t durable = log->durable_position();
        EXPECT_OK(ReplayAll(*fixture.Kill(), {.durable = durable}).status) << "frame " << i;
        EXPECT_OK(ReplayAll(*fixture.CutPower(), {.durable = durable}).status) << "frame " << i;
      }
      ASSERT_OK(log->WriteThrough());
    }
  }
  EXPECT_TRUE(GetParam() || failures > 0);
}

TEST_P(WalTest, TheTimerCallsNothingDurableThatNoFileHolds) {
  auto log = fixture_.Create();
  const std::string payload = PayloadOf(0, 8);
  const std::string_view pieces[] = {payload};
  ASSERT_OK(log->Append(pieces, 1, false));
  fixture_.RunInterval();
  EXPECT_GE(ReplayAll(*fixture_.CutPower()).replayed.end.position, log->durable_position());
}

TEST_P(WalTest, AFailedSyncIsFinal) {
  auto log = fixture_.Create();
  for (uint64_t i = 0; i < 3; ++i) ASSERT_OK(Append(*log, PayloadOf(i, 100)));
  ASSERT_OK(log->MakeDurable());
  ASSERT_OK(Append(*log, PayloadOf(3, 100)));
  fixture_.files.AddFault({.op = FileOp::kSync, .path_contains = ".seg"});
  const Status failed = log->MakeDurable();
  EXPECT_THAT(failed, StatusIs(Code::kIOError));
  EXPECT_TRUE(failed.outcome_unknown());
  const Status later = log->MakeDurable();
  EXPECT_THAT(later, StatusIs(Code::kIOError));
  EXPECT_TRUE(later.outcome_unknown());
  const Status begun = Append(*log, PayloadOf(4, 100));
  EXPECT_THAT(begun, StatusIs(Code::kIOError));
  EXPECT_FALSE(begun.outcome_unknown()) << "nothing was staged";
  EXPECT_THAT(Append(*log, PayloadOf(4, 100'000)), StatusIs(Code::kIOError));
  EXPECT_THAT(log->failure(), StatusIs(Code::kIOError));
  fixture_.RunInterval();
  EXPECT_EQ(fixture_.files.sync_after_failed_sync(), 0u);
  EXPECT_GE(CountPrefix(ReplayAll(*fixture_.CutPower())), 3u);
}

TEST_P(WalTest, AFailedBackgroundSyncReachesTheNextWriter) {
  auto log = fixture_.Create();
  ASSERT_OK(log->Prepare());
  ASSERT_OK(Append(*log, PayloadOf(0, 100)));
  fixture_.files.AddFault({.op = FileOp::kSync, .path_contains = ".seg"});
  fixture_.RunInterval();
  EXPECT_THAT(Append(*log, PayloadOf(1, 100)), StatusIs(Code::kIOError));
}

// The injected failure of Unshare shows that the timer calls it.
TEST_P(WalTest, TheTimerUnsharesTheBlocksOfAMappedRing) {
  auto log = fixture_.Create();
  fixture_.files.AddFault({.op = FileOp::kUnshare, .path_contains = "STAGING", .status = Status::NoSpace("injected")});
  ASSERT_OK(Append(*log, PayloadOf(0, 100)));
  fixture_.executor.RunTimers();
  fixture_.executor.RunAll();
  if (!GetParam()) {
    ASSERT_OK(Append(*log, PayloadOf(1, 100)));
    return;
  }
  // A store into the mapping could kill the process. So the WAL fails. The kernel has the frame.
  EXPECT_THAT(Append(*log, PayloadOf(1, 100)), StatusIs(Code::kNoSpace));
  const Outcome outcome = ReplayAll(*fixture_.Kill());
  ASSERT_OK(outcome.status);
  EXPECT_EQ(CountPrefix(outcome), 1u);
}

// MakeDurable runs and fails while the large frame waits for its segments.
TEST_P(WalTest, ALargeFrameIsAbsentIfTheLogFailsWhileItsRoomIsMade) {
  auto log = fixture_.Create();
  ASSERT_OK(log->Prepare());
  ASSERT_OK(Append(*log, PayloadOf(0, 100)));
  fixture_.files.SetOpHook([&](uint64_t, const char* what, const std::string&) {
    if (what != std::string_view(testing::OpName(FileOp::kCreate))) return;
    fixture_.files.SetOpHook(nullptr);
    fixture_.files.AddFault({.op = FileOp::kSync, .path_contains = ".seg"});
    EXPECT_THAT(log->MakeDurable(), StatusIs(Code::kIOError));
  });
  const Status status = Append(*log, PayloadOf(1, 150'000));
  EXPECT_EQ(fixture_.files.faults_hit(), 1u);
  EXPECT_THAT(status, StatusIs(Code::kIOError));
  EXPECT_FALSE(status.outcome_unknown()) << "nothing of it was written";
  EXPECT_EQ(fixture_.files.sync_after_failed_sync(), 0u);
  EXPECT_EQ(CountPrefix(ReplayAll(*fixture_.Kill())), 1u);
}

TEST_P(WalTest, ASegmentThatCannotBeMadeLeavesNoFile) {
  for (const FileOp op : {FileOp::kCreate, FileOp::kWrite, FileOp::kSync, FileOp::kSyncDirectory}) {
    WalFixture fixture({.allow_mapping = GetParam()});
    auto log = fixture.Create();
    fixture.files.AddFault({.op = op, .path_contains = op == FileOp::kSyncDirectory ? "" : ".seg"});
    EXPECT_THAT(log->Prepare(), StatusIs(Code::kIOError));
    for (const std::string& path : fixture.files.Files()) EXPECT_EQ(path.find(".seg"), std::string::npos) << path;
    ASSERT_OK(Append(*log, PayloadOf(0, 100)));
    EXPECT_EQ(CountPrefix(ReplayAll(*fixture.Kill())), 1u);
    EXPECT_EQ(fixture.files.sync_after_failed_sync(), 0u);
  }
}

TEST_P(WalTest, RefusesWorkOnceStopped) {
  auto log = fixture_.Create();
  ASSERT_OK(Append(*log, PayloadOf(0, 100)));
  log->Stop();
  EXPECT_THAT(Append(*log, PayloadOf(1, 100)), StatusIs(Code::kShuttingDown));
  EXPECT_THAT(log->MakeDurable(), StatusIs(Code::kShuttingDown));
  log->Stop();
}

TEST_P(WalTest, ReusableFilesOfAnotherSizeAreRemoved) {
  ASSERT_OK(fixture_.files.WriteWhole("/db/000002.seg", std::string(4096 + 4096, 'x')));
  Options options = fixture_.LogOptions();
  options.reusable_segments = {kv::FileNumber(2), kv::FileNumber(3)};
  auto log = fixture_.Create(options);
  EXPECT_TRUE(log->segments().empty());
  EXPECT_THAT(fixture_.files.SizeOf("/db/000002.seg"), StatusIs(Code::kNotFound));
}

TEST_P(WalTest, SegmentsFromListsWhatReplayNeedsAndNoMore) {
  auto log = fixture_.Create();
  std::vector<Mark> marks;
  for (uint64_t i = 0; i < 300; ++i) {
    if (i % 60 == 0) marks.push_back(log->end());
    ASSERT_OK(Append(*log, PayloadOf(i, 1000)));
  }
  ASSERT_OK(log->MakeDurable());
  for (const Mark& mark : marks) {
    const auto image = fixture_.CutPower();
    const auto needed = log->segments_from(mark.position);
    for (const kv::FileNumber number : log->segments()) {
      if (std::find(needed.begin(), needed.end(), number) != needed.end()) continue;
      ASSERT_OK(image->Remove(format::SegmentPath(kDirectory, number)));
    }
    const Outcome outcome = ReplayAll(*image, {.start = mark, .expected = needed});
    ASSERT_OK(outcome.status);
    EXPECT_EQ(outcome.replayed.end.position, log->end().position);
  }
}

}  // namespace
}  // namespace mergedb::wal
