// Goal: a call that can never succeed is refused with the right code before it reads, writes or returns
// anything: NULL where a pointer is required, fields out of range, structures of unknown size, keys and
// values beyond the limits, calls on a closed or read-only database.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include "mergedb/c.h"
#include "mergedb/checkpoint.h"
#include "mergedb/db.h"
#include "mergedb/leveldb.h"
#include "mergedb/merge.h"
#include "mergedb/repair.h"
#include "mergedb/transaction.h"
#include "testing/reverse_comparator.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"
#include "testing/waiting_thread.h"

namespace mergedb::testing::arguments_test {
namespace {

class Arguments : public ::testing::Test {
 protected:
  std::string path() const { return directory_ / "db"; }

  void Refuse(mergedb_code code, const char* what) {
    EXPECT_EQ(code, MERGEDB_INVALID_ARGUMENT) << what << ": " << error_.message;
    EXPECT_NE(error_.message[0], '\0') << what;
    EXPECT_EQ(error_.outcome_unknown, 0) << what;
  }

  const TempDirectory directory_;
  mergedb_error error_ = {};
};
#define REFUSED(call) Refuse(call, #call)

TEST_F(Arguments, OfCFunctionsMayNotBeNullWhereSomethingIsNeeded) {
  mergedb_db db = 0;
  REFUSED(mergedb_open(nullptr, nullptr, &db, &error_));
  REFUSED(mergedb_open(path().c_str(), nullptr, nullptr, &error_));
  ASSERT_EQ(mergedb_open(path().c_str(), nullptr, &db, &error_), MERGEDB_OK) << error_.message;

  REFUSED(mergedb_put(db, nullptr, nullptr, 3, "v", 1, &error_));
  REFUSED(mergedb_put(db, nullptr, "k", 1, nullptr, 3, &error_));
  REFUSED(mergedb_delete(db, nullptr, nullptr, 3, &error_));
  mergedb_batch batch = 0;
  REFUSED(mergedb_batch_create(nullptr, &error_));
  ASSERT_EQ(mergedb_batch_create(&batch, &error_), MERGEDB_OK);
  REFUSED(mergedb_batch_put(batch, nullptr, 3, "v", 1, &error_));
  REFUSED(mergedb_batch_put(batch, "k", 1, nullptr, 3, &error_));
  REFUSED(mergedb_batch_delete(batch, nullptr, 3, &error_));
  EXPECT_EQ(mergedb_batch_close(batch, &error_), MERGEDB_OK);

  void* value = nullptr;
  size_t size = 0;
  int32_t code = 0;
  char buffer[4];
  const mergedb_slice bad = {nullptr, 3}, good = {"k", 1};
  REFUSED(mergedb_get(db, nullptr, nullptr, 3, &value, &size, &error_));
  REFUSED(mergedb_get(db, nullptr, "k", 1, nullptr, &size, &error_));
  REFUSED(mergedb_get(db, nullptr, "k", 1, &value, nullptr, &error_));
  REFUSED(mergedb_get_into(db, nullptr, nullptr, 3, buffer, 4, &size, &error_));
  REFUSED(mergedb_get_into(db, nullptr, "k", 1, nullptr, 4, &size, &error_));
  REFUSED(mergedb_get_into(db, nullptr, "k", 1, buffer, 4, nullptr, &error_));
  REFUSED(mergedb_multi_get(db, nullptr, nullptr, 1, &value, &size, &code, &error_));
  REFUSED(mergedb_multi_get(db, nullptr, &bad, 1, &value, &size, &code, &error_));
  REFUSED(mergedb_multi_get(db, nullptr, &good, 1, nullptr, &size, &code, &error_));
  REFUSED(mergedb_multi_get(db, nullptr, &good, 1, &value, nullptr, &code, &error_));
  REFUSED(mergedb_multi_get(db, nullptr, &good, 1, &value, &size, nullptr, &error_));

  mergedb_snapshot snapshot = 0;
  REFUSED(mergedb_snapshot_create(db, nullptr, &error_));
  ASSERT_EQ(mergedb_snapshot_create(db, &snapshot, &error_), MERGEDB_OK);
  REFUSED(mergedb_snapshot_sequence(snapshot, nullptr, &error_));
  EXPECT_EQ(mergedb_snapshot_close(snapshot, &error_), MERGEDB_OK);
  mergedb_iterator it = 0;
  REFUSED(mergedb_iterator_create(db, nullptr, nullptr, &error_));
  ASSERT_EQ(mergedb_iterator_create(db, nullptr, &it, &error_), MERGEDB_OK);
  REFUSED(mergedb_iterator_seek(it, nullptr, 3, &error_));
  REFUSED(mergedb_iterator_seek_for_prev(it, nullptr, 3, &error_));
  EXPECT_EQ(mergedb_iterator_close(it, &error_), MERGEDB_OK);

  uint64_t bytes = 0;
  char* text = nullptr;
  REFUSED(mergedb_compact_range(db, &bad, nullptr, &error_));
  REFUSED(mergedb_compact_range(db, nullptr, &bad, &error_));
  REFUSED(mergedb_approximate_sizes(db, nullptr, &good, 1, &bytes, &error_));
  REFUSED(mergedb_approximate_sizes(db, &good, nullptr, 1, &bytes, &error_));
  REFUSED(mergedb_approximate_sizes(db, &good, &good, 1, nullptr, &error_));
  REFUSED(mergedb_approximate_sizes(db, &bad, &good, 1, &bytes, &error_));
  REFUSED(mergedb_approximate_sizes(db, &good, &bad, 1, &bytes, &error_));
  REFUSED(mergedb_get_property(db, nullptr, &text, &error_));
  REFUSED(mergedb_get_property(db, "mergedb.stats", nullptr, &error_));
  EXPECT_EQ(mergedb_close(db, &error_), MERGEDB_OK);
  REFUSED(mergedb_destroy(nullptr, &error_));
}

TEST_F(Arguments, OfOptionsMayNotBeOutOfRange) {
  mergedb_db db = 0;
  mergedb_options plain = {};
  plain.struct_size = sizeof plain;
  mergedb_comparator nameless = {};
  nameless.struct_size = sizeof nameless;
  mergedb_comparator sizeless = {};
  const std::vector<std::function<void(mergedb_options*)>> mistakes = {
      [](mergedb_options* o) { o->struct_size = 3; },
      [](mergedb_options* o) { o->struct_size = size_t{1} << 40; },
      [](mergedb_options* o) { o->mode = 99; },
      [](mergedb_options* o) { o->style = -1; },
      [](mergedb_options* o) { o->compression_upper = 99; },
      [](mergedb_options* o) { o->compression_bottom = -7; },
      [](mergedb_options* o) { o->bloom_bits_per_key = 999; },
      [](mergedb_options* o) { o->open_tables_max = -1; },
      [](mergedb_options* o) { o->block_bytes = 7; },
      [](mergedb_options* o) { o->finish_compactions_on_close = 9; },
      [](mergedb_options* o) { o->use_mapped_wal_buffer = -3; },
      [](mergedb_options* o) { o->write_buffer_bytes = 1; },
      [&](mergedb_options* o) { o->comparator = &nameless; },
      [&](mergedb_options* o) { o->comparator = &sizeless; },
  };
  for (size_t i = 0; i < mistakes.size(); ++i) {
    mergedb_options options = plain;
    mistakes[i](&options);
    EXPECT_EQ(mergedb_open(path().c_str(), &options, &db, &error_), MERGEDB_INVALID_ARGUMENT)
        << "mistake " << i << ": " << error_.message;
    EXPECT_EQ(db, 0u);
  }
  EXPECT_FALSE(std::filesystem::exists(path()));

  ASSERT_EQ(mergedb_open(path().c_str(), &plain, &db, &error_), MERGEDB_OK) << error_.message;
  mergedb_write_options write = {};
  REFUSED(mergedb_put(db, &write, "k", 1, "v", 1, &error_));
  write.struct_size = sizeof write;
  write.durability = 17;
  REFUSED(mergedb_put(db, &write, "k", 1, "v", 1, &error_));
  write.durability = 0;
  write.keyspace = 77;  // no such keyspace
  REFUSED(mergedb_delete(db, &write, "k", 1, &error_));
  void* value = nullptr;
  size_t size = 0;
  mergedb_read_options read = {};
  REFUSED(mergedb_get(db, &read, "k", 1, &value, &size, &error_));
  read.struct_size = sizeof read;
  read.verify_checksums = 9;
  REFUSED(mergedb_get(db, &read, "k", 1, &value, &size, &error_));
  read.verify_checksums = 0;
  read.fill_cache = 9;
  REFUSED(mergedb_get(db, &read, "k", 1, &value, &size, &error_));
  read.fill_cache = 0;

  mergedb_iterator it = 0;
  const mergedb_slice bad = {nullptr, 3};
  mergedb_iterator_options walk = {};
  REFUSED(mergedb_iterator_create(db, &walk, &it, &error_));
  walk.struct_size = sizeof walk;
  walk.prefix = bad;
  REFUSED(mergedb_iterator_create(db, &walk, &it, &error_));
  walk.prefix = {};
  walk.lower = &bad;
  REFUSED(mergedb_iterator_create(db, &walk, &it, &error_));
  walk.lower = nullptr;
  walk.upper = &bad;
  REFUSED(mergedb_iterator_create(db, &walk, &it, &error_));
  EXPECT_EQ(mergedb_close(db, &error_), MERGEDB_OK);
}

// ---- numeric limits ---------------------------------------------------------------------------------------

// For every number, Open returns InvalidArgument that names the option, or a database that works.
struct Extremes {
  const char* name;
  std::vector<uint64_t> holds, refused;
};
constexpr uint64_t kMost = UINT64_MAX;
constexpr uint64_t kHalf = uint64_t{1} << 63;  // times two is 0
const std::vector<Extremes> kExtremes = {
    // Allocating a write buffer touches its memory, so no buffer of gigabytes is opened here.
    // tests/unit/db/options_check_test.cc tests how PlanMemory treats such sizes.
    {"write_buffer_bytes",
     {0, 65536, 65537},
     {1, 65535, (uint64_t{32} << 30) + 1, uint64_t{100} << 30, kHalf, kHalf + 65536, kMost}},
    {"memory_bytes", {131072, uint64_t{1} << 50}, {1, 65536, 131071, (uint64_t{1} << 50) + 1, kHalf, kMost}},
    {"block_bytes", {256, 257, 4194304}, {1, 255, 4194305, uint64_t{1} << 32, kHalf, kMost}},
    {"write_delay_us_max", {1, 3'600'000'000}, {3'600'000'001, kMost / 1000, kMost / 1000 + 1, kHalf, kMost}},
    {"wal_sync_interval_ms", {1, 3'600'000}, {3'600'001, INT64_MAX, kHalf}},
    {"log_bytes_max", {0, 16 << 10, 1 << 30}, {1, (16 << 10) - 1, (1 << 30) + 1, kHalf, kMost}},
    {"slow_call_us", {0, 1, 3'600'000'000}, {3'600'000'001, kHalf, kMost}},
    {"mapped_read_bytes_max", {0, 1, 4096, INT64_MAX}, {}},
    {"open_tables_max", {16, 17, INT32_MAX}, {1, 15}},
    {"blob_value_bytes_min", {1, 2, uint64_t{1} << 32, INT64_MAX}, {}},
    {"bloom_bits_per_key", {1, 64}, {65, 1000, INT32_MAX}},
};

void UseAndClose(DB& db) {
  const std::string value(100, 'v');
  for (int i = 0; i < 20; ++i) EXPECT_OK(db.Put({}, "k" + std::to_string(i), value));
  EXPECT_OK(db.Flush());
  EXPECT_OK(db.CompactRange(nullptr, nullptr));
  std::string found;
  EXPECT_OK(db.Get({}, "k7", &found));
  EXPECT_EQ(found, value);
  EXPECT_OK(db.Close());
}

// `write_buffer_bytes` is small unless it is the option under test; then `memory_bytes` leaves room for it.
Options OptionsWith(const std::string& name, uint64_t number) {
  Options options{.memory_bytes = size_t{1} << 50, .write_buffer_bytes = 65536};
  if (name == "write_buffer_bytes" && number == 0) options.memory_bytes = size_t{1} << 20;
  if (name == "write_buffer_bytes") options.write_buffer_bytes = number;
  if (name == "memory_bytes") options.memory_bytes = number;
  if (name == "block_bytes") options.block_bytes = number;
  if (name == "write_delay_us_max") options.write_delay_us_max = number;
  if (name == "wal_sync_interval_ms") options.wal_sync_interval_ms = number;
  if (name == "log_bytes_max") options.log_bytes_max = number;
  if (name == "slow_call_us") options.slow_call_us = number;
  if (name == "mapped_read_bytes_max") options.mapped_read_bytes_max = number;
  if (name == "open_tables_max") options.open_tables_max = number;
  if (name == "blob_value_bytes_min") options.blob_value_bytes_min = number;
  if (name == "bloom_bits_per_key") options.bloom_bits_per_key = static_cast<int>(number);
  return options;
}

TEST_F(Arguments, OfNumbersAtTheirExtremesOpenOrAreRefusedByName) {
  for (const Extremes& extremes : kExtremes) {
    std::vector<uint64_t> holds = extremes.holds, refused = extremes.refused;
    const std::string name = extremes.name;
    // In C++ these options treat 0 differently, and accept or refuse numbers that C cannot express.
    if (name == "write_delay_us_max" || name == "wal_sync_interval_ms" || name == "blob_value_bytes_min" ||
        name == "bloom_bits_per_key")
      holds.push_back(0);
    if (name == "memory_bytes" || name == "block_bytes" || name == "open_tables_max") refused.push_back(0);
    if (name == "blob_value_bytes_min" || name == "open_tables_max") holds.insert(holds.end(), {kHalf, kMost});
    for (const uint64_t number : refused) {
      SCOPED_TRACE(name + " = " + std::to_string(number));
      const auto db = DB::Open(OptionsWith(name, number), path());
      EXPECT_THAT(db.status(), StatusIs(Code::kInvalidArgument, ::testing::HasSubstr("options.")));
      EXPECT_FALSE(std::filesystem::exists(path()));
    }
    for (const uint64_t number : holds) {
      SCOPED_TRACE(name + " = " + std::to_string(number));
      auto db = DB::Open(OptionsWith(name, number), path());
      ASSERT_OK(db.status());
      UseAndClose(**db);
      std::filesystem::remove_all(path());
    }
  }
}

// In C, 0 in these fields means the default. `number` is the C++ value.
mergedb_options COptionsWith(const std::string& name, uint64_t number) {
  mergedb_options options = {};
  options.struct_size = sizeof options;
  options.memory_bytes = uint64_t{1} << 50;
  options.write_buffer_bytes = 65536;
  if (name == "write_buffer_bytes" && number == 0) options.memory_bytes = uint64_t{1} << 20;
  if (name == "write_buffer_bytes") options.write_buffer_bytes = number;
  if (name == "memory_bytes") options.memory_bytes = number;
  if (name == "block_bytes") options.block_bytes = number;
  if (name == "write_delay_us_max") options.write_delay_us_max = number;
  if (name == "wal_sync_interval_ms") options.wal_sync_interval_ms = static_cast<int64_t>(number);
  if (name == "log_bytes_max") options.log_bytes_max = number;
  if (name == "slow_call_us") options.slow_call_us = number;
  if (name == "mapped_read_bytes_max") options.mapped_read_bytes_max = static_cast<int64_t>(number);
  if (name == "open_tables_max") options.open_tables_max = static_cast<int32_t>(number);
  if (name == "blob_value_bytes_min") options.blob_value_bytes_min = static_cast<int64_t>(number);
  if (name == "bloom_bits_per_key") options.bloom_bits_per_key = static_cast<int32_t>(number);
  return options;
}

TEST_F(Arguments, OfNumbersAtTheirExtremesOpenOrAreRefusedByNameFromCToo) {
  for (const Extremes& extremes : kExtremes) {
    const std::string name = extremes.name;
    std::vector<uint64_t> holds = extremes.holds, refused = extremes.refused;
    const uint64_t minus_two = static_cast<uint64_t>(int64_t{-2}), least = static_cast<uint64_t>(INT64_MIN);
    if (name == "open_tables_max") refused.insert(refused.end(), {kMost, uint64_t{0x80000000}});
    if (name == "bloom_bits_per_key") refused.insert(refused.end(), {minus_two, uint64_t{0x80000000}});
    const bool has_none = name == "blob_value_bytes_min" || name == "mapped_read_bytes_max";
    if (has_none) refused.insert(refused.end(), {minus_two, least});
    if (has_none || name == "bloom_bits_per_key") holds.push_back(kMost);  // -1
    mergedb_db db = 0;
    for (const uint64_t number : refused) {
      SCOPED_TRACE(name + " = " + std::to_string(number));
      const mergedb_options options = COptionsWith(name, number);
      EXPECT_EQ(mergedb_open(path().c_str(), &options, &db, &error_), MERGEDB_INVALID_ARGUMENT) << error_.message;
      EXPECT_EQ(db, 0u);
    }
    for (const uint64_t number : holds) {
      SCOPED_TRACE(name + " = " + std::to_string(number));
      const mergedb_options options = COptionsWith(name, number);
      ASSERT_EQ(mergedb_open(path().c_str(), &options, &db, &error_), MERGEDB_OK) << error_.message;
      EXPECT_EQ(mergedb_put(db, nullptr, "k", 1, "v", 1, &error_), MERGEDB_OK);
      EXPECT_EQ(mergedb_flush(db, &error_), MERGEDB_OK) << error_.message;
      EXPECT_EQ(mergedb_close(db, &error_), MERGEDB_OK);
      std::filesystem::remove_all(path());
    }
  }
}

// The other calls that take numbers.
TEST_F(Arguments, OfNumbersOfTransactionsAndExportsAreCheckedToo) {
  auto opened = DB::Open({}, path());
  ASSERT_OK(opened.status());
  DB& db = **opened;
  ASSERT_OK(db.Put({}, "k", "v"));
  for (const uint64_t number : {uint64_t{0}, uint64_t{1}, kMost / 1000, kMost / 1000 + 1, kHalf, kMost}) {
    EXPECT_OK(Transaction::Begin(db, {.wait_us_max = number}).status()) << number;
    const auto begun = Transaction::Begin(db, {.bytes_max = number});
    EXPECT_TRUE(begun.has_value() || begun.error().IsInvalidArgument()) << number;
    LevelDbExportOptions exporting{.table_bytes = number};
    const auto tables = ExportToLevelDb(db, {}, directory_ / ("tables" + std::to_string(number)), exporting);
    EXPECT_TRUE(tables.has_value() || tables.status().IsInvalidArgument()) << tables.status().ToString();
    exporting = {.block_bytes = number};
    const auto blocks = ExportToLevelDb(db, {}, directory_ / ("blocks" + std::to_string(number)), exporting);
    EXPECT_TRUE(blocks.has_value() || blocks.status().IsInvalidArgument()) << blocks.status().ToString();
    EXPECT_EQ(blocks.has_value(), number == 1);
  }
  for (const int bits : {INT32_MIN, -1, 0, 1, 64, 65, INT32_MAX}) {
    const auto exported =
        ExportToLevelDb(db, {}, directory_ / ("bits" + std::to_string(bits)), {.bloom_bits_per_key = bits});
    EXPECT_EQ(exported.has_value(), bits >= 0 && bits <= 64) << bits;
    EXPECT_TRUE(exported.has_value() || exported.status().IsInvalidArgument());
  }
}

// Symptom: a wait of centuries ended at once. Cause: the wait in nanoseconds, added to the clock, overflowed
// into the past.
TEST_F(Arguments, OfWaitsMayBeLongerThanClocksCount) {
  auto opened = DB::Open({}, path());
  ASSERT_OK(opened.status());
  for (const uint64_t wait : {kMost / 1000, kMost / 1000 + 1, kMost / 2000 + 1, kMost}) {
    auto first = Transaction::Begin(**opened, {});
    ASSERT_OK(first.status());
    Status second;
    WaitingThread waiting([&] { second = Transaction::Begin(**opened, {.wait_us_max = wait}).status(); });
    EXPECT_OK((*first)->Commit());
    waiting.join();
    EXPECT_OK(second) << wait;
  }
}

// The file system would take the path before the null byte.
TEST_F(Arguments, APathWithANullByteIsRefused) {
  const std::string cut = path() + std::string("\0more", 5);
  {
    const auto db = DB::Open({}, path());
    ASSERT_OK(db.status());
    EXPECT_THAT(Checkpoint(**db, cut, {}), StatusIs(Code::kInvalidArgument, ::testing::HasSubstr("null byte")));
  }
  EXPECT_THAT(DB::Open({}, cut), StatusIs(Code::kInvalidArgument, ::testing::HasSubstr("null byte")));
  for (const Status& status : {DB::Destroy({}, cut), Verify({}, cut).status(), Repair({}, cut).status()})
    EXPECT_FALSE(status.ok());
  EXPECT_OK(DB::Open({.mode = OpenMode::kMustExist}, path()).status());
}

// The call refuses these views by their size alone and never reads their bytes.
TEST_F(Arguments, BeyondTheLimitsAreRefusedBeforeAByteIsWritten) {
  auto opened = DB::Open({}, path());
  ASSERT_OK(opened.status());
  DB& db = **opened;
  const std::string_view long_key("k", kKeyBytesMax + 1), long_value("v", kValueBytesMax + 1);
  EXPECT_TRUE(db.Put({}, long_key, "v").IsInvalidArgument());
  EXPECT_TRUE(db.Put({}, "k", long_value).IsInvalidArgument());
  EXPECT_TRUE(db.Delete({}, long_key).IsInvalidArgument());
  EXPECT_TRUE(db.DeleteRange({}, long_key, long_key).IsInvalidArgument());
  EXPECT_TRUE(db.DeleteRange({}, "k", long_key).IsInvalidArgument());
  EXPECT_TRUE(db.Merge({}, long_key, merge::AddU64(1)).IsInvalidArgument());
  EXPECT_TRUE(db.Merge({}, "k", long_value).IsInvalidArgument());
  WriteBatch batch;
  batch.Put(std::string(kKeyBytesMax + 1, 'k'), "v");
  EXPECT_TRUE(db.Write({}, batch).IsInvalidArgument());
  EXPECT_OK(db.Put({}, std::string(kKeyBytesMax, 'k'), "v"));
  std::string value;
  EXPECT_OK(db.Get({}, std::string(kKeyBytesMax, 'k'), &value));
}

TEST_F(Arguments, MeetAClosedOrReadOnlyDatabase) {
  WriteBatch batch;
  batch.Put("k", "v");
  {
    auto db = DB::Open({}, path());
    ASSERT_OK(db.status());
    EXPECT_OK((*db)->Write({}, batch));
    EXPECT_OK((*db)->Close());
    EXPECT_OK((*db)->Close());
    std::string value;
    EXPECT_EQ((*db)->Put({}, "k", "v").code(), Code::kShuttingDown);
    EXPECT_EQ((*db)->Delete({}, "k").code(), Code::kShuttingDown);
    EXPECT_EQ((*db)->Merge({}, "k", merge::AddU64(1)).code(), Code::kShuttingDown);
    EXPECT_EQ((*db)->Write({}, batch).code(), Code::kShuttingDown);
    EXPECT_EQ((*db)->Get({}, "k", &value).code(), Code::kShuttingDown);
    EXPECT_EQ((*db)->Flush().code(), Code::kShuttingDown);
    EXPECT_EQ((*db)->SyncWal().code(), Code::kShuttingDown);
    EXPECT_EQ((*db)->CheckIntegrity().code(), Code::kShuttingDown);
    EXPECT_EQ((*db)->WaitForCompaction().code(), Code::kShuttingDown);
    EXPECT_EQ((*db)->CompactRange(nullptr, nullptr).code(), Code::kShuttingDown);
    EXPECT_EQ((*db)->NewIterator()->status().code(), Code::kShuttingDown);
  }
  auto db = DB::Open({.mode = OpenMode::kReadOnly}, path());
  ASSERT_OK(db.status());
  EXPECT_EQ((*db)->Put({}, "k", "w").code(), Code::kNotSupported);
  EXPECT_EQ((*db)->Delete({}, "k").code(), Code::kNotSupported);
  EXPECT_EQ((*db)->Merge({}, "k", merge::AddU64(1)).code(), Code::kNotSupported);
  EXPECT_EQ((*db)->Write({}, batch).code(), Code::kNotSupported);
  EXPECT_EQ((*db)->Flush().code(), Code::kNotSupported);
  EXPECT_EQ((*db)->SyncWal().code(), Code::kNotSupported);
  std::string value;
  EXPECT_OK((*db)->Get({}, "k", &value));
  EXPECT_OK((*db)->Close());
}

TEST_F(Arguments, APrefixNeedsTheBytewiseComparator) {
  const ReverseComparator backwards;
  auto db = DB::Open({.comparator = &backwards}, path());
  ASSERT_OK(db.status());
  const auto it = (*db)->NewIterator({.prefix = "a"});
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(it->status().IsInvalidArgument()) << it->status().ToString();
  EXPECT_FALSE(it->failed_key().has_value()) << "a caller would pass over the key and go on";
}

TEST_F(Arguments, OfADestroyOrAnOpenMayNameNoDatabase) {
  Options bad;
  bad.block_bytes = 1;
  EXPECT_TRUE(DB::Destroy(bad, path()).IsInvalidArgument());
  EXPECT_TRUE(DB::Open(bad, path()).error().IsInvalidArgument());
  EXPECT_TRUE(DB::Destroy({}, path()).IsNotFound());
  EXPECT_TRUE(DB::Open({.mode = OpenMode::kMustExist}, path()).error().IsNotFound());
  EXPECT_TRUE(DB::Open({.mode = OpenMode::kReadOnly}, path()).error().IsNotFound());
}

}  // namespace
}  // namespace mergedb::testing::arguments_test
