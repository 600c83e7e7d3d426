// Goal: a table returns the written rows in every way: point reads at every sequence, iterators both ways,
// scans. Method: random rows in many kinds of tables (codecs, block sizes, comparators), compared with the
// sorted rows.
#include "table/reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/bytes.h"
#include "base/hash.h"
#include "leveldb/format/filter.h"
#include "tests/unit/kv/iterator_contract.h"
#include "tests/unit/table/table_rows.h"

namespace mergedb::table {
namespace {

using testing::Bytewise;
using testing::MemoryFiles;
using testing::OpenTable;
using testing::Row;
using testing::TableShape;
using testing::ViewOf;
using testing::WriteTable;

class Backwards final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return base::CompareBytes(b, a); }
  std::string_view Name() const override { return "test.backwards"; }
};

const TableShape kShapes[] = {
    {.compression = Compression::kNone},
    {.compression = Compression::kSnappy, .block_bytes = 1000},
    {.compression = Compression::kLz4, .block_bytes = 16384},
    {.compression = Compression::kZstd},
    {.compression = Compression::kNone, .block_bytes = 1, .bytes_expected = 0},  // a block for each entry, buffered
    {.compression = Compression::kNone, .block_bytes = 1 << 20, .bloom_bits_per_key = 0},
};

void ExpectShows(const kv::ForwardIterator& it, const Row& row) {
  ASSERT_TRUE(it.Valid()) << it.status().ToString();
  ASSERT_EQ(it.entry().key, row.key);
  ASSERT_EQ(it.entry().tag, row.tag);
  ASSERT_EQ(it.entry().value, row.value);
}

void ExpectGets(const Reader& reader, const kv::Order& order, const std::vector<Row>& rows, const std::string& key,
                kv::Sequence sequence) {
  const kv::Entry target{.prefix = order.Prefix(key), .key = key, .tag = kv::SeekTag(sequence), .value = {}};
  const auto at = std::partition_point(rows.begin(), rows.end(),
                                       [&](const Row& row) { return order.Compare(ViewOf(order, row), target) < 0; });
  Found found;
  const Status status = reader.Get(key, sequence, {}, &found);
  if (at == rows.end() || !order.SameKey(at->key, key)) {
    ASSERT_TRUE(status.IsNotFound()) << status.ToString();
    return;
  }
  ASSERT_TRUE(status.ok()) << kv::PrintKey(key, target.tag) << ": " << status.ToString();
  ASSERT_EQ(found.tag, at->tag);
  ASSERT_EQ(found.value, at->value);
  ASSERT_TRUE(!order.is_bytewise() || reader.MayContain(base::Hash64(key)));
}

void ExpectTable(const kv::Order& order, const std::vector<Row>& rows, const TableShape& shape) {
  MemoryFiles files;
  const format::FileMetaPtr meta = WriteTable(&files, "7.tbl", order, rows, shape);
  ASSERT_EQ(files.bytes("7.tbl").size(), meta->bytes);
  ASSERT_EQ(meta->bytes % 4096, 0u);
  base::BlockCache cache(1 << 20);
  const auto reader = OpenTable(&files, "7.tbl", meta, order, &cache);
  ASSERT_NE(reader, nullptr);
  EXPECT_TRUE(reader->CheckIntegrity().ok()) << reader->CheckIntegrity().ToString();

  for (const Row& row : rows) {
    const kv::Sequence sequence = kv::SequenceOf(row.tag);
    for (const kv::Sequence asked : {sequence, sequence + 1, sequence - (sequence > 0), kv::kSequenceMax}) {
      ExpectGets(*reader, order, rows, row.key, asked);
    }
    ExpectGets(*reader, order, rows, row.key + '\0', kv::kSequenceMax);
    ExpectGets(*reader, order, rows, row.key.substr(0, row.key.size() / 2), kv::kSequenceMax);
  }
  const auto scan = reader->NewScanIterator();
  scan->SeekToFirst();
  for (const Row& row : rows) {
    ASSERT_NO_FATAL_FAILURE(ExpectShows(*scan, row));
    scan->Next();
  }
  EXPECT_FALSE(scan->Valid());
  EXPECT_TRUE(scan->status().ok());
}

