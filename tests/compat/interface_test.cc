// The LevelDB interface where it differs from LevelDB: docs/api/leveldb-differences.md.
// tests/compat/transcripts_test.py tests the common behaviour. Each test opens databases in a directory of
// its own on the real disk.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "leveldb/c.h"
#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/table.h"
#include "leveldb/table_builder.h"
#include "leveldb/write_batch.h"
#include "testing/temp_directory.h"

namespace leveldb {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class LevelDbInterface : public testing::Test {
 protected:
  LevelDbInterface() { options_.create_if_missing = true; }

  Status Open() {
    db_.reset();
    DB* opened = nullptr;
    const Status status = DB::Open(options_, name_, &opened);
    db_.reset(opened);
    return status;
  }
  std::string Get(const std::string& key) {
    std::string value;
    const Status status = db_->Get({}, key, &value);
    return status.ok() ? value : status.ToString();
  }
  std::string Property(const std::string& name) {
    std::string value;
    return db_->GetProperty(name, &value) ? value : "none";
  }
  static std::vector<std::string> Children(const std::string& directory) {
    std::vector<std::string> names;
    (void)Env::Default()->GetChildren(directory, &names);
    std::erase_if(names, [](const std::string& each) { return each == "." || each == ".."; });
    std::sort(names.begin(), names.end());
    return names;
  }
  bool Has(const std::string& file) const { return Env::Default()->FileExists(name_ + "/" + file); }

  const mergedb::testing::TempDirectory directory_;
  std::string name_ = directory_ / "db";
  Options options_;
  std::unique_ptr<DB> db_;
};

// Reverse order; keys of different bytes may be the same key.
struct IgnoringCase : Comparator {
  static std::string Lower(const Slice& key) {
    std::string text = key.ToString();
    for (char& byte : text) byte = static_cast<char>(std::tolower(static_cast<unsigned char>(byte)));
    return text;
  }
  int Compare(const Slice& a, const Slice& b) const override { return Lower(a).compare(Lower(b)); }
  const char* Name() const override { return "test.IgnoringCase"; }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

struct Bytewise : Comparator {
  mutable std::atomic<int> calls{0};
  int Compare(const Slice& a, const Slice& b) const override { return ++calls, a.compare(b); }
  const char* Name() const override { return "leveldb.BytewiseComparator"; }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

struct Lines : Logger {
  std::vector<std::string> lines;
  void Logv(const char* format, std::va_list arguments) override {
    char line[1000];
    std::vsnprintf(line, sizeof line, format, arguments);
    lines.push_back(line);
  }
};

TEST_F(LevelDbInterface, WhatLevelDbWouldReadThroughIsAnError) {
  options_.comparator = nullptr;
  EXPECT_TRUE(Open().IsInvalidArgument());
  options_.comparator = BytewiseComparator();
  options_.env = nullptr;
  EXPECT_TRUE(Open().IsInvalidArgument());
  EXPECT_TRUE(DestroyDB(name_, options_).IsInvalidArgument());
  EXPECT_TRUE(RepairDB(name_, options_).IsInvalidArgument());
  options_.env = Env::Default();
  options_.compression = static_cast<CompressionType>(9);
  EXPECT_TRUE(Open().IsInvalidArgument());
  EXPECT_FALSE(Env::Default()->FileExists(name_)) << "nothing was made";
}

TEST_F(LevelDbInterface, SizesOutOfRangeAreClipped) {
  for (const bool is_large : {false, true}) {
    options_.write_buffer_size = 0;
    options_.max_open_files = is_large ? 1 << 30 : -5;
    options_.block_size = is_large ? size_t{1} << 40 : 0;
    options_.max_file_size = is_large ? ~size_t{0} : 0;
    options_.block_restart_interval = is_large ? 1 << 30 : -1;
    ASSERT_TRUE(Open().ok());
    EXPECT_TRUE(db_->Put({}, "a", "b").ok());
    db_->CompactRange(nullptr, nullptr);
    EXPECT_EQ(Get("a"), "b");
  }
}

// Counts the calls and forwards them.
struct Counting final : public Cache {
  explicit Counting(size_t capacity) : target(NewLRUCache(capacity)) {}
  Handle* Insert(const Slice& key, void* value, size_t charge, void (*deleter)(const Slice&, void*)) override {
    ++inserts;
    is_of_16_bytes = is_of_16_bytes && key.size() == 16;
    return target->Insert(key, value, charge, deleter);
  }
  Handle* Lookup(const Slice& key) override {
    Handle* const found = target->Lookup(key);
    ++(found == nullptr ? misses : hits);
    return found;
  }
  void Release(Handle* handle) override { target->Release(handle); }
  void* Value(Handle* handle) override { return target->Value(handle); }
  void Erase(const Slice& key) override { target->Erase(key); }
  uint64_t NewId() override { return target->NewId(); }
  size_t TotalCharge() const override { return target->TotalCharge(); }

