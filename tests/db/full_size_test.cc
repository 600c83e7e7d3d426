// Difficult workloads at full size on real files and threads, with default options unless the test sets
// others: MERGEDB_FULL=1, as `./dev test long` runs them. Without MERGEDB_FULL the size is a hundredth. Each
// test prints its measurements and compares its peak of resident memory with the given budget.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "format/file_name.h"
#include "manifest/manifest.h"
#include "mergedb/db.h"
#include "table/writer.h"
#include "testing/contents.h"
#include "testing/counters.h"
#include "testing/numbered_key.h"
#include "testing/seed.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"
#include "wal/wal.h"

namespace mergedb::testing {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kSecond = 1'000'000'000;

uint64_t Now() { return DefaultEnv().clock->NowNanos(); }
double Seconds(uint64_t nanos) { return static_cast<double>(nanos) / static_cast<double>(kSecond); }

// `full`, or a hundredth of it in the short form.
uint64_t Share(uint64_t full) { return IsFullSize() ? full : full / 100; }

std::string Key(uint64_t i) { return NumberedKey("", i, 12); }

uint64_t StatusBytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(field, 0) == 0) return std::strtoull(line.c_str() + field.size() + 1, nullptr, 10) * 1024;
  }
  return 0;
}

// The peak of resident memory above the value at construction. Memory mapped from a file (the WAL buffer)
// counts.
class PeakMemory {
 public:
  PeakMemory() {
    std::ofstream("/proc/self/clear_refs") << "5";  // resets VmHWM
    before_ = StatusBytes("VmRSS");
  }
  uint64_t bytes() const {
    const uint64_t peak = StatusBytes("VmHWM");
    return peak > before_ ? peak - before_ : 0;
  }

 private:
  uint64_t before_;
};

class FullSize : public ::testing::TestWithParam<Style> {
 protected:
  void SetUp() override {
    if (IsFullSize()) return;
    options_.write_buffer_bytes = 256 << 10;
    options_.memory_bytes = 48 * kMiB;
  }
  void Open() {
    options_.style = GetParam();
    db_ = nullptr;
    const uint64_t start = Now();
    const std::clock_t cpu_start = std::clock();
    auto db = DB::Open(options_, directory_ / "db");
    ASSERT_OK(db.status());
    db_ = std::move(*db);
    open_nanos_ = Now() - start;
    open_cpu_seconds_ = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
  }
  uint64_t TableBytes() { return Counter(*db_, "table_bytes_on_disk"); }
  // Prints a measurement; `./dev test long` shows it.
  void Say(const char* what, double value, const char* unit) { std::printf("  %-48s %12.3f %s\n", what, value, unit); }
  // `beside`: bytes that docs/PROMISES.md allows on top of the budget.
  void ExpectWithinBudget(const PeakMemory& memory, uint64_t beside = 0) {
    Say("peak memory", static_cast<double>(memory.bytes()) / kMiB, "MiB");
    Say("  budget", static_cast<double>(options_.memory_bytes) / kMiB, "MiB");
    if (IsSanitized()) return;
    EXPECT_LE(memory.bytes(), options_.memory_bytes + beside) << Property(*db_, "counters");
  }
  static bool IsSanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#else
    return false;
#endif
  }

  TempDirectory directory_;
  Options options_;
  std::unique_ptr<DB> db_;
  uint64_t open_nanos_ = 0;
  double open_cpu_seconds_ = 0;
};

