// Merge operators through the public interface: whatever happens between two operands (a flush, a compaction,
// a reopen, a crash, a snapshot), the value is the same. A key whose operands cannot be applied fails alone.
// Method: behaviours by example; the vectors of tests/golden/merge/ with each of these events between
// operands; crashes within a batch that exceeds a memtable, where an operand that is replayed twice would
// count twice.
#include "mergedb/merge.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/bytes.h"
#include "base/random.h"
#include "mergedb/db.h"
#include "mergedb/perf_context.h"
#include "testing/counters.h"
#include "testing/simulated_db.h"
#include "testing/status_matchers.h"

namespace mergedb::merge_test {
namespace {

using testing::SimulatedEnv;
using testing::StatusIs;

class MergeTest : public testing::SimulatedDb {
 protected:
  uint64_t Count(std::string_view key, const ReadOptions& options = {}) {
    const auto number = merge::ToU64(Get(key, options));
    EXPECT_TRUE(number.has_value()) << key << " is " << Get(key, options);
    return number.value_or(0);
  }
};

TEST_F(MergeTest, CountsWithoutReading) {
  ASSERT_OK(db_->Merge({}, "visits", merge::AddU64(1)));
  ASSERT_OK(db_->Merge({}, "visits", merge::AddU64(2)));
  EXPECT_EQ(Count("visits"), 3u);
  ASSERT_OK(db_->Flush());
  ASSERT_OK(db_->Merge({}, "visits", merge::AddU64(4)));
  EXPECT_EQ(Count("visits"), 7u);
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  EXPECT_EQ(Count("visits"), 7u);
  ASSERT_OK(db_->Merge({}, "visits", merge::AddU64(8)));
  Reopen();
  EXPECT_EQ(Count("visits"), 15u);
  ASSERT_OK(db_->Delete({}, "visits"));
  EXPECT_EQ(Get("visits"), "NotFound");
  ASSERT_OK(db_->Merge({}, "visits", merge::AddU64(1)));
  EXPECT_EQ(Count("visits"), 1u);
  ASSERT_OK(db_->Put({}, "visits", merge::FromU64(100)));
  ASSERT_OK(db_->Merge({}, "visits", merge::AddU64(1)));
  EXPECT_EQ(Count("visits"), 101u);
}

TEST_F(MergeTest, SnapshotsSeeTheOperandsOfTheirTime) {
  std::vector<std::shared_ptr<const Snapshot>> snapshots;
  for (uint64_t i = 1; i <= 20; ++i) {
    ASSERT_OK(db_->Merge({}, "n", merge::AddU64(1)));
    snapshots.push_back(db_->GetSnapshot());
    if (i % 5 == 0) { ASSERT_OK(db_->Flush()); }
    if (i % 7 == 0) { ASSERT_OK(db_->CompactRange(nullptr, nullptr)); }
  }
  for (uint64_t i = 1; i <= 20; ++i) EXPECT_EQ(Count("n", {.snapshot = snapshots[i - 1].get()}), i);
  for (uint64_t i = 2; i <= 20; i += 2) snapshots[i - 1] = nullptr;
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  for (uint64_t i = 1; i <= 20; i += 2) EXPECT_EQ(Count("n", {.snapshot = snapshots[i - 1].get()}), i);
  EXPECT_EQ(Count("n"), 20u);
}

TEST_F(MergeTest, IteratorsAndMultiGetFoldInAllDirections) {
  for (int round = 0; round < 3; ++round) {
    for (int key = 0; key < 50; ++key) {
      ASSERT_OK(
          db_->Merge({}, "k" + std::to_string(100 + key), merge::Append(std::to_string(round), {.delimiter = ","})));
    }
    if (round < 2) { ASSERT_OK(db_->Flush()); }
  }
  auto it = db_->NewIterator();
  int seen = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next(), ++seen) ASSERT_EQ(it->value(), "0,1,2");
  ASSERT_EQ(seen, 50);
  for (it->SeekToLast(); it->Valid(); it->Prev(), --seen) ASSERT_EQ(it->value(), "0,1,2");
  ASSERT_EQ(seen, 0);
  it->SeekForPrev("k125x");
  ASSERT_EQ(it->key(), "k125");
  it->Next();
  ASSERT_EQ(it->key(), "k126");
  it->Prev();
  it->Prev();
  ASSERT_EQ(it->key(), "k124");
  std::vector<std::string> values;
  const auto statuses = db_->MultiGet({}, {"k100", "absent", "k149"}, &values);
  EXPECT_OK(statuses[0]);
  EXPECT_TRUE(statuses[1].IsNotFound());
  EXPECT_EQ(values[2], "0,1,2");
}

TEST_F(MergeTest, ABatchMergesInOrder) {
  WriteBatch batch;
  batch.Merge("k", merge::Append("a"));
  batch.Put("k", "b");
  batch.Merge("k", merge::Append("c"));
  batch.Merge("k", merge::Append("d"));
  batch.Delete("n");
  batch.Merge("n", merge::AddU64(5));
  ASSERT_OK(db_->Write({}, batch));
  EXPECT_EQ(Get("k"), "bcd");
  EXPECT_EQ(Count("n"), 5u);
}

TEST_F(MergeTest, RefusesWhatIsNoOperandBeforeAByteIsWritten) {
  for (const std::string& operand : {std::string(), std::string("5"), merge::Named("uint64add", "5"),
                                     merge::JsonPatch("{"), merge::Named("", "x")}) {
    EXPECT_THAT(db_->Merge({}, "k", operand), StatusIs(Code::kInvalidArgument));
    WriteBatch batch;
    batch.Put("k", "v");
    batch.Merge("k", operand);
    EXPECT_THAT(db_->Write({}, batch), StatusIs(Code::kInvalidArgument));
  }
  EXPECT_EQ(Get("k"), "NotFound");
}

// ---- the vectors, with every event between operands -------------------------------------------------------

struct Vector {
  std::string name;
  std::optional<std::string> base;
  std::vector<std::string> operands;
  std::optional<std::string> value;  // std::nullopt: MergeFailed
};

std::string Bytes(const nlohmann::json& hex) {
  std::string bytes;
  EXPECT_TRUE(base::FromHex(hex.get<std::string>(), &bytes));
  return bytes;
}

std::vector<Vector> ReadVectors() {
  std::ifstream file(std::string(MERGEDB_SOURCE_DIR) + "/tests/golden/merge/vectors.json");
  std::vector<Vector> vectors;
  for (const auto& each : nlohmann::json::parse(file)) {
    Vector vector{.name = each["name"].get<std::string>(), .base = {}, .operands = {}, .value = {}};
    if (!each["base"].is_null()) vector.base = Bytes(each["base"]);
    if (!each["value"].is_null()) vector.value = Bytes(each["value"]);
    for (const auto& operand : each["operands"]) {
      vector.operands.push_back(each.contains("named") ? merge::Named(each["named"].get<std::string>(), Bytes(operand))
                                                       : Bytes(operand));
    }
    vectors.push_back(std::move(vector));
  }
  return vectors;
}

TEST_F(MergeTest, GivesTheVectorsValuesWhateverHappensInBetween) {
  const auto vectors = ReadVectors();
  size_t steps = 0;
  for (const Vector& vector : vectors) steps = std::max(steps, vector.operands.size());
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    const auto key_of = [&](size_t i) { return "vector" + std::to_string(seed) + "." + std::to_string(1000 + i); };
    std::vector<std::shared_ptr<const Snapshot>> snapshots;
    for (size_t step = 0; step <= steps; ++step) {
      for (size_t i = 0; i < vectors.size(); ++i) {
        const Vector& vector = vectors[i];
        if (step == 0) {
          if (vector.base) { ASSERT_OK(db_->Put({}, key_of(i), *vector.base)); }
        } else if (step <= vector.operands.size()) {
          ASSERT_OK(db_->Merge({}, key_of(i), vector.operands[step - 1])) << vector.name;
        }
      }
      switch (random.Uniform(6)) {
        case 0: ASSERT_OK(db_->Flush()); break;
        case 1: ASSERT_OK(db_->CompactRange(nullptr, nullptr)); break;
        case 2: snapshots.push_back(db_->GetSnapshot()); break;
        case 3:
          snapshots.clear();
          Reopen();
          break;
        case 4:
          ASSERT_OK(db_->Flush());
          snapshots.push_back(db_->GetSnapshot());
          break;
        default: break;
      }
    }
    for (size_t i = 0; i < vectors.size(); ++i) {
      ASSERT_EQ(Get(key_of(i)), vectors[i].value.value_or("MergeFailed")) << vectors[i].name;
      auto it = db_->NewIterator();
      it->Seek(key_of(i));
      if (vectors[i].value) {
        ASSERT_TRUE(it->Valid()) << vectors[i].name << ": " << it->status().ToString();
        ASSERT_EQ(it->value(), *vectors[i].value) << vectors[i].name;
      } else {
        ASSERT_TRUE(it->status().IsMergeFailed()) << vectors[i].name;
      }
      if (vectors[i].value) continue;
      // Row H1: other keys are readable, and a put or a delete repairs this key.
      ASSERT_OK(random.OneIn(2) ? db_->Put({}, key_of(i), "healed") : db_->Delete({}, key_of(i)));
      ASSERT_FALSE(Get(key_of(i)) == "MergeFailed");
    }
    ASSERT_OK(db_->WaitForCompaction());
  }
}

