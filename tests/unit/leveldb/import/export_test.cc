// Goal: an export is a database that LevelDB would open: one sorted run in one level, that holds what the iterator
// showed; an export that fails is no database and leaves nothing of its own. Method: iterators over given entries;
// exports in memory, read back file by file. tests/leveldb/export_test.cc exports databases.
#include "leveldb/import/export.h"

#include <gtest/gtest.h>

#include <utility>

#include "leveldb/format/filter.h"
#include "tests/unit/leveldb/import/sources.h"

namespace mergedb::leveldb_import {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace mergedb::testing;

const std::string kTarget = "/out";

// Shows given entries. A key whose value is an error is a failed key.
class GivenIterator final : public Iterator {
 public:
  using Entries = std::vector<std::pair<std::string, Result<std::string>>>;
  explicit GivenIterator(Entries entries, Status end = {}) : entries_(std::move(entries)), end_(std::move(end)) {}

  bool Valid() const override { return at_ < entries_.size() && entries_[at_].second.has_value(); }
  void SeekToFirst() override { Show(0); }
  void Next() override { Show(at_ + 1); }
  void SeekToLast() override { ADD_FAILURE(); }
  void Seek(std::string_view) override { ADD_FAILURE(); }
  void SeekForPrev(std::string_view) override { ADD_FAILURE(); }
  void Prev() override { ADD_FAILURE(); }
  std::string_view key() const override { return entries_[at_].first; }
  std::string_view value() const override { return *entries_[at_].second; }
  const Status& status() const override { return status_; }
  std::optional<std::string_view> failed_key() const override {
    if (at_ < entries_.size() && !Valid()) return entries_[at_].first;
    return std::nullopt;
  }

 private:
  void Show(size_t at) {
    at_ = at;
    status_ = at_ < entries_.size() ? entries_[at_].second.status() : end_;
  }

