// Goal: tables that LevelDB wrote are read, by scans and seeks in both directions; written tables are byte for
// byte those of LevelDB; any damage is an error or changes nothing. Method: LevelDB's bytes; then random tables,
// blocks and damage.
#include "leveldb/format/table.h"

#include <gtest/gtest.h>

#include <map>

#include "base/coding.h"
#include "base/random.h"
#include "leveldb/format/edit.h"
#include "leveldb/format/filter.h"
#include "testing/status_matchers.h"
#include "tests/unit/leveldb/format/goldens.h"

namespace mergedb::leveldb_format {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

// A table in memory.
class TestTable {
 public:
  explicit TestTable(std::string bytes, const KeyOrder& order) : bytes_(std::move(bytes)), order_(order) {}

  Status Open() {
    ASSIGN_OR_RETURN(footer_, DecodeTableFooter(bytes_));
    ASSIGN_OR_RETURN(index_, Read(footer_.index));
    ASSIGN_OR_RETURN(metaindex_, Read(footer_.metaindex));
    return {};
  }
  Result<TableIterator::Block> Read(const Handle& handle) const {
    RETURN_IF_ERROR(CheckHandle(handle, bytes_.size()));
    ASSIGN_OR_RETURN(std::string block,
                     OpenBlock(bytes_.substr(handle.offset, handle.bytes + kBlockTrailerBytes), true));
    return std::make_shared<const std::string>(std::move(block));
  }
  TableIterator Iterate() const {
    return {order_, index_, [this](const Handle& handle) { return Read(handle); }};
  }
  const std::string& metaindex() const { return *metaindex_; }
  const TableIterator::Block& index() const { return index_; }

