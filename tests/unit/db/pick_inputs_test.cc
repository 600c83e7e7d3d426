// Goal: a pick knows the last flush, the live bytes as far as the flushes tell them, and the oldest snapshot.
#include "db/background/pick_inputs.h"

#include <gtest/gtest.h>

namespace mergedb::db {
namespace {

class PickInputsTest : public ::testing::Test {
 protected:
  void SetUp() override { options_.compression = {.upper = Compression::kLz4, .bottom = Compression::kLz4}; }

  // Flushes 100 keys to a table of 5,000 bytes.
  void Flush(uint64_t range_tombstones = 0) {
    auto sampled = inputs_.BeginSample();
    for (int i = 0; i < 100; ++i) {
      const std::string key = "key" + std::to_string(i);
      sampled.Add({.prefix = 0, .key = key, .tag = kv::MakeTag(1, kv::Kind::kPut), .value = "0123456789"});
    }
    auto table = std::make_shared<format::FileMeta>();
    table->bytes = 5'000;
    table->range_tombstones = range_tombstones;
    inputs_.NoteFlush(sampled, {.table = table, .blob_files = {}});
  }
  picker::PickInput Input() const { return inputs_.For(version_, {}, picker::Urgency::kQuiet); }

  Options options_;
  const kv::Order order_{BytewiseComparator()};
  const std::shared_ptr<Snapshots> snapshots_ = std::make_shared<Snapshots>();
  const version::Version version_{};
  PickInputs inputs_{options_, 1 << 20, order_, *snapshots_};
};

TEST_F(PickInputsTest, AFlushGivesItsSizeAndASampleAndANewGeneration) {
  EXPECT_EQ(Input().flush_bytes, 1u << 20);
  EXPECT_EQ(Input().flushed_bytes, 0u);
  EXPECT_EQ(Input().live_bytes_known, 0u);
  const uint64_t generation = inputs_.generation();
  Flush();
  EXPECT_EQ(Input().flushed_bytes, 5'000u);
  EXPECT_GT(Input().live_bytes_known, 1'000u);
  EXPECT_NE(inputs_.generation(), generation);
}

TEST_F(PickInputsTest, ARangeDeleteEndsTheSample) {
  Flush();
  Flush(1);
  EXPECT_EQ(Input().live_bytes_known, 0u);
  EXPECT_EQ(Input().flushed_bytes, 5'000u);
}

TEST_F(PickInputsTest, NoSampleIfBottommostTablesMayBeSmaller) {
  options_.compression.bottom = Compression::kZstd;
  Flush();
  EXPECT_EQ(Input().live_bytes_known, 0u);
  options_.compression.bottom = Compression::kNone;
  Flush();
  EXPECT_GT(Input().live_bytes_known, 0u);
}

TEST_F(PickInputsTest, NamesTheOldestSnapshot) {
  EXPECT_EQ(Input().oldest_snapshot, kv::kSequenceMax);
  snapshots_->Publish(7);
  const auto older = snapshots_->Get(1);
  snapshots_->Publish(9);
  const auto newer = snapshots_->Get(2);
  EXPECT_EQ(Input().oldest_snapshot, 7u);
}

}  // namespace
}  // namespace mergedb::db