// ---- hot keys ---------------------------------------------------------------------------------------------

// One key in one memtable, read at every sequence.
TEST_F(MergeTest, AHotKeyIsRightAtEverySnapshot) {
  struct Hot {
    const char* key;
    std::string operand;
  };
  const Hot hot[] = {{"count", merge::AddU64(3)},
                     {"list", merge::Append("ab", {.delimiter = ","})},
                     {"newest", merge::Append("abc", {.cap_bytes = 40})},
                     {"json", merge::JsonPatch("{\"a\":{\"b\":1}}")},
                     {"clash", merge::AddU64(1)}};
  ASSERT_OK(db_->Put({}, "clash", "text"));
  std::vector<std::shared_ptr<const Snapshot>> snapshots;
  for (uint64_t i = 1; i <= 300; ++i) {
    for (const Hot& each : hot) ASSERT_OK(db_->Merge({}, each.key, each.operand));
    snapshots.push_back(db_->GetSnapshot());
  }
  std::string list, newest;
  for (uint64_t i = 1; i <= 300; ++i) {
    const ReadOptions at{.snapshot = snapshots[i - 1].get()};
    list += list.empty() ? "ab" : ",ab";
    newest = (newest + "abc").substr(newest.size() + 3 > 40 ? newest.size() + 3 - 40 : 0);
    ASSERT_EQ(Count("count", at), 3 * i);
    ASSERT_EQ(Get("list", at), list);
    ASSERT_EQ(Get("newest", at), newest);
    ASSERT_EQ(Get("json", at), "{\"a\":{\"b\":1}}");
    ASSERT_EQ(Get("clash", at), "MergeFailed");
    if (i == 150) { ASSERT_OK(db_->Flush()); }
  }
}

