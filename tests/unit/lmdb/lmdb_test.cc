// Goal: the promises of the LMDB interface that the transcripts (tests/compat/lmdb_test.py) do not show:
// opens and copies, limits, counts, readers and threads, stable pointers, and refused calls. Method: real
// directories; the expected answers are those that lmdb.h of 0.9.24 documents.
#include "lmdb.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/random.h"
#include "testing/temp_directory.h"

namespace mergedb::lmdb_test {
namespace {

MDB_val Val(const std::string& bytes) { return {bytes.size(), const_cast<char*>(bytes.data())}; }
MDB_val Val(const char* literal) { return {std::char_traits<char>::length(literal), const_cast<char*>(literal)}; }
std::string Text(const MDB_val& val) { return {static_cast<const char*>(val.mv_data), val.mv_size}; }

class LmdbTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(Path("env"));
    env_ = Open("env");
    ASSERT_NE(env_, nullptr);
  }
  void TearDown() override { mdb_env_close(env_); }
  std::string Path(const std::string& name) const { return home_ + "/" + name; }
  MDB_env* Create(MDB_dbi databases = 4) const {
    MDB_env* env = nullptr;
    EXPECT_EQ(mdb_env_create(&env), 0);
    EXPECT_EQ(mdb_env_set_mapsize(env, size_t{16} << 20), 0);
    EXPECT_EQ(mdb_env_set_maxdbs(env, databases), 0);
    return env;
  }
  MDB_env* Open(const std::string& name, unsigned flags = 0, int expected = 0) const {
    MDB_env* env = Create();
    EXPECT_EQ(mdb_env_open(env, Path(name).c_str(), flags | MDB_NOSYNC, 0640), expected) << name;
    if (expected == 0) return env;
    mdb_env_close(env);
    return nullptr;
  }
  static MDB_txn* Begin(MDB_env* env, unsigned flags = 0, MDB_txn* parent = nullptr) {
    MDB_txn* txn = nullptr;
    EXPECT_EQ(mdb_txn_begin(env, parent, flags, &txn), 0);
    return txn;
  }
  static MDB_dbi Main(MDB_txn* txn) {
    MDB_dbi dbi = 0;
    EXPECT_EQ(mdb_dbi_open(txn, nullptr, 0, &dbi), 0);
    return dbi;
  }
  static int Put(MDB_txn* txn, MDB_dbi dbi, const std::string& key, const std::string& value, unsigned flags = 0) {
    MDB_val k = Val(key), v = Val(value);
    return mdb_put(txn, dbi, &k, &v, flags);
  }
  static void PutAll(MDB_env* env, const std::string& key, const std::string& value) {
    MDB_txn* txn = Begin(env);
    EXPECT_EQ(Put(txn, Main(txn), key, value), 0);
    EXPECT_EQ(mdb_txn_commit(txn), 0);
  }
  static std::string Get(MDB_env* env, const std::string& key) {
    MDB_txn* txn = Begin(env, MDB_RDONLY);
    MDB_val k = Val(key), v;
    const int code = mdb_get(txn, Main(txn), &k, &v);
    const std::string text = code == 0 ? Text(v) : mdb_strerror(code);
    mdb_txn_abort(txn);
    return text;
  }
  // Copies the environment into the file "stream".
  void Stream() const {
    std::FILE* const file = std::fopen(Path("stream").c_str(), "wb");
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(mdb_env_copyfd(env_, fileno(file)), 0);
    std::fclose(file);
  }
  static size_t Entries(MDB_txn* txn, MDB_dbi dbi) {
    MDB_stat stat{};
    EXPECT_EQ(mdb_stat(txn, dbi, &stat), 0);
    return stat.ms_entries;
  }

  const testing::TempDirectory directory_;
  const std::string home_ = directory_.path();
  MDB_env* env_ = nullptr;
};

// ---- the directory

