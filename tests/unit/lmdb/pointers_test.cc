// Goal: bytes that the LMDB interface returns stay unchanged until their transaction ends, and are right. They lie in
// place in mapped files and in memtables, even if a flush or a compaction replaces these meanwhile; all others are
// copies. tests/unit/lmdb/memory_test.cc counts the copies. Method: real directories; the test flushes and compacts the
// database under the interface.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/lmdb/environment.h"

namespace mergedb::pointers_test {
namespace {

constexpr int kItems = 3000;
constexpr size_t kLargeBytes = 5000;  // stored in a blob file

std::string Key(int i) { return "key" + std::to_string(100'000 + i); }
std::string Value(int i, int version) {
  std::string value = "version " + std::to_string(version) + " of " + std::to_string(i) + ' ';
  value.resize(i % 50 == 0 ? kLargeBytes : value.size() + 60, static_cast<char>('a' + version % 26));
  return value;
}
class LmdbPointers : public LmdbEnvironment {
 protected:
  void PutAll(const char* name, int version) {
    MDB_txn* txn = Begin();
    const MDB_dbi dbi = OpenDbi(txn, name);
    for (int i = 0; i < kItems; ++i) EXPECT_EQ(Put(txn, dbi, Key(i), Value(i, version)), 0);
    EXPECT_EQ(mdb_txn_commit(txn), 0);
  }
  void DeleteSome(const char* name) {
    MDB_txn* txn = Begin();
    const MDB_dbi dbi = OpenDbi(txn, name);
    for (int i = 0; i < kItems; i += 3) {
      const std::string key = Key(i);
      MDB_val k = Val(key);
      EXPECT_EQ(mdb_del(txn, dbi, &k, nullptr), 0);
    }
    EXPECT_EQ(mdb_txn_commit(txn), 0);
  }
  void Drop(const char* name) {
    MDB_txn* txn = Begin();
    EXPECT_EQ(mdb_drop(txn, OpenDbi(txn, name), 1), 0);
    EXPECT_EQ(mdb_txn_commit(txn), 0);
  }
  void Flush() { EXPECT_TRUE(env_->db->Flush().ok()); }
  void Merge() {
    Flush();
    EXPECT_TRUE(env_->db->CompactRange(nullptr, nullptr).ok());
  }
  uint64_t Number(const std::string& name) {
    std::string text;
    EXPECT_TRUE(env_->db->GetProperty("mergedb." + name, &text)) << name;
    return std::strtoull(text.c_str(), nullptr, 10);
  }
  size_t FilesOnDisk(const char* extension) const {
    const auto files = std::filesystem::directory_iterator(home_);
    return static_cast<size_t>(std::count_if(
        begin(files), end(files), [extension](const auto& file) { return file.path().extension() == extension; }));
  }
  size_t TablesOnDisk() const { return FilesOnDisk(".tbl"); }
  size_t BlobFilesOnDisk() const { return FilesOnDisk(".val"); }

  void ExpectFilesToGo() {
    const auto has_more = [&] { return TablesOnDisk() > Number("tables") || BlobFilesOnDisk() > Number("blob_files"); };
    for (int tries = 0; tries < 100 && has_more(); ++tries) usleep(100'000);
    EXPECT_EQ(TablesOnDisk(), Number("tables")) << "what is mapped is let go of";
    EXPECT_EQ(BlobFilesOnDisk(), Number("blob_files"));
  }

  // An item that a transaction returned, with its expected content.
  struct Given {
    MDB_val key, data;
    std::string expected_key, expected_value;
  };
  static std::vector<Given> Walk(MDB_txn* txn, MDB_dbi dbi, bool backwards) {
    std::vector<Given> given;
    MDB_cursor* cursor = nullptr;
    EXPECT_EQ(mdb_cursor_open(txn, dbi, &cursor), 0);
    MDB_val k, v;
    while (mdb_cursor_get(cursor, &k, &v, backwards ? MDB_PREV : MDB_NEXT) == 0) {
      given.push_back({k, v, Text(k), Text(v)});
    }
    mdb_cursor_close(cursor);
    return given;
  }
  static void Get(MDB_txn* txn, MDB_dbi dbi, std::vector<Given>* given) {
    for (int i = 0; i < kItems; i += 7) {
      const std::string key = Key(i);
      MDB_val k = Val(key), v;
      ASSERT_EQ(mdb_get(txn, dbi, &k, &v), 0) << key;
      given->push_back({{0, nullptr}, v, {}, Text(v)});
    }
  }
  static int CountChanged(const std::vector<Given>& given) {
    return static_cast<int>(std::ranges::count_if(given, [](const Given& each) {
      const auto differs = [](const MDB_val& val, const std::string& expected) {
        return std::string_view(static_cast<char*>(val.mv_data), val.mv_size) != expected;
      };
      return (each.key.mv_data != nullptr && differs(each.key, each.expected_key)) ||
             differs(each.data, each.expected_value);
    }));
  }
  static size_t CountInPlace(MDB_txn* txn, const std::vector<Given>& given) {
    return static_cast<size_t>(std::ranges::count_if(given, [&](const Given& each) {
      return txn->transaction().Lasts({static_cast<char*>(each.data.mv_data), each.data.mv_size});
    }));
  }
};

TEST_F(LmdbPointers, AreIntoMappedFilesAndMemtables) {
  for (const bool is_in_memory : {false, true}) {
    PutAll(nullptr, is_in_memory);
    if (!is_in_memory) Merge();
    MDB_txn* txn = Begin(MDB_RDONLY);
    for (const bool backwards : {false, true}) {
      const auto given = Walk(txn, OpenDbi(txn, nullptr), backwards);
      ASSERT_EQ(given.size(), size_t{kItems});
      EXPECT_EQ(CountInPlace(txn, given), size_t{kItems}) << is_in_memory << backwards;
      for (const Given& each : given)
        EXPECT_TRUE(txn->transaction().Lasts({static_cast<char*>(each.key.mv_data), each.key.mv_size}));
    }
    std::vector<Given> given;
    Get(txn, lmdb::kMainDbi, &given);
    EXPECT_EQ(CountInPlace(txn, given), given.size());
    EXPECT_EQ(txn->root->arena.memory_bytes(), 0u);
    mdb_txn_abort(txn);
  }
}

TEST_F(LmdbPointers, StayWhileTheirTablesDieAndOthersAreWrittenOverFiles) {
  PutAll(nullptr, 0);
  PutAll("named", 0);
  Merge();
  PutAll(nullptr, 1);  // half of the items are in memory
  MDB_txn* reader = Begin(MDB_RDONLY);
  const MDB_dbi main = OpenDbi(reader, nullptr);
  MDB_dbi named = 0;
  ASSERT_EQ(mdb_dbi_open(reader, "named", 0, &named), 0);
  auto given = Walk(reader, main, false);
  for (const bool is_backwards : {false, true}) {
    const auto more = Walk(reader, named, is_backwards);
    given.insert(given.end(), more.begin(), more.end());
  }
  Get(reader, named, &given);
  Get(reader, main, &given);
  EXPECT_GT(CountInPlace(reader, given), size_t{kItems} / 2);

  for (int version = 2; version < 14; ++version) {
    PutAll(nullptr, version);
    if (version == 6) {
      Drop("named");
    } else {
      PutAll("other", version);
    }
    if (version % 3 == 0) DeleteSome(nullptr);
    version % 2 == 0 ? Merge() : Flush();
    ASSERT_EQ(CountChanged(given), 0) << "version " << version;
  }
  RecordProperty("files_recycled",
                 static_cast<int>(Number("files_recycled")));  // usually more than 0; it depends on the threads
  EXPECT_GT(TablesOnDisk(), Number("tables")) << "what is mapped keeps its name";
  const auto again = Walk(reader, main, true);
  EXPECT_EQ(again.size(), size_t{kItems} + 1) << "with the name of the named one";
  EXPECT_EQ(CountChanged(given), 0);
  mdb_txn_abort(reader);
  EXPECT_EQ(CountChanged(given), 0) << "also behind the end, until this thread begins another one";
  mdb_txn_abort(Begin(MDB_RDONLY));
  ExpectFilesToGo();
}

// LMDB keeps returned bytes until it reuses their pages, after two commits. Programs read values after the
// end of the transaction.
TEST_F(LmdbPointers, StayBehindTheEndUntilTheirThreadBeginsAgainOrTwoCommitsHavePassed) {
  enum How { kAbort, kCommit, kReset, kWriterAborts, kWriterCommits };
  for (const How how : {kAbort, kCommit, kReset, kWriterAborts, kWriterCommits}) {
    PutAll(nullptr, 1);
    Merge();
    PutAll(nullptr, 2);
    MDB_txn* txn = nullptr;
    std::vector<Given> given;
    const auto read = [&] {
      txn = Begin(how >= kWriterAborts ? 0 : MDB_RDONLY);
      const MDB_dbi main = OpenDbi(txn, nullptr);
      given = Walk(txn, main, false);
      Get(txn, main, &given);
      how == kReset                             ? mdb_txn_reset(txn)
      : how == kCommit || how == kWriterCommits ? (void)mdb_txn_commit(txn)
                                                : mdb_txn_abort(txn);
    };
    std::thread(read).join();
    ASSERT_EQ(given.size(), size_t{kItems} + (kItems + 6) / 7);
    EXPECT_EQ(CountChanged(given), 0) << how;
    for (int version = 3; version < 5; ++version) {
      PutAll(nullptr, version);
      Merge();
      EXPECT_EQ(CountChanged(given), 0) << how << " version " << version;
    }
    PutAll(nullptr, 5);
    ExpectFilesToGo();  // and their mappings with them
    if (how == kReset) mdb_txn_abort(txn);
  }
}

TEST_F(LmdbPointers, OfManyThreadsThatReadAndEndAreNotKeptForEver) {
  PutAll(nullptr, 1);
  for (int i = 0; i < 400; ++i) {
    std::thread([&] {
      MDB_txn* txn = Begin(MDB_RDONLY);
      const std::string key = Key(i);
      MDB_val k = Val(key), v;
      EXPECT_EQ(mdb_get(txn, lmdb::kMainDbi, &k, &v), 0);
      mdb_txn_abort(txn);
    }).join();
  }
  base::Lock lock(env_->mutex);
  EXPECT_LE(env_->retained.size(), env_->readers_max);
}

TEST_F(LmdbPointers, OfAWriterStayUntilItWrites) {
  PutAll(nullptr, 1);
  Merge();
  MDB_txn* writer = Begin();
  const MDB_dbi main = OpenDbi(writer, nullptr);
  auto given = Walk(writer, main, false);
  Get(writer, main, &given);
  EXPECT_EQ(CountChanged(given), 0);
  const std::string key = Key(7);
  MDB_val k = Val(key), v = Val(key);
  ASSERT_EQ(mdb_put(writer, main, &k, &v, 0), 0);
  MDB_val own;
  ASSERT_EQ(mdb_get(writer, main, &k, &own), 0);
  EXPECT_FALSE(writer->transaction().Lasts({static_cast<char*>(own.mv_data), own.mv_size})) << "its own writes move";
  mdb_txn_abort(writer);
}

TEST_F(LmdbPointers, AReaderThatIsRenewedSeesAndKeepsWhatIsThereThen) {
  PutAll(nullptr, 1);
  Merge();
  MDB_txn* reader = Begin(MDB_RDONLY);
  const MDB_dbi main = OpenDbi(reader, nullptr);
  for (int version = 2; version < 5; ++version) {
    (void)Walk(reader, main, false);
    mdb_txn_reset(reader);
    EXPECT_EQ(Number("transactions_open"), 0u);
    PutAll(nullptr, version);
    Merge();
    ASSERT_EQ(mdb_txn_renew(reader), 0);
    EXPECT_EQ(Number("transactions_open"), 1u);
    const auto given = Walk(reader, main, true);
    ASSERT_EQ(given.size(), size_t{kItems});
    EXPECT_EQ(given.back().expected_value, Value(0, version));
  }
  mdb_txn_reset(reader);
  mdb_txn_abort(reader);
}

// A writer in another environment does not know what is mapped here, and finds that the files are held.
TEST_F(LmdbPointers, OfAReadOnlyEnvironmentStayWhileTheWriterReplacesItsFiles) {
  PutAll(nullptr, 1);
  Merge();
  MDB_env* beside = nullptr;
  ASSERT_EQ(Open(home_, MDB_RDONLY, &beside), 0);
  MDB_txn* reader = Begin(beside, MDB_RDONLY);
  MDB_dbi main = 0;
  ASSERT_EQ(mdb_dbi_open(reader, nullptr, 0, &main), 0);
  auto given = Walk(reader, main, false);
  const auto reverse = Walk(reader, main, true);
  given.insert(given.end(), reverse.begin(), reverse.end());
  ASSERT_EQ(given.size(), 2 * size_t{kItems});
  Get(reader, main, &given);
  EXPECT_EQ(CountInPlace(reader, given), given.size());
  EXPECT_EQ(reader->root->arena.memory_bytes(), 0u);

  for (int version = 2; version < 14 || (Number("files_recycled") < 8 && version < 200); ++version) {
    PutAll(nullptr, version);
    version % 2 == 0 ? Merge() : Flush();
    ASSERT_EQ(CountChanged(given), 0) << "version " << version;
  }
  EXPECT_GE(Number("files_recycled"), 8u) << "files that no reader holds";
  EXPECT_EQ(Walk(reader, main, true).size(), size_t{kItems});
  mdb_txn_abort(reader);
  EXPECT_EQ(CountChanged(given), 0) << "also behind the end";
  mdb_env_close(beside);
}

TEST_F(LmdbPointers, OfAReadOnlyEnvironmentAreCopiesOfFilesThatItCannotHold) {
  PutAll(nullptr, 1);
  Merge();
  mdb_env_close(env_);
  env_ = nullptr;
  const auto locks = RefuseHolds();
  ASSERT_FALSE(locks.empty());
  MDB_env* beside = nullptr;
  ASSERT_EQ(Open(home_, MDB_RDONLY, &beside), 0);
  MDB_txn* reader = Begin(beside, MDB_RDONLY);
  MDB_dbi main = 0;
  ASSERT_EQ(mdb_dbi_open(reader, nullptr, 0, &main), 0);
  auto given = Walk(reader, main, false);
  ASSERT_EQ(given.size(), size_t{kItems});
  for (int i = 0; i < kItems; ++i) EXPECT_EQ(given[static_cast<size_t>(i)].expected_value, Value(i, 1));
  EXPECT_EQ(Walk(reader, main, true).size(), size_t{kItems});
  Get(reader, main, &given);
  EXPECT_EQ(CountInPlace(reader, given), 0u);
  std::string text;
  ASSERT_TRUE(beside->db->GetProperty("mergedb.recovery", &text));
  EXPECT_EQ(text, "");
  EXPECT_TRUE(beside->db->CheckIntegrity().ok());
  ASSERT_EQ(Open(home_, 0, &env_), 0);
  PutAll(nullptr, 2);
  Merge();
  EXPECT_EQ(CountChanged(given), 0);
  mdb_txn_abort(reader);
  mdb_env_close(beside);
}

// One bit of each block of each table is flipped in turn. An answer is right or MDB_CORRUPTED; the items of
// the damaged block are MDB_CORRUPTED.
TEST_F(LmdbPointers, ADamagedBlockIsMdbCorruptedAndNeverALie) {
  PutAll(nullptr, 1);
  Merge();
  mdb_env_close(env_);
  env_ = nullptr;
  std::vector<std::string> tables;
  for (const auto& file : std::filesystem::directory_iterator(home_)) {
    if (file.path().extension() == ".tbl") tables.push_back(file.path());
  }
  ASSERT_FALSE(tables.empty());
  int corrupted = 0;
  for (const std::string& table : tables) {
    const auto bytes = static_cast<std::streamoff>(std::filesystem::file_size(table));
    for (std::streamoff at = 11; at < bytes / 2; at += bytes / 12) {
      const auto flip = [&] {
        std::fstream file(table, std::ios::in | std::ios::out | std::ios::binary);
        char byte = static_cast<char>(file.seekg(at).get());
        file.seekp(at).put(static_cast<char>(byte ^ 4));
      };
      flip();
      ASSERT_EQ(Open(home_, 0, &env_), 0);
      MDB_txn* reader = Begin(MDB_RDONLY);
      const MDB_dbi main = lmdb::kMainDbi;
      int errors = 0;
      for (int i = 0; i < kItems; ++i) {
        const std::string key = Key(i);
        MDB_val k = Val(key), v;
        const int code = mdb_get(reader, main, &k, &v);
        ASSERT_TRUE(code == 0 || code == MDB_CORRUPTED) << mdb_strerror(code);
        ASSERT_TRUE(code != 0 || Text(v) == Value(i, 1)) << key;
        errors += code != 0;
      }
      EXPECT_LT(errors, kItems / 2) << "only what stands in the block";
      EXPECT_LT(Walk(reader, main, false).size(), size_t{kItems} + (errors == 0));
      corrupted += errors > 0;
      mdb_txn_abort(reader);
      mdb_env_close(env_);
      env_ = nullptr;
      flip();
    }
  }
  EXPECT_GT(corrupted, 3);
  ASSERT_EQ(Open(home_, 0, &env_), 0);
}

// Another program cuts all files under an open environment. An answer is right or an error, and the process lives.
TEST_F(LmdbPointers, AreNotGivenForPagesThatCannotBeRead) {
  PutAll(nullptr, 1);
  Merge();
  MDB_txn* reader = Begin(MDB_RDONLY);
  for (const auto& file : std::filesystem::directory_iterator(home_)) {
    if (file.path().extension() == ".tbl" || file.path().extension() == ".val")
      std::filesystem::resize_file(file.path(), 0);
  }
  int errors = 0;
  for (int i = 0; i < kItems; i += 11) {
    const std::string key = Key(i);
    MDB_val k = Val(key), v;
    const int code = mdb_get(reader, lmdb::kMainDbi, &k, &v);
    ASSERT_TRUE(code == 0 || code == EIO || code == MDB_CORRUPTED) << mdb_strerror(code);
    if (code == 0) { EXPECT_EQ(Text(v), Value(i, 1)) << "from a memtable or a cache"; }
    errors += code != 0;
  }
  EXPECT_GT(errors, 0);
  MDB_cursor* cursor = nullptr;
  ASSERT_EQ(mdb_cursor_open(reader, lmdb::kMainDbi, &cursor), 0);
  for (const MDB_cursor_op move : {MDB_FIRST, MDB_LAST}) {
    MDB_val k, v;
    const int code = mdb_cursor_get(cursor, &k, &v, move);
    EXPECT_TRUE(code == EIO || code == MDB_CORRUPTED) << mdb_strerror(code);
  }
  mdb_cursor_close(cursor);
  mdb_txn_abort(reader);
}

}  // namespace
}  // namespace mergedb::pointers_test