 private:
  const std::string bytes_;
  const KeyOrder& order_;
  TableFooter footer_;
  TableIterator::Block index_, metaindex_;
};

std::string Build(const KeyOrder& order, const TableOptions& options, const Rows& rows) {
  std::string bytes;
  TableBuilder builder(order, options, [&](std::string_view part) {
    bytes += part;
    return Status();
  });
  for (const auto& [key, value] : rows) builder.Add(key, value);
  EXPECT_OK(builder.Finish());
  EXPECT_EQ(builder.bytes(), bytes.size());
  EXPECT_EQ(builder.entries(), rows.size());
  return bytes;
}

Rows Walk(const TestTable& table, Status* status) {
  Rows rows;
  TableIterator it = table.Iterate();
  for (it.SeekToFirst(); it.Valid(); it.Next()) rows.emplace_back(it.key(), it.value());
  *status = it.status();
  return rows;
}
Rows WalkBack(const TestTable& table) {
  Rows rows;
  TableIterator it = table.Iterate();
  for (it.SeekToLast(); it.Valid(); it.Prev()) rows.emplace(rows.begin(), it.key(), it.value());
  EXPECT_OK(it.status());
  return rows;
}

const UserOrder kUser{kv::Order(BytewiseComparator())};
const InternalOrder kInternal{kUser};
const BloomPolicy kBloom{10};

std::string TableOf(const std::string& golden) { return testing::LevelDbGolden(golden).at("000005.ldb"); }

TEST(LevelDbTable, ReadsWhatLevelDbWrote) {
  TestTable table(TableOf("raw"), kInternal);
  ASSERT_OK(table.Open());
  std::string shown;
  Status status;
  const Rows rows = Walk(table, &status);
  ASSERT_OK(status);
  for (const auto& [internal, value] : rows) {
    std::string_view key;
    kv::Tag tag = 0;
    ASSERT_TRUE(SplitInternalKey(internal, &key, &tag));
    shown += kv::PrintKey(key, tag) + "=" + value + " ";
  }
  EXPECT_EQ(shown,
            "#6,PUT=empty apple#1,PUT=green apricot#2,PUT=orange banana#5,PUT=brown banana#3,PUT=yellow "
            "cherry#4,DELETE= fig#7,PUT= ");
  EXPECT_EQ(WalkBack(table), rows);
}

TEST(LevelDbTable, IsTheBytesThatLevelDbWrites) {
  Status status;
  {
    TestTable table(TableOf("raw"), kInternal);
    ASSERT_OK(table.Open());
    EXPECT_EQ(Build(kInternal, {.codec = {.compression = Compression::kNone}, .filter = &kBloom}, Walk(table, &status)),
              TableOf("raw"));
  }
  TestTable table(TableOf("snappy"), kInternal);
  ASSERT_OK(table.Open());
  EXPECT_EQ(Build(kInternal, {.block_bytes = 1024, .filter = &kBloom}, Walk(table, &status)), TableOf("snappy"));
}

TEST(LevelDbTable, LevelDbsFilterPassesItsKeysAndFewOthers) {
  TestTable table(TableOf("snappy"), kInternal);
  ASSERT_OK(table.Open());
  const UserOrder by_bytes{kv::Order(BytewiseComparator())};
  BlockIterator metaindex(by_bytes, table.metaindex());
  metaindex.SeekToFirst();
  ASSERT_TRUE(metaindex.Valid());
  EXPECT_EQ(metaindex.key(), "filter." + std::string(kBloom.Name()));
  ASSERT_OK_AND_ASSIGN(const Handle handle, DecodeHandle(metaindex.value()));
  ASSERT_OK_AND_ASSIGN(const auto bytes, table.Read(handle));
  const format::FilterBlock filter(kBloom, *bytes);
  Status status;
  for (const auto& [internal, value] : Walk(table, &status)) {
    const std::string_view key = std::string_view(internal).substr(0, internal.size() - kInternalTagBytes);
    EXPECT_TRUE(filter.MayContain(0, key)) << key;
  }
  int passed = 0;
  for (int i = 0; i < 1000; ++i) passed += filter.MayContain(0, "absent" + std::to_string(i));
  EXPECT_LT(passed, 40);
}

Rows RandomRows(base::Random* random, size_t count, bool has_tags) {
  std::map<std::string, std::string> rows;
  while (rows.size() < count) {
    std::string key(random->Uniform(20), '\0');
    for (char& c : key) c = "ab\xff"[random->Uniform(3)];
    if (has_tags)
      AppendInternalKey(&key, std::string(key),
                        kv::MakeTag(random->Uniform(1000), random->Uniform(2) ? kv::Kind::kPut : kv::Kind::kDelete));
    rows[key] = std::string(random->Uniform(100), 'v') + std::to_string(random->Next());
  }
  Rows sorted(rows.begin(), rows.end());
  const KeyOrder& order = has_tags ? static_cast<const KeyOrder&>(kInternal) : kUser;
  std::sort(sorted.begin(), sorted.end(),
            [&](const auto& a, const auto& b) { return order.Compare(a.first, b.first) < 0; });
  return sorted;
}

TEST(LevelDbTable, FindsEveryKeyInBothDirections) {
  base::Random random(5);
  for (int round = 0; round < 60; ++round) {
    const bool has_tags = round % 2 == 0;
    const KeyOrder& order = has_tags ? static_cast<const KeyOrder&>(kInternal) : kUser;
    const Rows rows = RandomRows(&random, random.Uniform(300), has_tags);
    const Compression codecs[] = {Compression::kNone, Compression::kSnappy, Compression::kZstd};
    TestTable table(Build(order,
                          {.block_bytes = 1 + random.Uniform(2000),
                           .restart_interval = 1 + random.Uniform(20),
                           .codec = {.compression = codecs[round % 3]},
                           .filter = round % 5 == 0 ? &kBloom : nullptr,
                           .keys_have_tags = has_tags},
                          rows),
                    order);
    ASSERT_OK(table.Open());
    Status status;
    EXPECT_EQ(Walk(table, &status), rows);
    EXPECT_EQ(WalkBack(table), rows);
    TableIterator it = table.Iterate();
    for (size_t i = 0; i < rows.size(); ++i) {
      it.Seek(rows[i].first);
      ASSERT_TRUE(it.Valid());
      EXPECT_EQ(it.key(), rows[i].first);
      if (random.Uniform(2) == 0) {
        it.Prev();
        EXPECT_EQ(it.Valid() ? std::string(it.key()) : "none", i > 0 ? rows[i - 1].first : "none");
      } else {
        it.Next();
        EXPECT_EQ(it.Valid() ? std::string(it.key()) : "none", i + 1 < rows.size() ? rows[i + 1].first : "none");
      }
    }
    for (const auto& [absent, unused] : RandomRows(&random, 20, has_tags)) {
      it.Seek(absent);
      const auto after = std::find_if(rows.begin(), rows.end(),
                                      [&](const auto& row) { return order.Compare(row.first, absent) >= 0; });
      EXPECT_EQ(it.Valid() ? std::string(it.key()) : "none", after != rows.end() ? after->first : "none");
    }
    ASSERT_OK(it.status());
  }
}

TEST(LevelDbTable, ShortKeysOfTheIndexLieBetweenBlocks) {
  const auto between = [](std::string key, const std::string& limit) {
    kUser.ShortenTowards(limit, &key);
    return key;
  };
  EXPECT_EQ(between("abcdef", "abzz"), "abd");
  EXPECT_EQ(between("abc", "abd"), "abc");
  EXPECT_EQ(between("ab", "abc"), "ab");
  EXPECT_EQ(between("ab\xff", "ac"), "ab\xff");
  std::string key =
      "\xff\xff"
      "a";
  kUser.ShortenUpwards(&key);
  EXPECT_EQ(key,
            "\xff\xff"
            "b");
  key = "\xff\xff";
  kUser.ShortenUpwards(&key);
  EXPECT_EQ(key, "\xff\xff");
}

// With one bit flipped, reading a table ends with an error or with unchanged rows. A cut table does not open.
TEST(LevelDbTable, DamageIsAnErrorOrChangesNothing) {
  for (const char* golden : {"raw", "snappy"}) {
    const std::string whole = TableOf(golden);
    TestTable intact(whole, kInternal);
    ASSERT_OK(intact.Open());
    Status status;
    const Rows rows = Walk(intact, &status);
    for (size_t at = 0; at < whole.size(); ++at) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 8));
      TestTable table(bytes, kInternal);
      if (!table.Open().ok()) continue;
      const Rows found = Walk(table, &status);
      if (status.ok()) { EXPECT_EQ(found, rows) << at; }
      TestTable cut(whole.substr(0, at), kInternal);
      EXPECT_FALSE(cut.Open().ok()) << at;
    }
  }
}