  const std::unique_ptr<Cache> target;
  std::atomic<int> inserts{0}, hits{0}, misses{0};
  std::atomic<bool> is_of_16_bytes{true};
};

TEST_F(LevelDbInterface, AProgramsOwnCacheKeepsTheBlocks) {
  Counting cache(1 << 20);
  options_.block_cache = &cache;
  ASSERT_TRUE(Open().ok());
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(db_->Put({}, "key" + std::to_string(i), std::string(100, 'v')).ok());
  db_->CompactRange(nullptr, nullptr);
  EXPECT_EQ(Get("key7"), std::string(100, 'v'));
  const int inserts = cache.inserts;
  EXPECT_GT(inserts, 0);
  const int hits = cache.hits;
  EXPECT_EQ(Get("key7"), std::string(100, 'v'));
  EXPECT_EQ(cache.inserts, inserts);
  EXPECT_GT(cache.hits, hits);
  EXPECT_TRUE(cache.is_of_16_bytes);
  EXPECT_GT(cache.TotalCharge(), 0U);
  ReadOptions unseen;
  unseen.fill_cache = false;
  std::string value;
  EXPECT_TRUE(db_->Get(unseen, "key999", &value).ok());
  // Another database in the same cache has blocks of its own.
  const std::string other_name = directory_ / "other";
  DB* opened = nullptr;
  ASSERT_TRUE(DB::Open(options_, other_name, &opened).ok());
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(opened->Put({}, "key" + std::to_string(i), std::string(100, 'w')).ok());
  opened->CompactRange(nullptr, nullptr);
  for (int i = 0; i < 1000; i += 9) {
    ASSERT_TRUE(opened->Get({}, "key" + std::to_string(i), &value).ok());
    ASSERT_EQ(value, std::string(100, 'w'));
    ASSERT_EQ(Get("key" + std::to_string(i)), std::string(100, 'v'));
  }
  delete opened;
  db_.reset();
  options_.block_cache = nullptr;
  EXPECT_TRUE(DestroyDB(other_name, options_).ok());
}

// Its filter says that a key is absent if no key of the block has the same first letter.
struct FirstLetters : FilterPolicy {
  mutable std::atomic<int> asked{0};
  mutable std::atomic<bool> denies_all{false};
  const char* name = "test.FirstLetters";
  const char* Name() const override { return name; }
  void CreateFilter(const Slice* keys, int count, std::string* filter) const override {
    for (int i = 0; i < count; ++i) {
      if (!keys[i].empty()) filter->push_back(keys[i][0]);
    }
  }
  bool KeyMayMatch(const Slice& key, const Slice& filter) const override {
    ++asked;
    return !denies_all && (key.empty() || filter.ToString().find(key[0]) != std::string::npos);
  }
};

TEST_F(LevelDbInterface, AProgramsOwnFiltersAreMadeAskedAndBelieved) {
  const FirstLetters filters;
  const IgnoringCase order;
  for (const Comparator* comparator : {BytewiseComparator(), static_cast<const Comparator*>(&order)}) {
    options_.filter_policy = &filters;
    options_.comparator = comparator;
    ASSERT_TRUE(Open().ok());
    for (int i = 0; i < 3000; ++i)
      ASSERT_TRUE(db_->Put({}, std::string(1, static_cast<char>('a' + 2 * (i / 300))) + std::to_string(i), "v").ok());
    const Snapshot* const before = db_->GetSnapshot();
    for (int i = 0; i < 3000; ++i) ASSERT_TRUE(db_->Put({}, "a0", std::to_string(i)).ok());
    db_->CompactRange(nullptr, nullptr);
    for (int i = 0; i < 3000; i += 7)
      ASSERT_EQ(Get(std::string(1, static_cast<char>('a' + 2 * (i / 300))) + std::to_string(i)), i == 0 ? "2999" : "v");
    ReadOptions then;
    then.snapshot = before;
    std::string value;
    ASSERT_TRUE(db_->Get(then, "a0", &value).ok());
    EXPECT_EQ(value, "v");
    db_->ReleaseSnapshot(before);
    db_->CompactRange(
        nullptr,
        nullptr);  // drops the snapshot's versions now, not after a later open, which would rewrite the table
    EXPECT_GT(filters.asked, 0);
    filters.denies_all = true;
    EXPECT_EQ(Get("a7"), "NotFound: ") << "the filter is believed";
    filters.denies_all = false;
    EXPECT_EQ(Get("a7"), "v");
    // With a policy of another name, or without one, reads ignore the filters.
    filters.asked = 0;
    options_.filter_policy = nullptr;
    ASSERT_TRUE(Open().ok());
    EXPECT_EQ(Get("a7"), "v");
    FirstLetters renamed;
    renamed.name = "test.OtherLetters";
    renamed.denies_all = true;
    options_.filter_policy = &renamed;
    ASSERT_TRUE(Open().ok());
    EXPECT_EQ(Get("a7"), "v");
    EXPECT_EQ(filters.asked, 0);
    db_.reset();
    EXPECT_TRUE(DestroyDB(name_, options_).ok());
  }
}

TEST_F(LevelDbInterface, AnOpenThatFailsLeavesNoTrace) {
  options_.create_if_missing = false;
  EXPECT_TRUE(Open().IsInvalidArgument());
  EXPECT_FALSE(Env::Default()->FileExists(name_));
  options_.create_if_missing = true;
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(db_->Put({}, "a", "b").ok());
  db_.reset();
  const std::vector<std::string> before = Children(name_);
  options_.error_if_exists = true;
  EXPECT_TRUE(Open().IsInvalidArgument());
  EXPECT_EQ(Children(name_), before);
}

TEST_F(LevelDbInterface, MessagesGoToLogUnlessTheProgramHasALogger) {
  ASSERT_TRUE(Open().ok());
  EXPECT_TRUE(Has("LOG"));
  ASSERT_TRUE(Open().ok());
  EXPECT_TRUE(Has("LOG.old"));
  std::string text;
  ASSERT_TRUE(ReadFileToString(Env::Default(), name_ + "/LOG", &text).ok());
  EXPECT_THAT(text, HasSubstr("mergedb"));
  Lines lines;
  options_.info_log = &lines;
  ASSERT_TRUE(Env::Default()->RemoveFile(name_ + "/LOG").ok());
  ASSERT_TRUE(Open().ok());
  EXPECT_FALSE(Has("LOG"));
  EXPECT_FALSE(lines.lines.empty());
  db_.reset();
}

TEST_F(LevelDbInterface, AProgramsOwnBytewiseOrderIsUsedAndOpensWhatTheBuiltInMade) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(db_->Put({}, "a", "1").ok());
  const Bytewise own;
  options_.comparator = &own;
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(db_->Put({}, "b", "2").ok());
  EXPECT_EQ(Get("a"), "1");
  EXPECT_GT(own.calls, 0);
  options_.comparator = BytewiseComparator();
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(Get("b"), "2");
}

TEST_F(LevelDbInterface, TheEndOfACompactionBelongsToIt) {
  const IgnoringCase order;
  options_.comparator = &order;
  ASSERT_TRUE(Open().ok());
  for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(db_->Put({}, key, "old").ok());
  db_->CompactRange(nullptr, nullptr);
  const Slice end("B");
  ASSERT_TRUE(db_->Put({}, "b", "new").ok());
  db_->CompactRange(nullptr, &end);
  EXPECT_EQ(Property("leveldb.num-files-at-level0"), "0");
  EXPECT_EQ(Get("B"), "new");
}

TEST_F(LevelDbInterface, NullBatchBeginsANewMemtable) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(db_->Put({}, "a", "1").ok());
  EXPECT_THAT(Property("leveldb.sstables"), testing::Not(HasSubstr("'a'")));
  EXPECT_TRUE(db_->Write({}, nullptr).ok());
  EXPECT_THAT(Property("leveldb.sstables"), HasSubstr("'a' @ 1 : 1"));
  EXPECT_EQ(Get("a"), "1");
}

TEST_F(LevelDbInterface, LargeBatchesAreWrittenWholeAndInOrder) {
  ASSERT_TRUE(Open().ok());
  WriteBatch batch;
  for (int i = 0; i < 30'000; ++i)
    batch.Put("k" + std::to_string(i % 10'000), std::string(100, static_cast<char>('a' + i / 10'000)));
  batch.Delete("k5");
  ASSERT_TRUE(db_->Write({}, &batch).ok());
  ASSERT_TRUE(db_->Write({}, &batch).ok()) << "a batch may be written again";
  EXPECT_EQ(Get("k4"), std::string(100, 'c'));
  EXPECT_EQ(Get("k5"), "NotFound: ");
}

TEST_F(LevelDbInterface, AKeyOrValueBeyondTheLimitsIsRefused) {
  ASSERT_TRUE(Open().ok());
  const std::string key((size_t{8} << 20) + 1, 'k');
  EXPECT_TRUE(db_->Put({}, key, "").IsInvalidArgument());
  WriteBatch batch;
  batch.Put(key, "");
  batch.Put("other", "");
  EXPECT_TRUE(db_->Write({}, &batch).IsInvalidArgument());
  EXPECT_EQ(Get("other"), "NotFound: ");
}

TEST_F(LevelDbInterface, PropertiesOfMergedbPassThrough) {
  ASSERT_TRUE(Open().ok());
  EXPECT_THAT(Property("mergedb.counters"), HasSubstr("writes 0"));
  EXPECT_EQ(Property("mergedb.nothing"), "none");
  EXPECT_EQ(Property("leveldb.num-files-at-level"), "none");
  EXPECT_EQ(Property("leveldb.num-files-at-level-1"), "none");
  EXPECT_EQ(Property("leveldb.num-files-at-level00000000000000000000000000"), "0");
  EXPECT_EQ(Property(""), "none");
}

#ifdef MERGEDB_COMMAND
TEST_F(LevelDbInterface, OfADatabaseWithKeyspacesItShowsTheDefaultOne) {
  ASSERT_TRUE(Open().ok());
  for (const char* key : {"a", "c", "\xff\xff"}) ASSERT_TRUE(db_->Put({}, key, "of the default one").ok());
  db_.reset();
  ASSERT_EQ(std::system((MERGEDB_COMMAND " put " + name_ + " b elsewhere --keyspace users").c_str()), 0);
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(db_->Put({}, "\xff\x01", "begins as keys of keyspaces do").ok());
  const std::unique_ptr<Iterator> it(db_->NewIterator({}));
  std::vector<std::string> forward, backward;
  for (it->SeekToFirst(); it->Valid(); it->Next()) forward.push_back(it->key().ToString());
  for (it->SeekToLast(); it->Valid(); it->Prev()) backward.push_back(it->key().ToString());
  EXPECT_THAT(forward, testing::ElementsAre("a", "c", "\xff\x01", "\xff\xff"));
  EXPECT_THAT(backward, testing::ElementsAre("\xff\xff", "\xff\x01", "c", "a"));
  it->Seek("d");
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key().ToString(), "\xff\x01");
  EXPECT_EQ(it->value().ToString(), "begins as keys of keyspaces do");
  EXPECT_TRUE(it->status().ok());
  EXPECT_THAT(Get("b"), StartsWith("NotFound"));
  db_->CompactRange(nullptr, nullptr);
  EXPECT_EQ(Get("c"), "of the default one");
}
#endif