TEST_F(LmdbTest, MarksItsDirectorySoThatLmdbKeepsAway) {
  struct stat found {};
  ASSERT_EQ(stat(Path("env/data.mdb").c_str(), &found), 0);
  EXPECT_EQ(found.st_size, 8192);
  EXPECT_TRUE(std::filesystem::exists(Path("env/lock.mdb")));
}

TEST_F(LmdbTest, RefusesLmdbsOwnFilesAndWhatIsNotThere) {
  std::filesystem::create_directory(Path("theirs"));
  std::ofstream(Path("theirs/data.mdb")) << std::string(8192, 'x');
  std::ofstream(Path("junk")) << "junk";
  Open("theirs", 0, MDB_INVALID);
  Open("junk", MDB_NOSUBDIR, MDB_INVALID);
  Open("nothing", 0, ENOENT);
  Open("nothing", MDB_NOSUBDIR | MDB_RDONLY, ENOENT);
  EXPECT_FALSE(std::filesystem::exists(Path("nothing")));
  Open("junk", 0, ENOTDIR);
  EXPECT_EQ(std::filesystem::file_size(Path("junk")), 4u);
}

// Postfix locks the descriptor, reads its time and syncs by it. Another program may write to it by mistake.
TEST_F(LmdbTest, ItsDescriptorTakesLocksTellsOfCommitsAndHoldsNothingThatCouldBeDamaged) {
  PutAll(env_, "key", "value");
  mdb_filehandle_t fd = -1;
  ASSERT_EQ(mdb_env_get_fd(env_, &fd), 0);
  struct flock lock {};
  lock.l_type = F_WRLCK;
  EXPECT_EQ(fcntl(fd, F_SETLK, &lock), 0) << std::strerror(errno);
  timespec old[2] = {{.tv_sec = 1'000'000'000, .tv_nsec = 0}, {.tv_sec = 1'000'000'000, .tv_nsec = 0}};
  ASSERT_EQ(futimens(fd, old), 0);
  mdb_env_close(env_);
  env_ = Open("env");
  ASSERT_EQ(mdb_env_get_fd(env_, &fd), 0);
  PutAll(env_, "key", "newer");
  struct stat found {};
  ASSERT_EQ(fstat(fd, &found), 0);
  EXPECT_GT(found.st_mtim.tv_sec, old[1].tv_sec) << "as of the newest commit";

  ASSERT_EQ(pwrite(fd, "no mark", 7, 0), 7);
  ASSERT_EQ(ftruncate(fd, 100), 0);
  mdb_env_close(env_);
  env_ = Open("env");
  ASSERT_NE(env_, nullptr);
  EXPECT_EQ(Get(env_, "key"), "newer");
  EXPECT_EQ(std::filesystem::file_size(Path("env/data.mdb")), 8192u) << "the mark is there again";
  std::ifstream file(Path("env/data.mdb"));
  std::string line;
  EXPECT_TRUE(std::getline(file, line) && line.starts_with("This directory is a mergedb database")) << line;
}

TEST_F(LmdbTest, ADataFileOfLmdbsBesideItsDatabaseIsRefused) {
  PutAll(env_, "key", "value");
  mdb_env_close(env_);
  env_ = nullptr;
  std::ofstream(Path("env/data.mdb"), std::ios::binary)
      << std::string(16, '\0') << "\xde\xc0\xef\xbe" << std::string(8172, '\0');
  Open("env", 0, MDB_INVALID);
}