// ---- operators of programs --------------------------------------------------------------------------------

class Fickle final : public MergeOperator {
 public:
  std::string_view Name() const override { return "test.fickle"; }
  Status Apply(std::string_view, std::optional<std::string_view> base, Span<const std::string_view> operands,
               std::string* result) const override {
    if (throws) throw std::runtime_error("not today");
    *result = base ? *base : "";
    for (const std::string_view operand : operands) result->append("+").append(operand);
    return {};
  }
  bool throws = false;
};

// Neither Combine nor anything that a fold on write could use.
class Collecting final : public MergeOperator {
 public:
  std::string_view Name() const override { return "test.collecting"; }
  Status Apply(std::string_view, std::optional<std::string_view> base, Span<const std::string_view> operands,
               std::string* result) const override {
    if (base) result->assign(*base);
    for (const std::string_view operand : operands) result->append(operand);
    return {};
  }
};

// Each block of a table is asked for once, wherever the operands lie, and not once for each operand that follows it.
TEST_F(MergeTest, AReadOfManyOperandsTakesABlockOnce) {
  options_.merge_operators = {std::make_shared<Collecting>()};
  options_.write_buffer_bytes = 8 << 20;
  options_.memory_bytes = 32 << 20;
  Reopen();
  for (const char* key : {"a", "k", "z"}) ASSERT_OK(db_->Put({}, key, "base"));
  ASSERT_OK(db_->Flush());
  for (const int operands : {1'000, 10'000}) {
    std::string expected = Get("k");
    for (int i = 0; i < operands; ++i) {
      const std::string part = std::to_string(i) + std::string(15, ',');
      ASSERT_OK(db_->Merge({}, "k", merge::Named("test.collecting", part)));
      expected += part;
      if (i == operands / 2) { ASSERT_OK(db_->Flush()); }
    }
    ASSERT_OK(db_->Flush());
    // Blocks have 4 KiB and an entry at least 20 B. A block that is asked for at the border of two counts twice.
    const auto blocks_max = static_cast<uint64_t>(2 * (operands * 60 / 4096 + 8));
    PerfContext perf;
    {
      const PerfScope scope(&perf);
      EXPECT_EQ(Get("k"), expected);
    }
    EXPECT_LE(perf.block_cache_hits + perf.block_cache_misses, blocks_max) << operands << " operands";
    perf = {};
    {
      const PerfScope scope(&perf);
      std::vector<std::string> values;
      const std::vector<std::string_view> keys = {"a", "k", "z"};
      for (const Status& status : db_->MultiGet({}, keys, &values)) EXPECT_OK(status);
      EXPECT_EQ(values[1], expected);
    }
    EXPECT_LE(perf.block_cache_hits + perf.block_cache_misses, 2 * blocks_max) << operands << " operands, MultiGet";
  }
}