TEST_F(LevelDbInterface, LevelsAreCounted) {
  ASSERT_TRUE(Open().ok());
  for (const char* key : {"a\x01", "b"}) {
    ASSERT_TRUE(db_->Put({}, key, "1").ok());
    ASSERT_TRUE(db_->Write({}, nullptr).ok());
  }
  EXPECT_EQ(Property("leveldb.num-files-at-level0"), "1");
  EXPECT_EQ(Property("leveldb.num-files-at-level6"), "1");
  db_->CompactRange(nullptr, nullptr);
  EXPECT_EQ(Property("leveldb.num-files-at-level0"), "0");
  EXPECT_EQ(Property("leveldb.num-files-at-level6"), "1");
  EXPECT_THAT(Property("leveldb.sstables"), HasSubstr("'a\\x01'"));
  EXPECT_THAT(Property("leveldb.stats"), HasSubstr("\n  6        1 "));
}

TEST_F(LevelDbInterface, OldReadersAndNewWritersAtOnce) {
  options_.write_buffer_size = 64 << 10;
  ASSERT_TRUE(Open().ok());
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 2; ++writer) {
    threads.emplace_back([&, writer] {
      for (int i = 0; i < 3000; ++i) {
        WriteBatch batch;
        batch.Put("x" + std::to_string(writer), std::to_string(i));
        batch.Put("y" + std::to_string(writer), std::to_string(i));
        ASSERT_TRUE(db_->Write({}, &batch).ok());
      }
      stop = true;
    });
  }
  while (!stop) {
    ReadOptions then;
    then.snapshot = db_->GetSnapshot();
    for (const char* suffix : {"0", "1"}) {
      std::string x;
      std::string y;
      const Status x_status = db_->Get(then, std::string("x") + suffix, &x);
      const Status y_status = db_->Get(then, std::string("y") + suffix, &y);
      ASSERT_EQ(x_status.ToString(), y_status.ToString());
      ASSERT_EQ(x, y);
    }
    db_->ReleaseSnapshot(then.snapshot);
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(LevelDbInterface, DestroyLeavesWhatIsNotTheDatabases) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(db_->Put({}, "a", "1").ok());
  db_->CompactRange(nullptr, nullptr);
  db_.reset();
  ASSERT_TRUE(WriteStringToFile(Env::Default(), "mine", name_ + "/notes.txt").ok());
  ASSERT_TRUE(WriteStringToFile(Env::Default(), "old", name_ + "/000009.ldb").ok());
  EXPECT_TRUE(DestroyDB(name_, options_).ok());
  EXPECT_EQ(Children(name_), std::vector<std::string>{"notes.txt"});
  EXPECT_TRUE(DestroyDB(name_, options_).ok());
}