TEST(Reader, GivesBackWhatWasWritten) {
  for (size_t i = 0; i < std::size(kShapes); ++i) {
    base::Random random(i + 1);
    SCOPED_TRACE("seed and shape " + std::to_string(i + 1));
    ExpectTable(Bytewise(), testing::RandomRows(&random, Bytewise(), 300, 3000), kShapes[i]);
  }
}

TEST(Reader, GivesBackWhatWasWrittenUnderAnotherComparator) {
  const Backwards backwards;
  const kv::Order order(&backwards);
  base::Random random(9);
  ExpectTable(order, testing::RandomRows(&random, order, 200, 1000), {.block_bytes = 500});
}

TEST(Reader, FindsVersionsThatGoOnForManyBlocks) {
  std::vector<Row> rows = {{"before", kv::MakeTag(5, kv::Kind::kPut), "x"}};
  for (kv::Sequence sequence = 400; sequence > 0; sequence -= 2) {
    rows.push_back({"key", kv::MakeTag(sequence, kv::Kind::kPut), "value" + std::to_string(sequence)});
  }
  rows.push_back({"later", kv::MakeTag(5, kv::Kind::kPut), "y"});
  ExpectTable(Bytewise(), rows, {.block_bytes = 100});
}

TEST(Reader, TakesValuesLargerThanAReadAndTheWriteBuffer) {
  const std::vector<Row> rows = {{"a", kv::MakeTag(1, kv::Kind::kPut), std::string(3'000'000, 'a')},
                                 {"b", kv::MakeTag(2, kv::Kind::kPut), "small"},
                                 {"c", kv::MakeTag(3, kv::Kind::kPut), std::string(1'100'000, 'c')}};
  ExpectTable(Bytewise(), rows, {});
  ExpectTable(Bytewise(), rows, {.compression = Compression::kLz4});
}

TEST(Reader, TakesOneEntryWithAnEmptyKey) { ExpectTable(Bytewise(), {{"", 0, ""}}, {}); }

testing::OpenIterator BuildForContract(const std::vector<testing::OwnedEntry>& entries, const Comparator* comparator,
                                       const TableShape& shape, bool is_scan, bool is_damaged) {
  struct Kept {
    MemoryFiles files;
    base::BlockCache cache{1 << 16};
    std::shared_ptr<Reader> reader;
  };
  const kv::Order order(comparator);
  std::vector<Row> rows;
  for (const auto& entry : entries) rows.push_back({entry.key, entry.tag, entry.value});
  const auto kept = std::make_shared<Kept>();
  const auto meta = WriteTable(&kept->files, "7.tbl", order, rows, shape);
  kept->reader = OpenTable(&kept->files, "7.tbl", meta, order, &kept->cache);
  if (is_damaged) kept->files.bytes("7.tbl")[0] ^= 1;
  return [kept, is_scan]() -> std::unique_ptr<kv::Iterator> {
    if (!is_scan) return kept->reader->NewIterator({});
    return std::make_unique<testing::Rewalked>(
        [kept](std::optional<std::string> lower) { return kept->reader->NewScanIterator(std::move(lower)); });
  };
}

TEST(TableIterator, KeepsTheContract) {
  for (const TableShape& shape : {TableShape{.block_bytes = 200}, TableShape{.compression = Compression::kLz4}}) {
    const auto build = [&](bool is_damaged) {
      return [&shape, is_damaged](const std::vector<testing::OwnedEntry>& entries) {
        return BuildForContract(entries, BytewiseComparator(), shape, false, is_damaged);
      };
    };
    testing::CheckIteratorContract({.build = build(false), .build_damaged = build(true), .accepts_empty = false});
  }
}

