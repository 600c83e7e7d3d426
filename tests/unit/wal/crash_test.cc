// Goal: replay returns a prefix with all durable frames, after a kill and after a power cut before every
// operation on the file system, in every mode and model. Method: one deterministic run of frames of all
// sizes, syncs, background work and releases. At each operation an image is replayed from the newest position
// that a MANIFEST would name. Replay must return the first frames in order: all of them after a kill, at
// least the durable ones after a power cut. It must never return Corruption.
#include "gtest/gtest.h"
#include "tests/unit/wal/wal_fixture.h"

namespace mergedb::wal {
namespace {

using testing::CrashMode;
using testing::CrashModel;
using testing::FaultFileSystem;

// Tiny: every step of the WAL writer goes through its copy buffer. Roomy: the steps write blocks directly
// from the WAL buffer and cut frames in two, and the WAL buffer becomes full.
enum class Size { kTiny, kRoomy };

class CrashRun {
 public:
  CrashRun(uint64_t seed, bool is_mapped, Size size)
      : random_(seed), size_(size), fixture_({.allow_mapping = is_mapped}) {}

  void Run(int frames) {
    Options options = fixture_.LogOptions();
    if (size_ == Size::kRoomy) {
      options.buffer_bytes = options.unwritten_bytes_max = size_t{256} << 10;
      options.segment_bytes = size_t{384} << 10;
    }
    log_ = fixture_.Create(options);
    fixture_.files.SetOpHook([this](uint64_t op, const char*, const std::string&) { CheckAll(op); });
    for (int i = 0; i < frames && !::testing::Test::HasFailure(); ++i) Step();
    fixture_.files.SetOpHook(nullptr);
    log_->Stop();
  }
  uint64_t images() const { return images_; }

 private:
  void Step() {
    const size_t bytes = random_.OneIn(40)                           ? 10'000 + random_.Uniform(80'000)
                         : random_.OneIn(4) || size_ == Size::kRoomy ? random_.Uniform(6000)
                                                                     : random_.Uniform(300);
    const std::string payload = PayloadOf(index_, bytes);
    is_appending_ = true;
    ASSERT_OK(Append(*log_, payload));
    is_appending_ = false;
    ends_.push_back(log_->end());
    ++index_;
    const bool is_background_asleep = size_ == Size::kRoomy && index_ / 100 % 2 == 1;
    if (!is_background_asleep && random_.OneIn(9)) fixture_.executor.RunOne();
    if (random_.OneIn(40)) fixture_.executor.RunTimers();
    if (random_.OneIn(size_ == Size::kTiny ? 13 : 200)) { ASSERT_OK(log_->MakeDurable()); }
    if (random_.OneIn(30)) ReleaseSome();
  }

  // Does what a flush does: the tables hold all bytes below a mark, and the durable MANIFEST names the mark
  // and the segments above it.
  void ReleaseSome() {
    const size_t count = start_index_ + random_.Uniform(ends_.size() - start_index_ + 1);
    if (count == start_index_) return;
    start_index_ = count;
    start_ = ends_[count - 1];
    expected_ = log_->segments_from(start_.position);
    log_->Release(start_);
    for (uint64_t pieces = random_.Uniform(4); pieces > 0; --pieces) (void)log_->GiveBackBlocks(random_.OneIn(2));
    if (random_.OneIn(2) && log_->GiveBackSegments()) expected_ = log_->segments_from(start_.position);
  }

  void CheckAll(uint64_t op) {
    if (::testing::Test::HasFailure()) return;
    Check(op, CrashMode::kKill, CrashModel::kStrict);
    for (const CrashMode mode : testing::kPowerCutModes) {
      for (const CrashModel model : testing::kCrashModels) Check(op, mode, model);
    }
  }

  void Check(uint64_t op, CrashMode mode, CrashModel model) {
    SCOPED_TRACE(std::string(CrashModeName(mode)) + " " + CrashModelName(model) + " before op " + std::to_string(op));
    const auto image = fixture_.files.Crash(mode, model, op);
    ++images_;
    const Outcome outcome = ReplayAll(*image, {.start = start_, .expected = expected_});
    ASSERT_OK(outcome.status);
    const uint64_t end = outcome.replayed.end.position;
    for (size_t i = 0; i < outcome.frames.size(); ++i) {
      const std::string& payload = outcome.frames[i].second;
      ASSERT_EQ(outcome.frames[i].first, start_index_ + i + 1);
      ASSERT_EQ(payload, PayloadOf(start_index_ + i, payload.size()));
    }
    // A frame may be complete before its Append returns: a large frame, and any frame if the WAL buffer is in
    // memory.
    ASSERT_LE(outcome.frames.size() + start_index_, index_ + (is_appending_ ? 1 : 0));
    if (mode == CrashMode::kKill) {
      ASSERT_GE(outcome.frames.size() + start_index_, index_);
    } else {
      ASSERT_GE(end, std::max(log_->durable_position(), start_.position));
    }
  }

  base::Random random_;
  const Size size_;
  WalFixture fixture_;
  std::unique_ptr<Wal> log_;
  uint64_t index_ = 0;
  bool is_appending_ = false;
  std::vector<Mark> ends_;
  size_t start_index_ = 0;
  Mark start_;
  std::vector<kv::FileNumber> expected_;
  uint64_t images_ = 0;
};

class LogCrash : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(, LogCrash, ::testing::Values(true, false),
                         [](const auto& test) { return test.param ? "Mapped" : "InMemory"; });

void RunSeeds(bool is_mapped, Size size, int frames) {
  for (const uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CrashRun run(seed, is_mapped, size);
    run.Run(frames);
    EXPECT_GT(run.images(), 100u);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST_P(LogCrash, KeepsAPrefixWithAllThatWasDurableAtEveryOperation) { RunSeeds(GetParam(), Size::kTiny, 150); }
TEST_P(LogCrash, SoWithStepsThatCutFramesInTwo) { RunSeeds(GetParam(), Size::kRoomy, 400); }

}  // namespace
}  // namespace mergedb::wal