TEST_F(LevelDbInterface, AnOpenThatMayNotCreateLeavesAnEmptyDirectoryEmpty) {
  options_.create_if_missing = false;
  ASSERT_TRUE(Env::Default()->CreateDir(name_).ok());
  EXPECT_TRUE(Open().IsInvalidArgument());
  EXPECT_THAT(Children(name_), testing::IsEmpty());
}

// As in LevelDB. ceph-kvstore-tool's destructive-repair relies on it.
TEST_F(LevelDbInterface, ARepairOfNoDatabaseMakesAnEmptyOne) {
  options_.create_if_missing = false;
  const auto check_empty = [&](const std::string& what) {
    const Status opened = Open();
    ASSERT_TRUE(opened.ok()) << what << ": " << opened.ToString();
    const std::unique_ptr<Iterator> it(db_->NewIterator({}));
    it->SeekToFirst();
    EXPECT_FALSE(it->Valid()) << what;
    EXPECT_TRUE(it->status().ok()) << what;
    EXPECT_TRUE(db_->Put({}, "a", "1").ok()) << what;
  };
  name_ = directory_ / "missing";
  EXPECT_TRUE(RepairDB(name_, options_).ok());
  check_empty("missing");
  db_.reset();
  EXPECT_TRUE(RepairDB(name_, options_).ok());
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(Get("a"), "1") << "there was a database this time";

  name_ = directory_ / "empty";
  ASSERT_TRUE(Env::Default()->CreateDir(name_).ok());
  char* error = nullptr;
  leveldb_options_t* const c_options = leveldb_options_create();
  leveldb_repair_db(c_options, name_.c_str(), &error);
  leveldb_options_destroy(c_options);
  EXPECT_EQ(error, nullptr) << error;
  check_empty("empty");

  name_ = directory_ / "foreign";
  ASSERT_TRUE(Env::Default()->CreateDir(name_).ok());
  ASSERT_TRUE(WriteStringToFile(Env::Default(), "mine", name_ + "/notes.txt").ok());
  ASSERT_TRUE(WriteStringToFile(Env::Default(), "", name_ + "/LOCK").ok());
  ASSERT_TRUE(Env::Default()->CreateDir(name_ + "/photos").ok());
  EXPECT_TRUE(RepairDB(name_, options_).ok());
  check_empty("foreign");
  std::string notes;
  EXPECT_TRUE(ReadFileToString(Env::Default(), name_ + "/notes.txt", &notes).ok());
  EXPECT_EQ(notes, "mine");
  EXPECT_TRUE(Has("photos"));
  EXPECT_FALSE(Has("lost"));
}