TEST_F(LmdbTest, TheDescriptorOfAReadOnlyEnvironmentCannotBeWrittenTo) {
  PutAll(env_, "key", "value");
  MDB_env* const beside = Open("env", MDB_RDONLY);
  mdb_filehandle_t fd = -1;
  ASSERT_EQ(mdb_env_get_fd(beside, &fd), 0);
  EXPECT_EQ(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
  mdb_env_close(beside);
}

TEST_F(LmdbTest, AResetCursorGoesOnWhereItStoodWhateverBecameOfItsKey) {
  for (const char* key : {"a", "b", "c", "d"}) PutAll(env_, key, key);
  MDB_txn* const reader = Begin(env_, MDB_RDONLY);
  MDB_cursor* cursor = nullptr;
  ASSERT_EQ(mdb_cursor_open(reader, Main(reader), &cursor), 0);
  MDB_val k = Val("b"), v;
  ASSERT_EQ(mdb_cursor_get(cursor, &k, &v, MDB_SET), 0);
  mdb_txn_reset(reader);
  EXPECT_EQ(mdb_cursor_get(cursor, &k, &v, MDB_NEXT), MDB_BAD_TXN);
  MDB_txn* const writer = Begin(env_);
  ASSERT_EQ(mdb_del(writer, Main(writer), &k, nullptr), 0);
  ASSERT_EQ(Put(writer, Main(writer), "bb", "new"), 0);
  ASSERT_EQ(mdb_txn_commit(writer), 0);
  ASSERT_EQ(mdb_txn_renew(reader), 0);
  std::string seen;
  while (mdb_cursor_get(cursor, &k, &v, MDB_NEXT) == 0) seen += Text(k) + ' ';
  EXPECT_EQ(seen, "bb c d ");
  mdb_txn_reset(reader);
  mdb_txn_reset(reader);
  ASSERT_EQ(mdb_txn_renew(reader), 0);
  EXPECT_EQ(mdb_cursor_get(cursor, &k, &v, MDB_NEXT), MDB_NOTFOUND);
  ASSERT_EQ(mdb_cursor_get(cursor, &k, &v, MDB_PREV), 0);
  EXPECT_EQ(Text(k), "c");
  mdb_cursor_close(cursor);
  mdb_txn_abort(reader);
}

TEST_F(LmdbTest, ASecondOpenIsBusy) { Open("env", 0, EBUSY); }

TEST_F(LmdbTest, WithoutSubdirectoryItIsADirectoryAtThatPath) {
  MDB_env* const env = Open("file", MDB_NOSUBDIR);
  PutAll(env, "key", "value");
  mdb_env_close(env);
  EXPECT_TRUE(std::filesystem::is_directory(Path("file")));
  MDB_env* const again = Open("file", MDB_NOSUBDIR);
  EXPECT_EQ(Get(again, "key"), "value");
  mdb_env_close(again);
}

TEST_F(LmdbTest, ACopyOpens) {
  PutAll(env_, "key", "value");
  std::filesystem::create_directory(Path("copy"));
  EXPECT_EQ(mdb_env_copy2(env_, Path("copy").c_str(), MDB_CP_COMPACT), 0);
  EXPECT_EQ(mdb_env_copy(env_, Path("copy").c_str()), EEXIST);
  EXPECT_EQ(mdb_env_copy(env_, Path("nothing").c_str()), ENOENT);
  PutAll(env_, "key", "other");
  MDB_env* const copy = Open("copy");
  EXPECT_EQ(Get(copy, "key"), "value");
  mdb_env_close(copy);
}

TEST_F(LmdbTest, AStreamedCopyOpensAsFileAndAsDataFile) {
  MDB_txn* txn = Begin(env_);
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(Put(txn, Main(txn), "key" + std::to_string(i), std::string(100, 'v')), 0);
  ASSERT_EQ(mdb_txn_commit(txn), 0);
  std::filesystem::create_directory(Path("inside"));
  for (const std::string name : {"stream", "inside/data.mdb"}) {
    std::FILE* const file = std::fopen(Path(name).c_str(), "wb");
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(mdb_env_copyfd(env_, fileno(file)), 0);
    std::fclose(file);
  }
  EXPECT_EQ(std::system(("tar tf " + Path("stream") + " > /dev/null").c_str()), 0);
  for (const auto& [name, flags] : {std::pair<std::string, unsigned>{"stream", MDB_NOSUBDIR}, {"inside", 0}}) {
    for (int round = 0; round < 2; ++round) {
      MDB_env* const copy = Open(name, flags);
      ASSERT_NE(copy, nullptr);
      EXPECT_EQ(Get(copy, "key4999"), std::string(100, 'v'));
      mdb_env_close(copy);
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator(Path("env")))
    EXPECT_EQ(entry.path().filename().string().find("copy-"), std::string::npos);
}

// The target path is taken: by a file, or by a directory with an invalid data.mdb.
TEST_F(LmdbTest, AStreamThatCannotBeMovedInsideStaysUntilItCan) {
  PutAll(env_, "key", "value");
  Stream();
  const auto bytes = std::filesystem::file_size(Path("stream"));
  std::ofstream(Path("stream.unpacking")) << "mine";
  Open("stream", MDB_NOSUBDIR, EINVAL);
  EXPECT_EQ(std::filesystem::file_size(Path("stream.unpacking")), 4u);
  std::filesystem::remove(Path("stream.unpacking"));
  std::filesystem::create_directories(Path("stream.unpacking/data.mdb/mine"));
  Open("stream", MDB_NOSUBDIR, EIO);
  EXPECT_TRUE(std::filesystem::exists(Path("stream.unpacking/data.mdb/mine")));
  EXPECT_EQ(std::filesystem::file_size(Path("stream")), bytes);
  std::filesystem::remove_all(Path("stream.unpacking/data.mdb"));
  MDB_env* const copy = Open("stream", MDB_NOSUBDIR);
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(Get(copy, "key"), "value");
  mdb_env_close(copy);
}

TEST_F(LmdbTest, AStreamThatWasCutIsRefusedAndKept) {
  Stream();
  std::filesystem::resize_file(Path("stream"), std::filesystem::file_size(Path("stream")) - 1500);
  Open("stream", MDB_NOSUBDIR, MDB_CORRUPTED);
  Open("stream", MDB_NOSUBDIR, MDB_CORRUPTED);
}

// ---- limits

TEST_F(LmdbTest, DatabasesBeyondMaxdbsAreFull) {
  MDB_txn* txn = Begin(env_);
  MDB_dbi dbi = 0;
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_EQ(mdb_dbi_open(txn, name, MDB_CREATE, &dbi), 0);
  EXPECT_EQ(mdb_dbi_open(txn, "e", MDB_CREATE, &dbi), MDB_DBS_FULL);
  EXPECT_EQ(mdb_dbi_open(txn, "a", 0, &dbi), 0);
  mdb_txn_abort(txn);
  txn = Begin(env_);
  EXPECT_EQ(mdb_dbi_open(txn, "a", 0, &dbi), MDB_NOTFOUND);  // undone, and its handle is closed
  EXPECT_EQ(mdb_dbi_open(txn, "e", MDB_CREATE, &dbi), 0);
  mdb_txn_abort(txn);
}

TEST_F(LmdbTest, RefusesDuplicatesAndComparators) {
  MDB_txn* txn = Begin(env_);
  MDB_dbi dbi = 0;
  for (const unsigned flag : {MDB_DUPSORT, MDB_DUPFIXED, MDB_INTEGERDUP, MDB_REVERSEDUP}) {
    EXPECT_EQ(mdb_dbi_open(txn, "dup", MDB_CREATE | flag, &dbi), MDB_INCOMPATIBLE);
  }
  mdb_txn_abort(txn);
}

// Programs do not read the code of mdb_set_compare, since LMDB's never fails. With the bytewise order in place of
// theirs they would not find their keys.
TEST_F(LmdbTest, AHandleWithARefusedComparatorAnswersNothing) {
  using Setter = int(MDB_txn*, MDB_dbi, MDB_cmp_func*);
  MDB_cmp_func* const compare = [](const MDB_val*, const MDB_val*) { return 0; };
  for (Setter* const set : {&mdb_set_compare, &mdb_set_dupsort}) {
    MDB_txn* txn = Begin(env_);
    MDB_dbi named = 0, other = 0;
    ASSERT_EQ(mdb_dbi_open(txn, "named", MDB_CREATE, &named), 0);
    ASSERT_EQ(mdb_dbi_open(txn, "other", MDB_CREATE, &other), 0);
    ASSERT_EQ(Put(txn, named, "key", "value"), 0);
    ASSERT_EQ(mdb_txn_commit(txn), 0);
    MDB_txn* const reader = Begin(env_, MDB_RDONLY);
    MDB_cursor* before = nullptr;
    ASSERT_EQ(mdb_cursor_open(reader, named, &before), 0);
    MDB_val k = Val("key"), v;
    ASSERT_EQ(mdb_cursor_get(before, &k, &v, MDB_FIRST), 0);

    txn = Begin(env_);
    EXPECT_EQ(set(txn, 77, compare), EINVAL);
    EXPECT_EQ(set(nullptr, named, compare), EINVAL);
    EXPECT_EQ(set(txn, named, compare), MDB_INCOMPATIBLE);
    for (const bool is_later : {false, true}) {
      if (is_later) txn = Begin(env_);
      MDB_cursor* cursor = nullptr;
      MDB_stat stat{};
      unsigned flags = 0;
      k = Val("key");
      v = Val("new");
      EXPECT_EQ(mdb_get(txn, named, &k, &v), MDB_INCOMPATIBLE);
      EXPECT_EQ(mdb_put(txn, named, &k, &v, 0), MDB_INCOMPATIBLE);
      EXPECT_EQ(mdb_del(txn, named, &k, nullptr), MDB_INCOMPATIBLE);
      EXPECT_EQ(mdb_cursor_open(txn, named, &cursor), MDB_INCOMPATIBLE);
      EXPECT_EQ(mdb_stat(txn, named, &stat), MDB_INCOMPATIBLE);
      EXPECT_EQ(mdb_get(reader, named, &k, &v), MDB_INCOMPATIBLE) << "in every transaction";
      EXPECT_EQ(mdb_dbi_flags(txn, named, &flags), 0);
      EXPECT_EQ(Put(txn, other, "key", "value"), 0) << "other handles go on";
      MDB_dbi again = 0;
      EXPECT_EQ(mdb_dbi_open(txn, "named", 0, &again), 0);
      EXPECT_EQ(mdb_get(txn, again, &k, &v), MDB_INCOMPATIBLE) << "the same handle";
      mdb_txn_abort(txn);
    }
    for (const auto op : {MDB_NEXT, MDB_FIRST, MDB_GET_CURRENT, MDB_SET_RANGE})
      EXPECT_EQ(mdb_cursor_get(before, &k, &v, op), MDB_INCOMPATIBLE) << "a cursor from before";
    mdb_cursor_close(before);
    mdb_txn_abort(reader);

    mdb_dbi_close(env_, named);
    txn = Begin(env_);
    ASSERT_EQ(mdb_dbi_open(txn, "named", 0, &named), 0);
    EXPECT_EQ(mdb_get(txn, named, &k, &v), 0) << "closed and opened again";
    EXPECT_EQ(set(txn, named, compare), MDB_INCOMPATIBLE);
    EXPECT_EQ(mdb_drop(txn, named, 1), 0) << "no order says what a drop removes";
    ASSERT_EQ(mdb_txn_commit(txn), 0);
  }
}

TEST_F(LmdbTest, ARefusedComparatorOfTheMainDatabaseRefusesItsNamesToo) {
  MDB_txn* const txn = Begin(env_);
  MDB_dbi dbi = 0;
  EXPECT_EQ(mdb_set_compare(txn, Main(txn), nullptr), MDB_INCOMPATIBLE);
  EXPECT_EQ(Put(txn, Main(txn), "key", "value"), MDB_INCOMPATIBLE);
  EXPECT_EQ(mdb_dbi_open(txn, "named", MDB_CREATE, &dbi), MDB_INCOMPATIBLE);
  mdb_txn_abort(txn);
  mdb_env_close(env_);
  env_ = Open("env");
  PutAll(env_, "key", "value");
}

TEST_F(LmdbTest, AFullMapIsMapFullUntilItGrows) {
  ASSERT_EQ(mdb_env_set_mapsize(env_, 100'000), 0);
  MDB_txn* txn = Begin(env_);
  int code = 0, puts = 0;
  for (; code == 0 && puts < 1000; ++puts)
    code = Put(txn, Main(txn), std::to_string(puts), std::string(1000, static_cast<char>(puts)));
  EXPECT_EQ(code, MDB_MAP_FULL);
  EXPECT_EQ(Put(txn, 1, "more", ""), MDB_BAD_TXN);
  EXPECT_EQ(mdb_txn_commit(txn), MDB_BAD_TXN);
  ASSERT_EQ(mdb_env_set_mapsize(env_, 10'000'000), 0);
  txn = Begin(env_);
  for (int i = 0; i < puts; ++i) ASSERT_EQ(Put(txn, Main(txn), std::to_string(i), std::string(1000, 'v')), 0);
  EXPECT_EQ(mdb_env_set_mapsize(env_, 20'000'000), EINVAL);  // a write transaction is open
  EXPECT_EQ(mdb_txn_commit(txn), 0);
}

// With values that compress well and values that do not.
TEST_F(LmdbTest, OverwritingDoesNotFillTheMap) {
  ASSERT_EQ(mdb_env_set_mapsize(env_, 1'000'000), 0);
  for (int i = 0; i < 300; ++i) PutAll(env_, "key" + std::to_string(i % 10), std::string(20'000, static_cast<char>(i)));
  base::Random random(7);
  std::string noise(20'000, '\0');
  for (int i = 0; i < 100; ++i) {
    for (char& byte : noise) byte = static_cast<char>(random.Next());
    PutAll(env_, "key" + std::to_string(i % 10), noise);
  }
  EXPECT_EQ(Get(env_, "key9").size(), 20'000u);
}

// As in LMDB, whose slot ends with the thread: a reader that a thread left open is no reader of a later thread.
TEST_F(LmdbTest, AReaderOfAnEndedThreadKeepsNoNewThreadOut) {
  MDB_txn* left = nullptr;
  std::thread([&] { left = Begin(env_, MDB_RDONLY); }).join();
  for (int i = 0; i < 10; ++i) std::thread([&] { mdb_txn_abort(Begin(env_, MDB_RDONLY)); }).join();
  mdb_txn_abort(left);
}

TEST_F(LmdbTest, ReadersHaveSlots) {
  EXPECT_EQ(mdb_env_set_maxreaders(env_, 3), EINVAL);  // the environment is already open
  MDB_txn* const first = Begin(env_, MDB_RDONLY);
  MDB_txn* second = nullptr;
  EXPECT_EQ(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &second), MDB_BAD_RSLOT);
  std::thread([&] { mdb_txn_abort(Begin(env_, MDB_RDONLY)); }).join();
  mdb_txn_reset(first);
  second = Begin(env_, MDB_RDONLY);
  EXPECT_EQ(mdb_txn_renew(first), MDB_BAD_RSLOT);
  mdb_txn_abort(second);
  EXPECT_EQ(mdb_txn_renew(first), 0);
  mdb_txn_abort(first);
  MDB_envinfo info{};
  EXPECT_EQ(mdb_env_info(env_, &info), 0);
  EXPECT_EQ(info.me_maxreaders, 126u);
  EXPECT_EQ(info.me_numreaders, 2u);
}

// ---- counts

TEST_F(LmdbTest, EntriesAreExactForWritersAndReaders) {
  PutAll(env_, "a", "1");
  PutAll(env_, "b", "2");
  MDB_txn* const reader = Begin(env_, MDB_RDONLY);
  const MDB_dbi dbi = Main(reader);
  EXPECT_EQ(Entries(reader, dbi), 2u);
  MDB_txn* const writer = Begin(env_);
  EXPECT_EQ(Put(writer, dbi, "c", "", MDB_NOOVERWRITE), 0);  // counted
  EXPECT_EQ(Entries(writer, dbi), 3u);
  EXPECT_EQ(Put(writer, dbi, "c", "again"), 0);  // the key may exist: the items are counted again
  EXPECT_EQ(Entries(writer, dbi), 3u);
  MDB_txn* const child = Begin(env_, 0, writer);
  EXPECT_EQ(mdb_drop(child, dbi, 0), 0);
  EXPECT_EQ(Entries(child, dbi), 0u);
  mdb_txn_abort(child);
  EXPECT_EQ(Entries(writer, dbi), 3u);
  MDB_val key = Val("a");
  EXPECT_EQ(mdb_del(writer, dbi, &key, nullptr), 0);
  EXPECT_EQ(mdb_txn_commit(writer), 0);
  EXPECT_EQ(Entries(reader, dbi), 2u);  // as of its beginning
  mdb_txn_abort(reader);
  MDB_stat stat{};
  EXPECT_EQ(mdb_env_stat(env_, &stat), 0);
  EXPECT_EQ(stat.ms_entries, 2u);
}

// ---- named databases

TEST_F(LmdbTest, NamesAreItemsOfTheMainDatabaseThatOnlyTheirOwnCallsChange) {
  MDB_txn* txn = Begin(env_);
  const MDB_dbi main = Main(txn);
  MDB_dbi dbi = 0;
  ASSERT_EQ(mdb_dbi_open(txn, "name", MDB_CREATE, &dbi), 0);
  EXPECT_EQ(Put(txn, dbi, "key", "value"), 0);
  EXPECT_EQ(Put(txn, main, "name", "value"), MDB_INCOMPATIBLE);
  MDB_val key = Val("name"), data;
  EXPECT_EQ(mdb_get(txn, main, &key, &data), 0);
  EXPECT_EQ(data.mv_size, 48u);
  EXPECT_EQ(Put(txn, main, "name", "value", MDB_NOOVERWRITE), MDB_KEYEXIST);
  EXPECT_EQ(Entries(txn, main), 1u);
  EXPECT_EQ(Put(txn, main, "item", "value"), 0);
  EXPECT_EQ(mdb_dbi_open(txn, "item", MDB_CREATE, &dbi), MDB_INCOMPATIBLE);
  EXPECT_EQ(mdb_txn_commit(txn), 0);
  txn = Begin(env_);
  EXPECT_EQ(mdb_del(txn, main, &key, nullptr), MDB_INCOMPATIBLE);
  EXPECT_EQ(mdb_get(txn, main, &key, &data), MDB_BAD_TXN) << "as in LMDB";
  mdb_txn_abort(txn);
  txn = Begin(env_);
  ASSERT_EQ(mdb_dbi_open(txn, "name", 0, &dbi), 0);
  EXPECT_EQ(mdb_drop(txn, dbi, 1), 0);
  EXPECT_EQ(mdb_txn_commit(txn), 0);
  txn = Begin(env_);
  EXPECT_EQ(mdb_dbi_open(txn, "name", 0, &dbi), MDB_NOTFOUND);
  EXPECT_EQ(Entries(txn, main), 1u);
  mdb_txn_abort(txn);
}

TEST_F(LmdbTest, IntegerKeysSortAsNumbersAcrossOpens) {
  MDB_txn* txn = Begin(env_);
  MDB_dbi dbi = 0;
  ASSERT_EQ(mdb_dbi_open(txn, "numbers", MDB_CREATE | MDB_INTEGERKEY, &dbi), 0);
  for (const size_t number : {size_t{256}, size_t{1}, size_t{65536}, size_t{255}}) {
    EXPECT_EQ(Put(txn, dbi, std::string(reinterpret_cast<const char*>(&number), sizeof number), ""), 0);
  }
  EXPECT_EQ(Put(txn, dbi, "abc", ""), MDB_BAD_VALSIZE);
  ASSERT_EQ(mdb_txn_commit(txn), 0);
  mdb_env_close(env_);
  env_ = Open("env");
  txn = Begin(env_, MDB_RDONLY);
  ASSERT_EQ(mdb_dbi_open(txn, "numbers", 0, &dbi), 0);
  unsigned flags = 0;
  EXPECT_EQ(mdb_dbi_flags(txn, dbi, &flags), 0);
  EXPECT_EQ(flags, static_cast<unsigned>(MDB_INTEGERKEY));
  MDB_cursor* cursor = nullptr;
  ASSERT_EQ(mdb_cursor_open(txn, dbi, &cursor), 0);
  std::vector<size_t> numbers;
  MDB_val key, data;
  while (mdb_cursor_get(cursor, &key, &data, MDB_NEXT) == 0) {
    size_t number = 0;
    std::memcpy(&number, key.mv_data, sizeof number);
    numbers.push_back(number);
  }
  EXPECT_EQ(numbers, (std::vector<size_t>{1, 255, 256, 65536}));
  mdb_cursor_close(cursor);
  mdb_txn_abort(txn);
}

// ---- pointers and ends

TEST_F(LmdbTest, WhatAReaderWasGivenStaysUntilItsEnd) {
  for (int i = 0; i < 100; ++i) PutAll(env_, "key" + std::to_string(i), "value" + std::to_string(i));
  MDB_txn* const txn = Begin(env_, MDB_RDONLY);
  MDB_cursor* cursor = nullptr;
  ASSERT_EQ(mdb_cursor_open(txn, Main(txn), &cursor), 0);
  std::vector<std::pair<MDB_val, MDB_val>> given;
  MDB_val key, data;
  while (mdb_cursor_get(cursor, &key, &data, MDB_NEXT) == 0) given.emplace_back(key, data);
  ASSERT_EQ(given.size(), 100u);
  PutAll(env_, "key7", "changed");
  for (const auto& [k, v] : given) EXPECT_EQ("value" + Text(k).substr(3), Text(v));
  mdb_cursor_close(cursor);
  mdb_txn_abort(txn);
}

TEST_F(LmdbTest, ClosingEndsTransactionsThatAreLeft) {
  MDB_txn* const writer = Begin(env_);
  EXPECT_EQ(Put(writer, Main(writer), "key", "value"), 0);
  mdb_env_close(env_);
  EXPECT_EQ(Put(writer, 1, "key", "value"), MDB_BAD_TXN);
  mdb_txn_abort(writer);
  env_ = Open("env");
  EXPECT_EQ(Get(env_, "key"), mdb_strerror(MDB_NOTFOUND));
}

TEST_F(LmdbTest, ReadOnlyEnvironmentsRefuseWriters) {
  PutAll(env_, "key", "value");
  mdb_env_close(env_);
  env_ = Open("env", MDB_RDONLY);
  MDB_txn* txn = nullptr;
  EXPECT_EQ(mdb_txn_begin(env_, nullptr, 0, &txn), EACCES);
  EXPECT_EQ(Get(env_, "key"), "value");
  EXPECT_EQ(mdb_env_sync(env_, 1), EACCES);
}

TEST_F(LmdbTest, NullsAreEinval) {
  MDB_val val{};
  MDB_txn* txn = nullptr;
  EXPECT_EQ(mdb_env_create(nullptr), EINVAL);
  EXPECT_EQ(mdb_env_open(nullptr, "", 0, 0), EINVAL);
  EXPECT_EQ(mdb_txn_begin(nullptr, nullptr, 0, &txn), EINVAL);
  EXPECT_EQ(mdb_get(nullptr, 1, &val, &val), EINVAL);
  EXPECT_EQ(mdb_put(nullptr, 1, &val, &val, 0), EINVAL);
  EXPECT_EQ(mdb_cursor_get(nullptr, &val, &val, MDB_FIRST), EINVAL);
  EXPECT_EQ(mdb_stat(nullptr, 1, nullptr), EINVAL);
  mdb_txn_abort(nullptr);
  mdb_cursor_close(nullptr);
  mdb_env_close(nullptr);
}

}  // namespace
}  // namespace mergedb::lmdb_test