TEST(TableIterator, KeepsTheContractUnderAnotherComparator) {
  static const Backwards backwards;
  testing::CheckIteratorContract({.build =
                                      [](const std::vector<testing::OwnedEntry>& entries) {
                                        return BuildForContract(entries, &backwards, {.block_bytes = 300}, false,
                                                                false);
                                      },
                                  .comparator = &backwards,
                                  .accepts_empty = false});
}

TEST(ScanIterator, KeepsTheContract) {
  const auto build = [](bool is_damaged) {
    return [is_damaged](const std::vector<testing::OwnedEntry>& entries) {
      return BuildForContract(entries, BytewiseComparator(), {.block_bytes = 200}, true, is_damaged);
    };
  };
  testing::CheckIteratorContract({.build = build(false), .build_damaged = build(true), .accepts_empty = false});
}

// Enough blocks that a forward scan reads ahead in windows.
std::vector<Row> ManyRows(size_t count) {
  std::vector<Row> rows;
  for (size_t i = 0; i < count; ++i) {
    rows.push_back({std::to_string(1'000'000 + i), kv::MakeTag(i + 1, kv::Kind::kPut), std::string(90, 'v')});
  }
  return rows;
}

TEST(TableIterator, ScansLargeTablesInFewReadsAndWithoutTheCache) {
  MemoryFiles files;
  const std::vector<Row> rows = ManyRows(20'000);
  base::BlockCache cache(8 << 20);
  const auto meta = WriteTable(&files, "7.tbl", Bytewise(), rows);
  const auto reader = OpenTable(&files, "7.tbl", meta, Bytewise(), &cache);
  const uint64_t reads_before = files.reads;
  const auto it = reader->NewIterator({});
  it->SeekToFirst();
  for (const Row& row : rows) {
    ASSERT_NO_FATAL_FAILURE(ExpectShows(*it, row));
    it->Next();
  }
  EXPECT_FALSE(it->Valid());
  EXPECT_LT(files.reads - reads_before, meta->bytes / (200 << 10) + 8);
  EXPECT_LT(cache.bytes(), 64u << 10);
  for (it->SeekToLast(); it->Valid(); it->Prev()) ASSERT_TRUE(it->status().ok());
}

TEST(TableIterator, ScansCachedBlocksAndLooksForEachOnce) {
  MemoryFiles files;
  const std::vector<Row> rows = ManyRows(1'000);
  base::BlockCache cache(8 << 20);
  const auto reader = OpenTable(&files, "7.tbl", WriteTable(&files, "7.tbl", Bytewise(), rows), Bytewise(), &cache);
  Found found;
  for (const Row& row : rows)
    ASSERT_TRUE(reader->Get(row.key, kv::kSequenceMax, {}, &found).ok());  // all blocks go into the cache
  const auto it = reader->NewIterator({});
  const uint64_t reads = files.reads, blocks = cache.misses(), hits_before = cache.hits();
  ASSERT_GT(blocks, 10u);

  it->SeekToFirst();
  for (const Row& row : rows) {
    ASSERT_NO_FATAL_FAILURE(ExpectShows(*it, row));
    it->Next();
  }
  it->SeekToLast();
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    ASSERT_NO_FATAL_FAILURE(ExpectShows(*it, *row));
    it->Prev();
  }
  EXPECT_EQ(files.reads, reads);
  EXPECT_LE(cache.hits() - hits_before, 2 * blocks + 2);
  // A change of direction, while the iterator still holds a block of the first direction.
  it->Seek(rows[500].key, rows[500].tag);
  for (size_t i = 500; i < 700; ++i) it->Next();
  for (size_t i = 700; i > 300; --i) {
    ASSERT_NO_FATAL_FAILURE(ExpectShows(*it, rows[i]));
    it->Prev();
  }
  for (size_t i = 300; i < rows.size(); ++i) {
    ASSERT_NO_FATAL_FAILURE(ExpectShows(*it, rows[i]));
    it->Next();
  }
  EXPECT_EQ(files.reads, reads);
  EXPECT_EQ(cache.misses(), blocks);
}

TEST(TableIterator, SeeksToAViewOfItsOwnEntry) {
  MemoryFiles files;
  const std::vector<Row> rows = ManyRows(200);
  const auto reader = OpenTable(&files, "7.tbl", WriteTable(&files, "7.tbl", Bytewise(), rows), Bytewise(), nullptr);
  const auto it = reader->NewIterator({});
  it->SeekToLast();
  it->Seek(it->entry().key, it->entry().tag);
  ExpectShows(*it, rows.back());
}

TEST(ScanIterator, ReadsLargeTablesDirectlyAndSmallOnesInOneRead) {
  MemoryFiles files;
  const std::vector<Row> rows = ManyRows(20'000);
  const auto large = OpenTable(&files, "7.tbl", WriteTable(&files, "7.tbl", Bytewise(), rows), Bytewise(), nullptr);
  uint64_t direct_before = files.direct_opens, reads_before = files.reads;
  auto scan = large->NewScanIterator();
  size_t count = 0;
  for (scan->SeekToFirst(); scan->Valid(); scan->Next()) ++count;
  EXPECT_EQ(count, rows.size());
  EXPECT_EQ(files.direct_opens, direct_before + 1);
  EXPECT_LE(files.reads - reads_before, large->meta().bytes / (1 << 20) + 1);

  const std::vector<Row> few(rows.begin(), rows.begin() + 500);
  const auto small = OpenTable(&files, "8.tbl", WriteTable(&files, "8.tbl", Bytewise(), few), Bytewise(), nullptr);
  direct_before = files.direct_opens, reads_before = files.reads;
  scan = small->NewScanIterator();
  for (scan->SeekToFirst(); scan->Valid(); scan->Next()) ++count;
  EXPECT_EQ(files.direct_opens, direct_before);
  EXPECT_EQ(files.reads, reads_before + 1);
}

TEST(Reader, ReadsABlockOnceAndThenFromTheCache) {
  MemoryFiles files;
  base::BlockCache cache(1 << 20);
  const auto reader =
      OpenTable(&files, "7.tbl", WriteTable(&files, "7.tbl", Bytewise(), ManyRows(500)), Bytewise(), &cache);
  Found found;
  const uint64_t reads_before = files.reads;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(reader->Get("1000017", kv::kSequenceMax, {}, &found).ok());
  EXPECT_EQ(files.reads, reads_before + 1);
  ASSERT_TRUE(reader->Get("1000217", kv::kSequenceMax, {.fill_cache = false}, &found).ok());
  ASSERT_TRUE(reader->Get("1000217", kv::kSequenceMax, {.fill_cache = false}, &found).ok());
  EXPECT_EQ(files.reads, reads_before + 3);
}

// If the versions of a key continue over many blocks, the filter of each block holds the key.
TEST(Reader, AsksTheProgramsOwnFiltersUnderAnyOrder) {
  const Backwards backwards;
  const leveldb_format::BloomPolicy policy(10);
  for (const kv::Order& order : {Bytewise(), kv::Order(&backwards)}) {
    MemoryFiles files;
    auto rows = ManyRows(2000);
    for (uint64_t version = 300; version > 0; --version) {
      rows.push_back({.key = "goes on", .tag = kv::MakeTag(version, kv::Kind::kPut), .value = std::string(90, 'g')});
    }
    std::ranges::sort(
        rows, [&](const Row& a, const Row& b) { return order.Compare(ViewOf(order, a), ViewOf(order, b)) < 0; });
    const auto meta = WriteTable(&files, "7.tbl", order, rows, {.filter_policy = &policy});
    const auto with = Reader::Open(&files, "7.tbl", meta, order, nullptr, {.filter_policy = &policy});
    ASSERT_TRUE(with.has_value()) << with.status().ToString();
    Found found;
    for (const Row& row : rows) {
      ASSERT_TRUE((*with)->Get(row.key, kv::SequenceOf(row.tag), {}, &found).ok()) << row.key;
      ASSERT_EQ(found.tag, row.tag);
    }
    EXPECT_TRUE((*with)->CheckIntegrity().ok());
    const uint64_t reads_before = files.reads;
    int passed = 0;
    for (int i = 0; i < 1000; ++i) {
      EXPECT_TRUE((*with)->Get("absent" + std::to_string(i), kv::kSequenceMax, {}, &found).IsNotFound());
      passed = static_cast<int>(files.reads - reads_before);
    }
    EXPECT_LT(passed, 60);
    // Without the policy, the reader uses no filters.
    const auto without = OpenTable(&files, "7.tbl", meta, order, nullptr);
    ASSERT_TRUE(without->Get("goes on", 7, {}, &found).ok());
    EXPECT_TRUE(without->Get("absent7", kv::kSequenceMax, {}, &found).IsNotFound());
  }
}

TEST(Reader, KeepsAFoundValueAliveByItself) {
  MemoryFiles files;
  auto reader = OpenTable(&files, "7.tbl", WriteTable(&files, "7.tbl", Bytewise(), ManyRows(50)), Bytewise(), nullptr);
  Found found;
  ASSERT_TRUE(reader->Get("1000017", kv::kSequenceMax, {}, &found).ok());
  reader.reset();
  EXPECT_EQ(found.value, std::string(90, 'v'));
}

TEST(Reader, EstimatesOffsetsInOrder) {
  MemoryFiles files;
  const auto reader =
      OpenTable(&files, "7.tbl", WriteTable(&files, "7.tbl", Bytewise(), ManyRows(2000)), Bytewise(), nullptr);
  EXPECT_EQ(reader->ApproximateOffset(""), 0u);
  EXPECT_LT(reader->ApproximateOffset("1000500"), reader->ApproximateOffset("1001500"));
  EXPECT_LE(reader->ApproximateOffset("9"), reader->meta().bytes);
}

TEST(Reader, RefusesATableThatTheManifestDescribesOtherwise) {
  MemoryFiles files;
  const auto meta = WriteTable(&files, "7.tbl", Bytewise(), ManyRows(10));
  const auto open = [&](auto change) {
    auto other = std::make_shared<format::FileMeta>(*meta);
    change(*other);
    return Reader::Open(&files, "7.tbl", other, Bytewise(), nullptr).status();
  };
  EXPECT_TRUE(open([](format::FileMeta&) {}).ok());
  EXPECT_TRUE(open([](format::FileMeta& m) { m.unique_id ^= 1; }).IsCorruption());
  EXPECT_TRUE(open([](format::FileMeta& m) { m.bytes += 4096; }).IsCorruption());
  EXPECT_TRUE(open([](format::FileMeta& m) { m.entries += 1; }).IsCorruption());
  EXPECT_TRUE(open([](format::FileMeta& m) { m.smallest = "0"; }).IsCorruption());
  EXPECT_TRUE(open([](format::FileMeta& m) { m.largest = "9"; }).IsCorruption());
  EXPECT_TRUE(open([](format::FileMeta& m) { m.largest_is_open = true; }).IsCorruption());
  EXPECT_TRUE(open([](format::FileMeta& m) { m.range_tombstones = 1; }).IsCorruption());
  const Status status = open([](format::FileMeta& m) { m.unique_id ^= 1; });
  EXPECT_EQ(status.message().substr(0, 6), "7.tbl:") << status.ToString();
}

TEST(Reader, RefusesAnotherComparator) {
  MemoryFiles files;
  const Backwards backwards;
  const auto meta = WriteTable(&files, "7.tbl", Bytewise(), ManyRows(1));
  EXPECT_TRUE(Reader::Open(&files, "7.tbl", meta, kv::Order(&backwards), nullptr).status().IsInvalidArgument());
}

TEST(Reader, BelievesTheFileWhenThereIsNoManifest) {
  MemoryFiles files;
  const auto meta = WriteTable(&files, "7.tbl", Bytewise(), ManyRows(10));
  const auto reader = OpenTable(&files, "7.tbl", nullptr, Bytewise(), nullptr);
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(reader->meta(), *meta);
}

}  // namespace
}  // namespace mergedb::table