TEST_F(LevelDbInterface, ARepairThatFailsLeavesNothing) {
  EXPECT_TRUE(RepairDB(name_ + "/of/none", options_).IsNotFound()) << "LevelDB does not make parents either";
  EXPECT_FALSE(Env::Default()->FileExists(name_));
  ASSERT_TRUE(WriteStringToFile(Env::Default(), "mine", name_).ok());
  EXPECT_FALSE(RepairDB(name_, options_).ok());
  std::string content;
  EXPECT_TRUE(ReadFileToString(Env::Default(), name_, &content).ok());
  EXPECT_EQ(content, "mine");
  ASSERT_TRUE(Env::Default()->RemoveFile(name_).ok());

  ASSERT_TRUE(Env::Default()->CreateDir(name_).ok());
  FileLock* lock = nullptr;
  ASSERT_TRUE(Env::Default()->LockFile(name_ + "/LOCK", &lock).ok());
  const Status busy = RepairDB(name_, options_);
  EXPECT_TRUE(busy.IsIOError()) << busy.ToString();
  EXPECT_EQ(Children(name_), std::vector<std::string>{"LOCK"}) << "it is the other one's";
  ASSERT_TRUE(Env::Default()->UnlockFile(lock).ok());
}

// A database of 5,000 keys, once or twice, each time in a sorted run of its own. Damage is four bytes in the
// middle of a table or a blob file.
class DamagedLevelDbInterface : public LevelDbInterface {
 protected:
  static constexpr int kKeys = 5000;