TEST_F(MergeTest, AnOperatorThatThrowsFailsItsKeyAndNothingElse) {
  const auto fickle = std::make_shared<Fickle>();
  options_.merge_operators = {fickle};
  Reopen();
  ASSERT_OK(db_->Put({}, "k", "base"));
  ASSERT_OK(db_->Merge({}, "k", merge::Named("test.fickle", "a")));
  fickle->throws = true;
  ASSERT_OK(db_->Merge({}, "k", merge::Named("test.fickle", "b")));
  ASSERT_OK(db_->Put({}, "other", "fine"));
  std::string value;
  EXPECT_THAT(db_->Get({}, "k", &value), StatusIs(Code::kMergeFailed));
  ASSERT_OK(db_->Flush());
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  ASSERT_OK(db_->WaitForCompaction());
  EXPECT_THAT(db_->Get({}, "k", &value), StatusIs(Code::kMergeFailed));
  EXPECT_EQ(Get("other"), "fine");
  ASSERT_OK(db_->Put({}, "more", "fine"));  // the database is not read-only
  fickle->throws = false;
  EXPECT_EQ(Get("k"), "base+a+b");
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  EXPECT_EQ(Get("k"), "base+a+b");
}

// Row H4, except that the open works: only the keys that need the operator fail.
TEST_F(MergeTest, ADatabaseOpensWithoutAnOperatorAndKeepsItsOperands) {
  options_.merge_operators = {std::make_shared<Fickle>()};
  Reopen();
  ASSERT_OK(db_->Put({}, "k", "base"));
  for (const char* operand : {"a", "b", "c"}) {
    ASSERT_OK(db_->Merge({}, "k", merge::Named("test.fickle", operand)));
    ASSERT_OK(db_->Merge({}, "n", merge::AddU64(1)));
    ASSERT_OK(db_->Flush());
  }
  options_.merge_operators = {};
  Reopen();
  std::string value;
  const Status status = db_->Get({}, "k", &value);
  EXPECT_THAT(status, StatusIs(Code::kNotSupported));
  EXPECT_NE(status.ToString().find("\"test.fickle\""), std::string::npos) << status.ToString();
  EXPECT_EQ(Count("n"), 3u);
  ASSERT_OK(db_->Merge({}, "k", merge::Named("test.fickle", "d")));
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  ASSERT_OK(db_->WaitForCompaction());
  EXPECT_EQ(testing::Property(*db_, "merge_operators"), "test.fickle\n");
  options_.merge_operators = {std::make_shared<Fickle>()};
  Reopen();
  EXPECT_EQ(Get("k"), "base+a+b+c+d");
}