// Damaged blocks, read without their checksum: no crash, no endless loop.
TEST(LevelDbTable, HostileBlocksEnd) {
  base::Random random(3);
  const Rows rows = RandomRows(&random, 40, true);
  BlockBuilder builder(4);
  for (const auto& [key, value] : rows) builder.Add(key, value);
  const std::string whole(builder.Finish());
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = whole;
    for (uint64_t changes = 1 + random.Uniform(3); changes-- > 0;) {
      const size_t at = random.Uniform(2) == 0 ? random.Uniform(bytes.size()) : bytes.size() - 1 - random.Uniform(48);
      bytes[at] = static_cast<char>(random.Uniform(2) == 0 ? random.Uniform(256) : 255 * random.Uniform(2));
    }
    if (random.Uniform(4) == 0) bytes.resize(random.Uniform(bytes.size()));
    BlockIterator it(kInternal, bytes);
    size_t steps = 0;
    for (it.SeekToFirst(); it.Valid(); it.Next()) ASSERT_LT(++steps, bytes.size() + 1);
    for (it.SeekToLast(); it.Valid(); it.Prev()) ASSERT_LT(++steps, 3 * bytes.size() + 3);
    it.Seek(rows[random.Uniform(rows.size())].first);
    if (it.Valid()) it.Prev();
  }
}

TEST(LevelDbTable, ClaimsOfSizeAreNotBelieved) {
  std::string stored("\xff\xff\xff\xff\x0f", 5);  // snappy: claims 4 GiB
  stored.push_back(1);
  EXPECT_THAT(OpenBlock(stored + std::string(4, 0), false), testing::StatusIs(Code::kCorruption));
  EXPECT_THAT(
      OpenBlock(std::string("\x28\xb5\x2f\xfd\xe0\xff\xff\xff\xff\xff\xff\xff\x0f", 13) + '\2' + std::string(4, 0),
                false),
      testing::StatusIs(Code::kCorruption));
  EXPECT_THAT(OpenBlock(std::string("abc\x07", 4) + std::string(4, 0), false),
              testing::StatusIs(Code::kCorruption, "bad block type"));
  EXPECT_THAT(CheckHandle({.offset = UINT64_MAX - 3, .bytes = 10}, 1000), testing::StatusIs(Code::kCorruption));
  EXPECT_THAT(CheckHandle({.offset = 10, .bytes = UINT64_MAX - 3}, 1000), testing::StatusIs(Code::kCorruption));
  EXPECT_OK(CheckHandle({.offset = 10, .bytes = 1000 - 48 - 5 - 10}, 1000));
  EXPECT_THAT(CheckHandle({.offset = 10, .bytes = 1000 - 48 - 5 - 9}, 1000), testing::StatusIs(Code::kCorruption));
}