  static std::string KeyOf(int i) {
    char key[16];
    std::snprintf(key, sizeof key, "key%06d", i);
    return key;
  }
  std::string ValueOf(int i, const char* round) const {
    return round + std::to_string(i) + std::string(value_bytes_, 'v');
  }

  // A sorted run of "old" values; with `has_newer` also a run of "new" values of every key.
  void Fill(bool has_newer) {
    options_.compression = kNoCompression;
    ASSERT_TRUE(Open().ok());
    for (const char* round : {"old", "new"}) {
      if (round[0] == 'n' && !has_newer) break;
      for (int i = 0; i < kKeys; ++i) ASSERT_TRUE(db_->Put({}, KeyOf(i), ValueOf(i, round)).ok());
      ASSERT_TRUE(db_->Write({}, nullptr).ok());  // flushes to a table
      for (const std::string& name : Children(name_)) {
        if (name.ends_with(".tbl")) newest_table_ = name;
        if (name.ends_with(".val")) newest_value_file_ = name;
      }
    }
  }
  void Damage(const std::string& table, uint64_t offset) {
    db_.reset();
    const std::string path = name_ + "/" + table;
    const int fd = ::open(path.c_str(), O_RDWR);
    ASSERT_GE(fd, 0) << path;
    ASSERT_EQ(::pwrite(fd, "oops", 4, static_cast<off_t>(offset)), 4);
    ::close(fd);
    ASSERT_TRUE(Open().ok());
  }

  struct Walked {
    std::vector<int> shown;  // numbers of keys, in order
    int of_old = 0;
    int before_error = -1;  // the number of keys shown when status() first was an error
    Status status;
  };
  Walked Walk(bool is_forward) {
    Walked walked;
    const std::unique_ptr<Iterator> it(db_->NewIterator({}));
    for (is_forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid(); is_forward ? it->Next() : it->Prev()) {
      if (!it->status().ok() && walked.before_error < 0) walked.before_error = static_cast<int>(walked.shown.size());
      const int number = std::atoi(it->key().ToString().c_str() + 3);
      EXPECT_EQ(it->key().ToString(), KeyOf(number));
      const bool is_old = it->value().starts_with("old");
      EXPECT_EQ(it->value().ToString(), ValueOf(number, is_old ? "old" : "new"));
      walked.of_old += is_old;
      walked.shown.push_back(number);
    }
    walked.status = it->status();
    if (!is_forward) std::reverse(walked.shown.begin(), walked.shown.end());
    EXPECT_TRUE(std::is_sorted(walked.shown.begin(), walked.shown.end()));
    return walked;
  }

  std::string newest_table_;
  std::string newest_value_file_;
  size_t value_bytes_ = 100;
};

TEST_F(DamagedLevelDbInterface, IteratorsPassOverABlockThatCannotBeReadAndSaySo) {
  Fill(false);
  Damage(newest_table_, 200'000);
  std::vector<int> shown;
  for (const bool is_forward : {true, false}) {
    const Walked walked = Walk(is_forward);
    EXPECT_TRUE(walked.status.IsCorruption()) << walked.status.ToString();
    EXPECT_THAT(walked.status.ToString(), HasSubstr(newest_table_));
    EXPECT_GT(walked.shown.size(), 4800U);
    EXPECT_LT(walked.shown.size(), 5000U);
    EXPECT_EQ(walked.shown.front(), 0);
    EXPECT_EQ(walked.shown.back(), kKeys - 1);
    EXPECT_GT(walked.before_error, 0) << "before the block there is nothing to say";
    EXPECT_TRUE(is_forward || walked.shown == shown) << "both ways the same";
    shown = walked.shown;
  }
  // A seek into the hole continues after it; a Get of a missing key returns an error.
  const auto hole = std::adjacent_find(shown.begin(), shown.end(), [](int a, int b) { return b != a + 1; });
  ASSERT_NE(hole, shown.end());
  const std::unique_ptr<Iterator> it(db_->NewIterator({}));
  it->Seek(KeyOf(hole[0] + 2));
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key().ToString(), KeyOf(hole[1]));
  EXPECT_TRUE(it->status().IsCorruption());
  it->Prev();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key().ToString(), KeyOf(hole[0]));
  it->Next();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key().ToString(), KeyOf(hole[1]));
  it->SeekToFirst();
  EXPECT_TRUE(it->status().IsCorruption()) << "an iterator that has passed over something says so until its end";
  EXPECT_THAT(Get(KeyOf(hole[0] + 1)), StartsWith("Corruption: "));
}