// Background work must end although an operand cannot be folded; it must not compact that operand again and
// again.
TEST_F(MergeTest, WhatCannotBeFoldedDoesNotKeepTheBackgroundBusy) {
  for (int i = 0; i < 200; ++i) {
    const std::string key = "k" + std::to_string(i);
    ASSERT_OK(db_->Put({}, key, "text"));
    ASSERT_OK(db_->Merge({}, key, merge::AddU64(1)));
    ASSERT_OK(db_->Merge({}, key, merge::Named("absent", "x")));
  }
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  sim_.clock.SleepNanos(20'000'000'000);  // long idle
  sim_.executor.RunTimers();
  size_t steps = 0;
  while (sim_.executor.RunOne()) ASSERT_LT(++steps, 10'000u);
}

// ---- crashes ----------------------------------------------------------------------------------------------

// Symptom: after a crash within a batch that exceeds a memtable some counters were too high. Cause: the
// MANIFEST named tables with the batch's first memtables, while the WAL was kept, and replayed, from the
// beginning of the batch. A put that is applied twice does no harm; an operand does.
TEST_F(MergeTest, CountsEveryOperandOfALargeBatchOnceAfterACrash) {
  constexpr uint64_t kKeys = 40;
  WriteBatch batch;
  std::vector<uint64_t> expected(kKeys);
  for (uint64_t i = 0; i < 6000; ++i) {
    batch.Merge("n" + std::to_string(i % kKeys), merge::AddU64(i));
    expected[i % kKeys] += i;
  }
  ASSERT_GT(batch.bytes(), options_.write_buffer_bytes);
  std::vector<std::unique_ptr<SimulatedEnv>> images;
  uint64_t begun = 0;
  sim_.files->SetOpHook([&](uint64_t op, const char*, const std::string&) {
    if (begun > 0 && images.size() < 150) {
      images.push_back(SimulatedEnv::After(sim_, testing::CrashMode::kKill, testing::CrashModel::kStrict, op));
    }
  });
  ASSERT_OK(db_->SyncWal());
  begun = 1;
  ASSERT_OK(db_->Write({}, batch));
  ASSERT_OK(db_->WaitForCompaction());
  sim_.files->SetOpHook(nullptr);
  ASSERT_GT(images.size(), 20u);
  uint64_t whole = 0;
  for (auto& image : images) {
    auto db = image->Open();
    ASSERT_OK(db.status());
    uint64_t found = 0;
    for (uint64_t key = 0; key < kKeys; ++key) {
      std::string value;
      const Status status = (*db)->Get({}, "n" + std::to_string(key), &value);
      if (status.IsNotFound()) continue;
      ASSERT_OK(status);
      ASSERT_EQ(merge::ToU64(value), expected[key]) << "key " << key;
      ++found;
    }
    ASSERT_TRUE(found == 0 || found == kKeys) << found;
    whole += found == kKeys;
  }
  EXPECT_GT(whole, 10u);
}

}  // namespace
}  // namespace mergedb::merge_test