// Append at the end, delete at the front: deleted entries must cost no reads and no space.
TEST_P(FullSize, Queue) {
  PeakMemory memory;
  Open();
  const uint64_t length = 2'000, pops = Share(10'000'000);
  uint64_t most_bytes = 0, seeks = 0, seek_nanos[2] = {}, worst_nanos[2] = {};  // of each half
  const uint64_t start = Now();
  for (uint64_t i = 0; i < length; ++i) ASSERT_OK(db_->Put({}, Key(i), std::string(100, 'q')));
  for (uint64_t front = 0; front < pops; ++front) {
    if (front % 100 == 0) {
      const uint64_t before = Now();
      auto it = db_->NewIterator();
      it->SeekToFirst();
      const uint64_t nanos = Now() - before;
      ASSERT_TRUE(it->Valid());
      ASSERT_EQ(it->key(), Key(front));
      const bool is_later = front >= pops / 2;
      seek_nanos[is_later] += nanos;
      worst_nanos[is_later] = std::max(worst_nanos[is_later], nanos);
      ++seeks;
    }
    ASSERT_OK(db_->Put({}, Key(front + length), std::string(100, 'q')));
    ASSERT_OK(db_->Delete({}, Key(front)));
    if (front % 10'000 == 0) most_bytes = std::max(most_bytes, TableBytes());
  }
  Say("a pop and an append", Seconds(Now() - start) * 1e6 / static_cast<double>(pops), "us");
  const auto half = static_cast<double>(seeks) / 2;
  const double mean[2] = {Seconds(seek_nanos[0]) * 1e6 / half, Seconds(seek_nanos[1]) * 1e6 / half};
  Say("SeekToFirst, first half, mean", mean[0], "us");
  Say("SeekToFirst, second half, mean", mean[1], "us");
  Say("SeekToFirst, second half, worst", Seconds(worst_nanos[1]) * 1e3, "ms");
  Say("tables, most", static_cast<double>(most_bytes) / kMiB, "MiB");
  EXPECT_GT(Counter(*db_, "tombstone_scan_compactions"), 0u)
      << "without them a seek takes 5,000 us, and more each time";
  ASSERT_OK(db_->WaitForCompaction());
  Say("tables at the end", static_cast<double>(TableBytes()) / kMiB, "MiB");
  EXPECT_LE(TableBytes(), 64 * kMiB) << Property(*db_, "stats");
  ExpectWithinBudget(memory);
}

TEST_P(FullSize, EverythingDeleted) {
  PeakMemory memory;
  Open();
  const uint64_t keys = Share(5'000'000);
  for (uint64_t i = 0; i < keys; ++i) ASSERT_OK(db_->Put({}, Key(i * 7919 % keys), std::string(200, 'd')));
  ASSERT_OK(db_->WaitForCompaction());
  const uint64_t before = TableBytes();
  for (uint64_t i = 0; i < keys; ++i) ASSERT_OK(db_->Delete({}, Key(i)));
  const uint64_t start = Now();
  uint64_t left = TableBytes();
  for (; left > before / 20 && Now() - start < 60 * kSecond; left = TableBytes())
    DefaultEnv().clock->SleepNanos(kSecond / 10);
  Say("tables before", static_cast<double>(before) / kMiB, "MiB");
  Say("tables left", static_cast<double>(left) / kMiB, "MiB");
  Say("after the last delete", Seconds(Now() - start), "s");
  // Tombstones of the last writes are only in memory; the entries that they hide stay on disk until a flush.
  EXPECT_LE(left, before / 20 + 32 * kMiB) << Property(*db_, "stats");
  ExpectWithinBudget(memory);
}

// A database of very many tables, written directly, one key a table: no load of a test's length produces so
// many.
void MakeTables(const std::string& path, uint64_t count) {
  FileSystem* const files = DefaultEnv().file_system;
  const kv::Order order(BytewiseComparator());
  ASSERT_OK(files->CreateDirectory(path));
  format::VersionEdit edit;
  for (uint64_t i = 0; i < count; ++i) {
    const kv::FileNumber number{10 + i};
    ASSERT_OK_AND_ASSIGN(auto writer, table::Writer::Create(files, format::TablePath(path, number), number, 1'000 + i,
                                                            order, {.bytes_expected = 4096, .is_direct = false}));
    const std::string key = Key(i);
    ASSERT_OK(writer->Add(
        {.prefix = order.Prefix(key), .key = key, .tag = kv::MakeTag(1 + i, kv::Kind::kPut), .value = key}));
    ASSERT_OK_AND_ASSIGN(auto meta, writer->Finish());
    edit.adds.push_back(
        {.position = kv::Position{1}, .level = format::kBottommostLevel, .file = std::move(meta), .bounds = {}});
  }
  uint64_t next_file = 10 + count;
  edit.database_id = 77;
  edit.comparator = std::string(BytewiseComparator()->Name());
  edit.next_file = kv::FileNumber{next_file + 1};
  edit.next_position = kv::Position{2};
  edit.last_sequence = count;
  const wal::Mark first = wal::FirstMark(7, count + 1);
  edit.wal_start = {
      .epoch = 1, .salt = 7, .position = first.position, .chain = first.chain, .sequence = first.sequence};
  manifest::Manifest manifest({.file_system = files, .directory = path, .database_id = 77, .allocate_number = [&] {
                                 return kv::FileNumber{next_file++};
                               }});
  ASSERT_OK(manifest.Commit(edit));
}

TEST_P(FullSize, VeryManyTables) {
  const uint64_t tables = Share(100'000);
  ASSERT_NO_FATAL_FAILURE(MakeTables(directory_ / "db", tables));
  options_.open_tables_max = 500;
  PeakMemory memory;
  Open();
  Say("open", Seconds(open_nanos_), "s");
  Say("open, CPU", open_cpu_seconds_, "s");
  EXPECT_LE(open_cpu_seconds_, IsSanitized() ? 20 : 1) << "of CPU: other work on the machine must not fail this";
  ASSERT_EQ(Counter(*db_, "tables"), tables);
  base::Random random(5);
  std::string value;
  for (uint64_t i = 0; i < tables / 5; ++i) ASSERT_OK(db_->Get({}, Key(random.Uniform(tables)), &value));
  EXPECT_LE(Counter(*db_, "tables_open"), 500u);

  // Flushes and commits beside them stay cheap, and the MANIFEST, which each open writes anew, does not grow
  // without limit.
  const uint64_t manifest_bytes = Counter(*db_, "manifest_bytes");
  const uint64_t commits = 200, start = Now();
  for (uint64_t i = 0; i < commits; ++i) {
    ASSERT_OK(db_->Put({}, Key(random.Uniform(tables)), "new"));
    ASSERT_OK(db_->Flush());
  }
  Say("put, flush and commit", Seconds(Now() - start) * 1e3 / static_cast<double>(commits), "ms");
  Say("MANIFEST after the open", static_cast<double>(manifest_bytes) / kMiB, "MiB");
  Say("MANIFEST after the commits", static_cast<double>(Counter(*db_, "manifest_bytes")) / kMiB, "MiB");
  EXPECT_LE(Counter(*db_, "manifest_bytes"), 5 * manifest_bytes + 4 * kMiB);
  ExpectWithinBudget(memory);
}

TEST_P(FullSize, ZipfianOverwrites) {
  PeakMemory memory;
  base::Random random(SeedOr(41));
  Open();
  const uint64_t keys = Share(2'000'000), puts = Share(20'000'000);
  for (uint64_t i = 0; i < keys; ++i) ASSERT_OK(db_->Put({}, Key(i), std::string(100, 'z')));
  ASSERT_OK(db_->WaitForCompaction());
  const uint64_t live = TableBytes();
  uint64_t most = 0;
  const uint64_t start = Now();
  for (uint64_t i = 0; i < puts; ++i) {
    // The probability of rank r is proportional to 1/r.
    const double uniform = static_cast<double>(random.Next() >> 11) / 9007199254740992.0;
    const auto rank = static_cast<uint64_t>(std::pow(static_cast<double>(keys), uniform)) - 1;
    ASSERT_OK(db_->Put({}, Key(rank * 7919 % keys), std::string(100, static_cast<char>('a' + i % 26))));
    if (i % 50'000 == 0) most = std::max(most, TableBytes());
  }
  Say("a put", Seconds(Now() - start) * 1e6 / static_cast<double>(puts), "us");
  Say("tables, most, over live", static_cast<double>(most) / static_cast<double>(live), "x");
  ASSERT_OK(db_->WaitForCompaction());
  const uint64_t drained = TableBytes();
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  ASSERT_OK(db_->WaitForCompaction());
  Say("tables, drained, over compacted", static_cast<double>(drained) / static_cast<double>(TableBytes()), "x");
  EXPECT_LE(drained, TableBytes() + TableBytes() / 4 + kMiB) << Property(*db_, "stats");
  ExpectWithinBudget(memory);
}

TEST_P(FullSize, LargeValuesAndKeys) {
  options_ = {};
  PeakMemory memory;
  Open();
  const uint64_t count = IsFullSize() ? 100 : 6;
  const auto value = [](uint64_t i) { return std::string(16 * kMiB, static_cast<char>('a' + i % 26)); };
  const auto key = [](uint64_t i) { return std::string(kMiB, 'k') + Key(i); };
  for (uint64_t i = 0; i < count; ++i) {
    ASSERT_OK(db_->Put({}, Key(i), value(i)));
    ASSERT_OK(db_->Put({}, key(i), "of a large key"));
  }
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  Say("written", static_cast<double>(count) * 17, "MiB");
  std::string found;
  for (uint64_t i = 0; i < count; ++i) {
    ASSERT_OK(db_->Get({}, Key(i), &found));
    ASSERT_TRUE(found == value(i));
    ASSERT_OK(db_->Get({}, key(i), &found));
  }
  // A compaction holds one block of each sorted run that it reads, as stored and as decompressed.
  ExpectWithinBudget(memory, Counter(*db_, "runs_max") * 2 * 17 * kMiB);
}

// Values are in blob files, so compactions hold none of them. Memory holds memtables, the cache, and the
// reader's copies.
TEST_P(FullSize, LargeValues) {
  options_ = {};
  PeakMemory memory;
  Open();
  const uint64_t count = IsFullSize() ? 100 : 6;
  const auto value = [](uint64_t i) { return std::string(16 * kMiB, static_cast<char>('a' + i % 26)); };
  for (uint64_t i = 0; i < 2 * count; ++i) ASSERT_OK(db_->Put({}, Key(i * 7 % count), value(i)));
  Say("peak memory of puts", static_cast<double>(memory.bytes()) / kMiB, "MiB");
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  ASSERT_OK(db_->WaitForCompaction());
  EXPECT_GT(Counter(*db_, "blob_files"), 0u);
  Say("and of merges", static_cast<double>(memory.bytes()) / kMiB, "MiB");
  auto it = db_->NewIterator();
  uint64_t found = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) found += it->value().size() == 16 * kMiB;
  EXPECT_OK(it->status());
  EXPECT_EQ(found, count);
  Say("and of a scan", static_cast<double>(memory.bytes()) / kMiB, "MiB");
  std::string read;
  for (uint64_t i = 0; i < count; ++i) ASSERT_OK(db_->Get({}, Key(i), &read));
  ExpectWithinBudget(memory);
}

TEST_P(FullSize, LargeBatch) {
  Open();
  const uint64_t batch_bytes = Share(1'000 * kMiB), value_bytes = 4'000;
  const uint64_t entries = batch_bytes / value_bytes;
  auto batch = std::make_unique<WriteBatch>();
  batch->Reserve(batch_bytes + entries * 32);
  for (uint64_t i = 0; i < entries; ++i)
    batch->Put(Key(i * 7919 % entries), std::string(value_bytes, static_cast<char>('a' + i % 26)));
  PeakMemory memory;  // the memory needed beside the batch, which belongs to the caller
  const uint64_t start = Now();
  ASSERT_OK(db_->Write({}, *batch));
  Say("written", static_cast<double>(batch->bytes()) / kMiB, "MiB");
  Say("write", Seconds(Now() - start), "s");
  ExpectWithinBudget(memory);
  batch = nullptr;
  EXPECT_EQ(KeyCount(*db_), entries);
  Open();
  EXPECT_EQ(KeyCount(*db_), entries);
}

TEST_P(FullSize, SnapshotHeldForALongOverwrite) {
  PeakMemory memory;
  Open();
  const uint64_t keys = Share(1'000'000), rounds = 10;
  for (uint64_t i = 0; i < keys; ++i) ASSERT_OK(db_->Put({}, Key(i), "old" + std::string(200, 'o')));
  ASSERT_OK(db_->WaitForCompaction());
  const uint64_t live = TableBytes();
  auto snapshot = db_->GetSnapshot();
  for (uint64_t round = 0; round < rounds; ++round) {
    for (uint64_t i = 0; i < keys; ++i) {
      ASSERT_OK(db_->Put({}, Key(i * 7919 % keys), "new" + std::string(200, static_cast<char>('a' + round))));
    }
  }
  ASSERT_OK(db_->WaitForCompaction());
  Say("tables over live", static_cast<double>(TableBytes()) / static_cast<double>(live), "x");
  EXPECT_LE(TableBytes(), 2 * live + live / 2 + 32 * kMiB) << Property(*db_, "stats");
  const auto check = [&](const Snapshot* at, char first) {
    auto it = db_->NewIterator({.read = {.snapshot = at}});
    uint64_t i = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++i) {
      ASSERT_EQ(it->key(), Key(i));
      ASSERT_EQ(it->value()[0], first);
    }
    EXPECT_OK(it->status());
    EXPECT_EQ(i, keys);
  };
  check(snapshot.get(), 'o');
  check(nullptr, 'n');
  ExpectWithinBudget(memory);
}

INSTANTIATE_TEST_SUITE_P(Styles, FullSize, ::testing::Values(Style::kLazy, Style::kCascade),
                         [](const auto& style) { return style.param == Style::kLazy ? "Lazy" : "Cascade"; });

}  // namespace
}  // namespace mergedb::testing