TEST(LevelDbTable, SkipsBlocksThatCannotBeRead) {
  base::Random random(9);
  const Rows rows = RandomRows(&random, 200, true);
  const std::string whole = Build(kInternal, {.block_bytes = 500, .codec = {.compression = Compression::kNone}}, rows);
  std::string bytes = whole;
  bytes[700] = static_cast<char>(bytes[700] ^ 1);  // in the second block
  TestTable table(bytes, kInternal);
  ASSERT_OK(table.Open());
  Rows saved;
  TableIterator it = table.Iterate();
  int damaged = 0;
  for (it.SeekToFirst(); it.Valid() || !it.status().ok();) {
    if (!it.Valid()) {
      ++damaged;
      it.SkipBlock();
      continue;
    }
    saved.emplace_back(it.key(), it.value());
    it.Next();
  }
  EXPECT_EQ(damaged, 1);
  EXPECT_LT(saved.size(), rows.size());
  EXPECT_GT(saved.size(), rows.size() - 20);
  EXPECT_EQ(saved.back(), rows.back());
}

// Each block that cannot be read is reported once. Then the iteration ends.
TEST(LevelDbTable, SkippingEndsWhereTheIndexDoes) {
  base::Random random(9);
  const Rows rows = RandomRows(&random, 200, true);
  const std::string whole = Build(kInternal, {.block_bytes = 500, .codec = {.compression = Compression::kNone}}, rows);
  TestTable table(whole, kInternal);
  ASSERT_OK(table.Open());
  size_t blocks = 0;
  const auto refuse = [&](const Handle&) -> Result<TableIterator::Block> {
    ++blocks;
    return Status::Corruption("no");
  };
  TableIterator damaged(kInternal, table.index(), refuse);
  damaged.SeekToFirst();
  EXPECT_FALSE(damaged.status().ok());
  size_t told = 1;
  for (; damaged.SkipBlock(); ++told) ASSERT_FALSE(damaged.Valid());
  EXPECT_OK(damaged.status());
  EXPECT_EQ(told, blocks);
  EXPECT_GT(blocks, 10u);
  for (size_t size = 0; size < table.index()->size(); ++size) {
    const auto index = std::make_shared<const std::string>(table.index()->substr(0, size) + std::string(4, '\1'));
    TableIterator it(kInternal, index, [&](const Handle& handle) { return table.Read(handle); });
    size_t steps = 0;
    for (it.SeekToFirst(); it.Valid() || !it.status().ok();) {
      ASSERT_LT(++steps, 1000u);
      if (it.Valid()) {
        it.Next();
      } else if (!it.SkipBlock()) {
        break;
      }
    }
  }
}

// ---- filters ----------------------------------------------------------------------------------------------

TEST(LevelDbFilter, NoKeyIsLost) {
  for (const int bits : {0, 1, 5, 10, 44, 100}) {
    const BloomPolicy policy(bits);
    for (const size_t count : {0, 1, 7, 1000}) {
      std::vector<std::string> keys;
      for (size_t i = 0; i < count; ++i) keys.push_back(std::to_string(i * 7919).substr(0, i % 9));
      std::string filter;
      policy.AppendFilter({keys.begin(), keys.end()}, &filter);
      for (const std::string& key : keys) EXPECT_TRUE(policy.MayContain(key, filter)) << bits << " " << key;
    }
  }
}

// 10 bits per key, at least 8 bytes, and 6 probes. The tests of LevelDB's tables, above, check the bits.
TEST(LevelDbFilter, HasTheSizeThatLevelDbGivesIt) {
  std::string filter;
  BloomPolicy(10).AppendFilter({"hello", "world"}, &filter);
  EXPECT_EQ(filter.size(), 9u);
  EXPECT_EQ(filter.back(), 6);
}

TEST(LevelDbFilter, MalformedBlocksPassEverything) {
  base::Random random(1);
  format::FilterBlockBuilder builder(kBloom);
  for (uint64_t offset = 0; offset < 20'000; offset += 3'000) {
    builder.StartBlock(offset);
    builder.AddKey("key" + std::to_string(offset));
  }
  const std::string whole(builder.Finish());
  const format::FilterBlock filter(kBloom, whole);
  for (uint64_t offset = 0; offset < 20'000; offset += 3'000)
    EXPECT_TRUE(filter.MayContain(offset, "key" + std::to_string(offset)));
  EXPECT_TRUE(filter.MayContain(1'000'000, "any")) << "beyond the last";
  for (int round = 0; round < 5'000; ++round) {
    std::string bytes = whole.substr(0, random.Uniform(whole.size() + 1));
    if (!bytes.empty()) bytes[random.Uniform(bytes.size())] = static_cast<char>(random.Uniform(256));
    const std::string copy(bytes);  // exact size, for the sanitizer
    (void)format::FilterBlock(kBloom, copy).MayContain(random.Uniform(30'000), "key");
  }
  EXPECT_TRUE(format::FilterBlock(kBloom, "").MayContain(0, "key"));
}

}  // namespace
}  // namespace mergedb::leveldb_format