TEST_F(DamagedLevelDbInterface, AnOlderVersionInThePlaceOfOneThatCannotBeReadIsNeverSilent) {
  Fill(true);
  Damage(newest_table_, 200'000);
  for (const bool is_forward : {true, false}) {
    const Walked walked = Walk(is_forward);
    EXPECT_EQ(walked.shown.size(), static_cast<size_t>(kKeys));
    EXPECT_GT(walked.of_old, 0);
    EXPECT_LT(walked.of_old, 200);
    EXPECT_TRUE(walked.status.IsCorruption()) << walked.status.ToString();
  }
}

TEST_F(DamagedLevelDbInterface, AValueThatCannotBeReadIsPassedOver) {
  value_bytes_ = 2000;
  Fill(false);
  ASSERT_FALSE(newest_value_file_.empty());
  Damage(newest_value_file_, 100'000);
  for (const bool is_forward : {true, false}) {
    const Walked walked = Walk(is_forward);
    EXPECT_EQ(walked.shown.size(), static_cast<size_t>(kKeys) - 1);
    EXPECT_GT(walked.before_error, 0);
    EXPECT_TRUE(walked.status.IsCorruption()) << walked.status.ToString();
  }
}

TEST_F(DamagedLevelDbInterface, ATableThatCannotBeOpenedIsPassedOver) {
  Fill(false);
  uint64_t bytes = 0;
  ASSERT_TRUE(Env::Default()->GetFileSize(name_ + "/" + newest_table_, &bytes).ok());
  ASSERT_TRUE(db_->Put({}, "a", "in memory").ok());
  Damage(newest_table_, bytes - 10);
  for (const bool is_forward : {true, false}) {
    const std::unique_ptr<Iterator> it(db_->NewIterator({}));
    is_forward ? it->SeekToFirst() : it->SeekToLast();
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(it->key().ToString(), "a");
    EXPECT_TRUE(it->status().IsCorruption()) << it->status().ToString();
    is_forward ? it->Next() : it->Prev();
    EXPECT_FALSE(it->Valid());
    EXPECT_TRUE(it->status().IsCorruption()) << it->status().ToString();
  }
}

TEST_F(LevelDbInterface, IteratorsOfATablePassOverABlockThatCannotBeRead) {
  const std::string path = directory_ / "table";
  options_.compression = kNoCompression;
  WritableFile* made = nullptr;
  ASSERT_TRUE(Env::Default()->NewWritableFile(path, &made).ok());
  const std::unique_ptr<WritableFile> sink(made);
  TableBuilder builder(options_, sink.get());
  for (int i = 1000; i < 2000; ++i) builder.Add("key" + std::to_string(i), std::string(100, 'v'));
  ASSERT_TRUE(builder.Finish().ok());
  ASSERT_TRUE(sink->Close().ok());
  const int fd = ::open(path.c_str(), O_RDWR);
  ASSERT_EQ(::pwrite(fd, "oops", 4, 50'000), 4);
  ::close(fd);
  RandomAccessFile* opened = nullptr;
  ASSERT_TRUE(Env::Default()->NewRandomAccessFile(path, &opened).ok());
  const std::unique_ptr<RandomAccessFile> source(opened);
  Table* table = nullptr;
  ASSERT_TRUE(Table::Open(options_, source.get(), builder.FileSize(), &table).ok());
  const std::unique_ptr<Table> owner(table);
  ReadOptions verified;
  verified.verify_checksums = true;
  for (const bool is_forward : {true, false}) {
    const std::unique_ptr<Iterator> it(table->NewIterator(verified));
    int shown = 0;
    std::string last;
    for (is_forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid();
         is_forward ? it->Next() : it->Prev(), ++shown) {
      last = it->key().ToString();
    }
    EXPECT_GT(shown, 900);
    EXPECT_LT(shown, 1000);
    EXPECT_EQ(last, is_forward ? "key1999" : "key1000");
    EXPECT_TRUE(it->status().IsCorruption()) << it->status().ToString();
  }
}

TEST_F(LevelDbInterface, RepairSavesWhatIsWhole) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(db_->Put({}, "a", "1").ok());
  db_->CompactRange(nullptr, nullptr);
  ASSERT_TRUE(db_->Put({}, "b", "2").ok());
  db_.reset();
  ASSERT_TRUE(Env::Default()->RemoveFile(name_ + "/CURRENT").ok());
  options_.create_if_missing = false;
  EXPECT_FALSE(Open().ok());
  const Status repaired = RepairDB(name_, options_);
  ASSERT_TRUE(repaired.ok()) << repaired.ToString();
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get("b"), "2");
  db_.reset();
  for (const std::string& each : Children(name_ + "/lost")) (void)Env::Default()->RemoveFile(name_ + "/lost/" + each);
  (void)Env::Default()->RemoveDir(name_ + "/lost");
}

TEST_F(LevelDbInterface, NullsOfCProgramsAreErrorsWhereThereIsRoomForOne) {
  char* error = nullptr;
  const auto is_refused = [&] {
    const bool is = error != nullptr && std::string(error).starts_with("Invalid argument: ");
    leveldb_free(error);
    error = nullptr;
    return is;
  };
  EXPECT_EQ(leveldb_open(nullptr, "x", &error), nullptr);
  EXPECT_TRUE(is_refused());
  leveldb_options_t* const options = leveldb_options_create();
  EXPECT_EQ(leveldb_open(options, nullptr, &error), nullptr);
  EXPECT_TRUE(is_refused());
  leveldb_options_set_env(options, nullptr);
  EXPECT_EQ(leveldb_open(options, name_.c_str(), &error), nullptr);
  EXPECT_TRUE(is_refused());
  leveldb_options_set_cache(options, nullptr);
  leveldb_options_destroy(options);

  ASSERT_TRUE(Open().ok());
  leveldb_put(nullptr, nullptr, "a", 1, "b", 1, &error);
  EXPECT_TRUE(is_refused());
  size_t size = 0;
  EXPECT_EQ(leveldb_get(nullptr, nullptr, "a", 1, &size, &error), nullptr);
  EXPECT_TRUE(is_refused());
  leveldb_write(nullptr, nullptr, nullptr, &error);
  EXPECT_TRUE(is_refused());
  leveldb_destroy_db(nullptr, nullptr, &error);
  EXPECT_TRUE(is_refused());
  leveldb_repair_db(nullptr, nullptr, &error);
  EXPECT_TRUE(is_refused());
  leveldb_iter_get_error(nullptr, &error);
  EXPECT_TRUE(is_refused());
  leveldb_close(nullptr);
  leveldb_release_snapshot(nullptr, nullptr);
  leveldb_iter_destroy(nullptr);
  EXPECT_EQ(leveldb_property_value(nullptr, "leveldb.stats"), nullptr);
  EXPECT_EQ(leveldb_create_iterator(nullptr, nullptr), nullptr);
  EXPECT_EQ(leveldb_env_get_test_directory(nullptr), nullptr);
}

TEST_F(LevelDbInterface, NullsOfCProgramsWithADatabase) {
  leveldb_options_t* const options = leveldb_options_create();
  leveldb_options_set_create_if_missing(options, 1);
  char* error = nullptr;
  leveldb_t* const db = leveldb_open(options, name_.c_str(), &error);
  ASSERT_EQ(error, nullptr);
  leveldb_put(db, nullptr, nullptr, 3, "b", 1, &error);
  EXPECT_THAT(error, StartsWith("Invalid argument: "));
  leveldb_put(db, nullptr, "a", 1, nullptr, 1, &error);
  EXPECT_THAT(error, StartsWith("Invalid argument: "));
  leveldb_delete(db, nullptr, nullptr, 1, &error);
  EXPECT_THAT(error, StartsWith("Invalid argument: "));
  size_t size = 7;
  EXPECT_EQ(leveldb_get(db, nullptr, nullptr, 1, &size, &error), nullptr);
  EXPECT_THAT(error, StartsWith("Invalid argument: "));
  EXPECT_EQ(size, 0U);
  leveldb_free(error);
  error = nullptr;
  leveldb_put(db, nullptr, nullptr, 0, nullptr, 0, &error);
  EXPECT_EQ(error, nullptr) << "an empty key may be NULL";
  leveldb_put(db, nullptr, nullptr, 1, "b", 1, nullptr);
  leveldb_close(db);
  leveldb_options_destroy(options);
}

TEST_F(LevelDbInterface, FilesOfTheDefaultEnvSyncTheirDirectoryForAManifest) {
  ASSERT_TRUE(Env::Default()->CreateDir(name_).ok());
  for (const char* file : {"/MANIFEST-000001", "/other"}) {
    WritableFile* opened = nullptr;
    ASSERT_TRUE(Env::Default()->NewWritableFile(name_ + file, &opened).ok());
    const std::unique_ptr<WritableFile> out(opened);
    EXPECT_TRUE(out->Append("x").ok());
    EXPECT_TRUE(out->Sync().ok());
    EXPECT_TRUE(out->Close().ok());
    EXPECT_TRUE(out->Close().ok()) << "again";
    EXPECT_FALSE(out->Append("x").ok());
    EXPECT_FALSE(out->Sync().ok());
  }
}

}  // namespace
}  // namespace leveldb