  const Entries entries_;
  const Status end_;
  size_t at_ = 0;
  Status status_;
};

GivenIterator::Entries Numbered(int count, size_t value_bytes) {
  GivenIterator::Entries entries;
  for (int i = 0; i < count; ++i)
    entries.emplace_back("key" + std::to_string(1000 + i), std::string(value_bytes, static_cast<char>('a' + i % 26)));
  return entries;
}

class ExportTest : public ImportTest {
 protected:
  Result<LevelDbExport> Export(GivenIterator it, const LevelDbExportOptions& options = {}) {
    return leveldb_import::Export(
        {.file_system = &files_, .order = order_, .directory = kTarget, .options = options, .bytes_expected = 0}, it);
  }
  Result<Source> Read() { return ReadSource(&files_, kTarget, order_); }
  Files Exported() { return ReadFiles(files_, kTarget); }
};

TEST_F(ExportTest, IsReadBackAsOneSortedRun) {
  const auto entries = Numbered(300, 100);
  ASSERT_OK_AND_ASSIGN(const LevelDbExport exported,
                       Export(GivenIterator(entries), {.compression = Compression::kNone, .table_bytes = 5000}));
  EXPECT_EQ(exported.entries, 300u);
  ASSERT_OK_AND_ASSIGN(const Source source, Read());
  EXPECT_EQ(source.tables.size(), exported.tables);
  EXPECT_GE(exported.tables, 5u);
  EXPECT_EQ(source.bytes, exported.bytes);
  EXPECT_EQ(source.last_sequence, 1u);
  EXPECT_TRUE(source.logs.empty());
  EXPECT_TRUE(source.missing.empty());
  uint64_t bytes = 0;
  for (const SourceTable& table : source.tables) {
    EXPECT_EQ(table.level, 1u);
    ASSERT_OK_AND_ASSIGN(const uint64_t size, files_.SizeOf(kTarget + "/" + table.name));
    EXPECT_EQ(size, table.file.bytes);
    bytes += size;
  }
  EXPECT_EQ(bytes, exported.bytes);
  // The tables have no key in common, so one iterator shows all.
  const Walking walking{.file_system = &files_, .directory = kTarget, .order = order_};
  ASSERT_OK_AND_ASSIGN(const auto iterators, NewTableIterators(walking, source.tables));
  ASSERT_EQ(iterators.size(), 1u);
  std::vector<std::string> expected;
  for (const auto& [key, value] : entries) expected.push_back(key + "#1,PUT=" + *value);
  EXPECT_EQ(Entries(*iterators.front()), expected);
  EXPECT_FALSE(Exported().contains("EXPORT"));
}

// LevelDB compacts a level whose tables exceed its limit, 10 MiB for level 1. The run is put where it fits.
TEST_F(ExportTest, LiesInTheLevelThatHoldsIt) {
  ASSERT_OK(Export(GivenIterator(Numbered(12, 1 << 20)), {.compression = Compression::kNone}));
  ASSERT_OK_AND_ASSIGN(const Source source, Read());
  ASSERT_GT(source.bytes, uint64_t{10} << 20);
  for (const SourceTable& table : source.tables) EXPECT_EQ(table.level, 2u);
}

TEST_F(ExportTest, OfNothingIsAnEmptyDatabase) {
  ASSERT_OK_AND_ASSIGN(const LevelDbExport exported, Export(GivenIterator({})));
  EXPECT_EQ(exported.tables, 0u);
  EXPECT_EQ(Exported().size(), 3u) << "CURRENT, LOCK and MANIFEST-000001";
  ASSERT_OK_AND_ASSIGN(const Source source, Read());
  EXPECT_TRUE(source.tables.empty());
}

TEST_F(ExportTest, FiltersAreLeftOutIfTheyHaveNoBits) {
  for (const int bits : {10, 0}) {
    SCOPED_TRACE(bits);
    ASSERT_OK(Export(GivenIterator(Numbered(10, 10)), {.compression = Compression::kNone, .bloom_bits_per_key = bits}));
    const Files files = Exported();
    const leveldb_format::BloomPolicy policy(10);
    EXPECT_EQ(files.at("000002.ldb").find("filter." + std::string(policy.Name())) != std::string::npos, bits > 0);
    for (const auto& [name, bytes] : files) ASSERT_OK(files_.Remove(kTarget + "/" + name));
  }
}

// ---- failures -------------------------------------------------------------------------------------------------

TEST_F(ExportTest, OtherDirectoriesAreRefusedAndStayAsTheyAre) {
  ASSERT_OK(files_.CreateDirectory(kTarget));
  for (const char* name : {"CURRENT", "000007.ldb", "EXPORT.txt"}) {
    ASSERT_OK(files_.WriteWhole(kTarget + "/" + name, "mine"));
    EXPECT_THAT(Export(GivenIterator({})), StatusIs(Code::kInvalidArgument, HasSubstr(name)));
    EXPECT_EQ(Exported(), (Files{{name, "mine"}}));
    ASSERT_OK(files_.Remove(kTarget + "/" + name));
  }
}

// The marker says that LevelDB's files here are those of an export. Files of other names are not.
TEST_F(ExportTest, AnInterruptedExportIsRemovedFirst) {
  ASSERT_OK(files_.CreateDirectory(kTarget));
  for (const char* name : {"EXPORT", "CURRENT", "MANIFEST-000001", "000002.ldb", "000099.ldb"})
    ASSERT_OK(files_.WriteWhole(kTarget + "/" + name, "half"));
  // CURRENT goes before a table does: LevelDB never sees a database whose tables are missing.
  bool has_current = true;
  files_.SetOpHook([&](uint64_t, const char* what, const std::string& path) {
    if (std::string_view(what) != OpName(FileOp::kRemove)) return;
    if (path.ends_with("CURRENT")) has_current = false;
    if (path.ends_with(".ldb")) { EXPECT_FALSE(has_current); }
  });
  ASSERT_OK(Export(GivenIterator(Numbered(3, 10))));
  files_.SetOpHook(nullptr);
  EXPECT_FALSE(has_current);
  EXPECT_FALSE(Exported().contains("000099.ldb"));
  ASSERT_OK_AND_ASSIGN(const Source source, Read());
  EXPECT_EQ(source.tables.size(), 1u);

  ASSERT_OK(files_.WriteWhole(kTarget + "/EXPORT", ""));
  ASSERT_OK(files_.WriteWhole(kTarget + "/notes.txt", "mine"));
  EXPECT_THAT(Export(GivenIterator({})), StatusIs(Code::kInvalidArgument, HasSubstr("notes.txt")));
  EXPECT_EQ(Exported(), (Files{{"LOCK", ""}, {"notes.txt", "mine"}})) << "LOCK is of the first export";
}

TEST_F(ExportTest, AFailedKeyEndsTheExportUnlessTheCallerTakesIt) {
  GivenIterator::Entries entries = Numbered(4, 1);
  entries[1].second = Status::MergeFailed("no number");
  entries[3].second = Status::Corruption("blob");
  EXPECT_THAT(Export(GivenIterator(entries)), StatusIs(Code::kMergeFailed, "no number"));
  EXPECT_EQ(Exported(), Files());
  std::vector<std::string> failed;
  LevelDbExportOptions options;
  options.on_failed_key = [&](std::string_view key, const Status& status) {
    failed.push_back(std::string(key) + ": " + std::string(status.message()));
  };
  ASSERT_OK_AND_ASSIGN(const LevelDbExport exported, Export(GivenIterator(entries), options));
  EXPECT_THAT(failed, ElementsAre("key1001: no number", "key1003: blob"));
  EXPECT_EQ(exported.entries, 2u);
  for (const auto& [name, bytes] : Exported()) ASSERT_OK(files_.Remove(kTarget + "/" + name));
  // An error that concerns no key ends the export in any case.
  EXPECT_THAT(Export(GivenIterator(entries, Status::IOError("the disk")), options),
              StatusIs(Code::kIOError, "the disk"));
  EXPECT_EQ(Exported(), Files());
}

TEST_F(ExportTest, TheCallerMayEndItAfterEachTable) {
  std::vector<uint64_t> done;
  LevelDbExportOptions options{.compression = Compression::kNone, .table_bytes = 1000};
  options.progress = [&](uint64_t bytes, uint64_t all) {
    EXPECT_GE(all, bytes);
    done.push_back(bytes);
    return done.size() < 3;
  };
  EXPECT_THAT(Export(GivenIterator(Numbered(100, 100)), options), StatusIs(Code::kAborted, HasSubstr(kTarget)));
  ASSERT_EQ(done.size(), 3u);
  EXPECT_LT(done[0], done[1]);
  EXPECT_LT(done[1], done[2]);
  EXPECT_EQ(Exported(), Files());
}

// The commit is the rename of CURRENT, after everything else is durable.
TEST_F(ExportTest, APowerCutBeforeTheCommitLeavesNoDatabaseAndOneAfterItAWholeOne) {
  bool is_exporting = true;
  int none = 0, whole = 0;
  files_.SetOpHook([&](uint64_t op, const char* what, const std::string& path) {
    if (!is_exporting) return;
    SCOPED_TRACE("before operation " + std::to_string(op) + " " + what + " " + path);
    const auto image = files_.Crash(CrashMode::kMin, CrashModel::kStrict, op);
    const auto source = ReadSource(image.get(), kTarget, order_);
    if (!source) {
      EXPECT_THAT(source, StatusIs(Code::kNotFound));
      ++none;
      return;
    }
    ++whole;
    EXPECT_TRUE(source->missing.empty());
    const Walking walking{.file_system = image.get(), .directory = kTarget, .order = order_};
    auto iterators = NewTableIterators(walking, source->tables);
    ASSERT_OK(iterators);
    ASSERT_EQ(iterators->size(), 1u);
    EXPECT_EQ(Entries(*iterators->front()).size(), 50u);
    EXPECT_OK(iterators->front()->status());
  });
  ASSERT_OK(Export(GivenIterator(Numbered(50, 100)), {.compression = Compression::kNone, .table_bytes = 1000}));
  is_exporting = false;
  EXPECT_GT(none, 10);
  EXPECT_GT(whole, 0);
}

}  // namespace
}  // namespace mergedb::leveldb_import
