// Goal: the LMDB interface opens only directories that are its own or empty, unpacks archives also after an
// interruption, and never writes over what is another program's. Method: real directories in every state; the two
// halves of an open without the database between them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>

#include "lmdb/archive.h"
#include "lmdb/handles.h"
#include "mergedb/db.h"
#include "mergedb/repair.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::lmdb::place_test {
namespace {

constexpr std::string_view kMark = "This directory is a mergedb database, opened through its liblmdb";

class Place : public ::testing::Test {
 protected:
  static FileSystem* Files() { return DefaultEnv().file_system; }
  static void Write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  static std::string Read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static bool Exists(const std::string& path) { return std::filesystem::exists(path); }
  static bool IsDirectory(const std::string& path) { return std::filesystem::is_directory(path); }

  // PreparePlace, then MarkPlace with `mode`, as in mdb_env_open; looks at the environment before it is closed.
  static int Open(const std::string& path, unsigned flags = 0, const std::function<void(MDB_env*)>& look = {},
                  mdb_mode_t mode = 0640) {
    MDB_env* env = nullptr;
    EXPECT_EQ(mdb_env_create(&env), 0);
    env->flags = flags;
    int code = PreparePlace(env, path.c_str());
    if (code == 0) code = MarkPlace(env, mode);
    if (look) look(env);
    if (env->fd >= 0) close(env->fd);
    env->fd = -1;
    mdb_env_close(env);
    return code;
  }
  static int Prepare(const std::string& path, unsigned flags = 0) {
    MDB_env* env = nullptr;
    EXPECT_EQ(mdb_env_create(&env), 0);
    env->flags = flags;
    const int code = PreparePlace(env, path.c_str());
    mdb_env_close(env);
    return code;
  }
  // The archive of a database that holds k -> v.
  std::string Archive() {
    const std::string path = home_ / "archived";
    {
      auto db = DB::Open({}, path);
      EXPECT_OK(db);
      EXPECT_OK((*db)->Put({}, "k", "v"));
    }
    std::string bytes;
    EXPECT_OK(WriteArchive(Files(), path, [&](std::string_view piece) { return bytes.append(piece), Status(); }));
    std::filesystem::remove_all(path);
    return bytes;
  }
  static void ExpectUnpacked(const std::string& path) {
    auto db = DB::Open({.mode = OpenMode::kMustExist}, path);
    ASSERT_OK(db);
    std::string value;
    EXPECT_OK((*db)->Get({}, "k", &value));
    EXPECT_EQ(value, "v");
  }
  static std::string OfLmdb() {
    std::string bytes(8192, '\0');
    bytes.replace(16, 4, "\xde\xc0\xef\xbe");
    return bytes;
  }

  const testing::TempDirectory home_;
  const std::string path_ = home_ / "env";
  const std::string data_ = path_ + "/data.mdb";
};

// ---- whose directory ------------------------------------------------------------------------------------------

TEST_F(Place, MustBeADirectory) {
  EXPECT_EQ(Prepare(path_), ENOENT);
  EXPECT_FALSE(Exists(path_)) << "LMDB makes no directory";
  Write(path_, "a file");
  EXPECT_EQ(Prepare(path_), ENOTDIR);
}

TEST_F(Place, MayBeEmptyOrMarked) {
  std::filesystem::create_directory(path_);
  EXPECT_EQ(Prepare(path_), 0);
  Write(data_, "");
  EXPECT_EQ(Prepare(path_), 0) << "an empty file is no database of LMDB's";
  std::filesystem::remove(data_);
  EXPECT_EQ(Open(path_), 0);
  EXPECT_EQ(Open(path_), 0);
}

TEST_F(Place, OfAnotherProgramIsRefusedAndStays) {
  std::filesystem::create_directory(path_);
  for (const std::string& bytes : {OfLmdb(), std::string("x"), std::string(kMark.substr(0, 20))}) {
    Write(data_, bytes);
    EXPECT_EQ(Open(path_), MDB_INVALID);
    EXPECT_EQ(Read(data_), bytes);
    EXPECT_FALSE(Exists(path_ + "/lock.mdb"));
  }
}

// data.mdb beside a database of mergedb: programs may have written to it, so only what cannot be such a file is
// refused.
TEST_F(Place, ADatabaseOfMergedbIsOpenedUnlessDataIsAnotherDatabase) {
  { ASSERT_OK(DB::Open({}, path_)); }
  for (const std::string& bytes : {OfLmdb(), Archive()}) {
    Write(data_, bytes);
    EXPECT_EQ(Open(path_), MDB_INVALID);
    EXPECT_TRUE(Read(data_) == bytes);
  }
  Write(data_, "written by a program");
  EXPECT_EQ(Open(path_), 0);
  EXPECT_TRUE(Read(data_).starts_with(kMark)) << "the text is there again";
}

// ---- archives -------------------------------------------------------------------------------------------------

TEST_F(Place, AnArchiveIsUnpackedAndGoes) {
  std::filesystem::create_directory(path_);
  Write(data_, Archive());
  EXPECT_EQ(Prepare(path_), 0);
  EXPECT_FALSE(Exists(data_));
  EXPECT_FALSE(Exists(data_ + ".unpacking"));
  ExpectUnpacked(path_);
}

TEST_F(Place, AnInterruptedUnpackingIsFinished) {
  const std::string archive = Archive();
  // Interrupted before the database existed.
  std::filesystem::create_directory(path_);
  Write(data_ + ".unpacking", archive);
  Write(path_ + "/000007.tbl", "half a table");
  EXPECT_EQ(Prepare(path_), 0);
  EXPECT_FALSE(Exists(data_ + ".unpacking"));
  ExpectUnpacked(path_);
  // Interrupted after that: the database may have changed since, so it is not unpacked again.
  Write(data_ + ".unpacking", archive);
  {
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open({}, path_));
    ASSERT_OK(db->Put({}, "k", "v"));
    ASSERT_OK(db->Put({}, "later", "1"));
  }
  EXPECT_EQ(Prepare(path_), 0);
  EXPECT_FALSE(Exists(data_ + ".unpacking"));
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open({}, path_));
  std::string value;
  EXPECT_OK(db->Get({}, "later", &value));
}

// The place of an interrupted unpacking: nothing else may take the archive for one that was unpacked, or write over
// another.
TEST_F(Place, AnArchiveThatIsNotUnpackedIsNeverLost) {
  const std::string archive = Archive();
  std::filesystem::create_directory(path_);
  Write(data_ + ".unpacking", archive);
  for (const OpenMode mode : {OpenMode::kCreateIfMissing, OpenMode::kMustExist, OpenMode::kReadOnly}) {
    EXPECT_THAT(DB::Open({.mode = mode}, path_),
                testing::StatusIs(Code::kNotSupported, ::testing::HasSubstr("data.mdb.unpacking: a copy by")));
  }
  {
    const auto lock = Files()->Lock(path_ + "/LOCK");  // as of a process that unpacks it now
    EXPECT_THAT(DB::Open({}, path_), testing::StatusIs(Code::kBusy, ::testing::HasSubstr("another process unpacks")));
  }
  Write(path_ + "/000007.tbl", "half a table");
  EXPECT_THAT(Repair({}, path_), testing::StatusIs(Code::kNotSupported));
  for (const std::string& newer : {archive, OfLmdb()}) {
    Write(data_, newer);
    EXPECT_EQ(Open(path_), MDB_INVALID);
    EXPECT_TRUE(Read(data_) == newer);
    EXPECT_TRUE(Read(data_ + ".unpacking") == archive);
  }
  std::filesystem::remove(data_);
  EXPECT_EQ(Prepare(path_), 0);
  ExpectUnpacked(path_);
}

// The archive arrives between the two halves of an open, or while another interface makes a database.
TEST_F(Place, TheMarkIsNotWrittenOverAnArchive) {
  const std::string archive = Archive();
  std::filesystem::create_directory(path_);
  Write(data_, archive);
  EXPECT_THAT(DB::Open({}, path_), testing::StatusIs(Code::kNotSupported, ::testing::HasSubstr("data.mdb: a copy by")));
  std::filesystem::remove(data_);
  for (const std::string& bytes : {archive, OfLmdb()}) {
    MDB_env* env = nullptr;
    ASSERT_EQ(mdb_env_create(&env), 0);
    ASSERT_EQ(PreparePlace(env, path_.c_str()), 0);
    Write(data_, bytes);
    EXPECT_EQ(MarkPlace(env, 0640), MDB_INVALID);
    EXPECT_TRUE(Read(data_) == bytes);
    mdb_env_close(env);
    std::filesystem::remove(data_);
  }
}

TEST_F(Place, ADamagedArchiveIsRefusedAndKept) {
  std::filesystem::create_directory(path_);
  std::string archive = Archive();
  archive.resize(archive.size() - 1024 - 512);
  Write(data_, archive);
  EXPECT_NE(Prepare(path_), 0);
  EXPECT_TRUE(Read(data_ + ".unpacking") == archive);
  EXPECT_FALSE(Exists(path_ + "/CURRENT"));
  EXPECT_NE(Prepare(path_), 0);
}

// ---- MDB_NOSUBDIR ---------------------------------------------------------------------------------------------

TEST_F(Place, WithoutSubdirectoryTheDirectoryStandsAtThePath) {
  EXPECT_EQ(Prepare(path_, MDB_NOSUBDIR | MDB_RDONLY), ENOENT);
  EXPECT_FALSE(Exists(path_));
  EXPECT_EQ(Prepare(path_, MDB_NOSUBDIR), 0);
  EXPECT_TRUE(IsDirectory(path_));
  EXPECT_EQ(Prepare(path_, MDB_NOSUBDIR), 0);
}

TEST_F(Place, WithoutSubdirectoryAFileIsReplacedOnlyIfItIsEmptyOrAnArchive) {
  for (const std::string& bytes : {OfLmdb(), std::string("x")}) {
    Write(path_, bytes);
    EXPECT_EQ(Prepare(path_, MDB_NOSUBDIR), MDB_INVALID);
    EXPECT_EQ(Read(path_), bytes);
  }
  Write(path_, "");
  EXPECT_EQ(Prepare(path_, MDB_NOSUBDIR | MDB_RDONLY), ENOENT);
  EXPECT_TRUE(Exists(path_));
  EXPECT_EQ(Prepare(path_, MDB_NOSUBDIR), 0);
  EXPECT_TRUE(IsDirectory(path_));

  std::filesystem::remove(path_);
  const std::string archive = Archive();
  Write(path_, archive);
  EXPECT_EQ(Prepare(path_, MDB_NOSUBDIR), 0);
  ExpectUnpacked(path_);

  // Killed between the two renames: the archive waits beside the path.
  std::filesystem::remove_all(path_);
  std::filesystem::create_directory(path_ + ".unpacking");
  Write(path_ + ".unpacking/data.mdb", archive);
  for (const std::string& path : {path_, path_ + "/"}) {
    EXPECT_THAT(DB::Open({}, path),
                testing::StatusIs(Code::kNotSupported, ::testing::HasSubstr(".unpacking/data.mdb: a copy by")));
  }
  EXPECT_FALSE(Exists(path_));
  std::filesystem::create_directory(path_);
  EXPECT_THAT(DB::Open({}, path_), testing::StatusIs(Code::kNotSupported));
  EXPECT_EQ(Prepare(path_, MDB_NOSUBDIR), 0);
  EXPECT_FALSE(Exists(path_ + ".unpacking"));
  ExpectUnpacked(path_);
}

// ---- the two files --------------------------------------------------------------------------------------------

TEST_F(Place, TheMarkHasTheProgramsModeAndTwoPages) {
  std::filesystem::create_directory(path_);
  const mode_t mask = umask(0);
  EXPECT_EQ(Open(
                path_, 0,
                [&](MDB_env* env) {
                  char byte = 0;
                  EXPECT_EQ(pread(env->fd, &byte, 1, 0), 1);
                  EXPECT_EQ(byte, kMark[0]);
                },
                0644),
            0);
  umask(mask);
  struct stat found {};
  for (const std::string& name : {data_, path_ + "/lock.mdb"}) {
    ASSERT_EQ(stat(name.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0644u) << name;
    EXPECT_EQ(found.st_size, name == data_ ? 8192 : 0);
  }
}

TEST_F(Place, AReadOnlyOpenMakesNoFileAndNoLockMeansNoLockFile) {
  std::filesystem::create_directory(path_);
  EXPECT_EQ(Open(path_, MDB_RDONLY, [](MDB_env* env) { EXPECT_EQ(env->fd, -1); }), 0);
  EXPECT_TRUE(std::filesystem::is_empty(path_));
  EXPECT_EQ(Open(path_, MDB_NOLOCK), 0);
  EXPECT_TRUE(Exists(data_));
  EXPECT_FALSE(Exists(path_ + "/lock.mdb"));
}

TEST_F(Place, AReadOnlyOpenLeavesWhatAProgramWrote) {
  { ASSERT_OK(DB::Open({}, path_)); }
  Write(data_, "written by a program");
  EXPECT_EQ(Open(path_, MDB_RDONLY, [](MDB_env* env) { EXPECT_GE(env->fd, 0); }), 0);
  EXPECT_EQ(Read(data_), "written by a program");
}

TEST_F(Place, ALinkIsNotFollowed) {
  std::filesystem::create_directory(path_);
  Write(home_ / "mine", "mine");
  std::filesystem::create_symlink(home_ / "mine", data_);
  EXPECT_NE(Prepare(path_), 0);
  EXPECT_EQ(Read(home_ / "mine"), "mine");
}

// An environment stays in its directory, also if the program gave a relative path and calls chdir, as daemons do. A
// copy to a descriptor makes files in that directory.
TEST_F(Place, ARenamedEnvironmentGoesOn) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(home_.path());
  std::filesystem::create_directory("env");
  MDB_env* env = nullptr;
  ASSERT_EQ(mdb_env_create(&env), 0);
  ASSERT_EQ(mdb_env_set_mapsize(env, size_t{1} << 30), 0);
  ASSERT_EQ(mdb_env_open(env, "./env", 0, 0640), 0);
  std::filesystem::rename("env", "moved");
  std::filesystem::create_directory("env");
  std::filesystem::create_directory("elsewhere");
  std::filesystem::current_path("elsewhere");
  for (int batch = 0; batch < 20; ++batch) {
    MDB_txn* txn = nullptr;
    MDB_dbi dbi = 0;
    ASSERT_EQ(mdb_txn_begin(env, nullptr, 0, &txn), 0);
    ASSERT_EQ(mdb_dbi_open(txn, nullptr, 0, &dbi), 0);
    for (int i = 0; i < 100; ++i) {
      std::string key = std::to_string(batch * 100 + i), value(1000, 'v');
      MDB_val k = {key.size(), key.data()}, v = {value.size(), value.data()};
      ASSERT_EQ(mdb_put(txn, dbi, &k, &v, 0), 0);
    }
    ASSERT_EQ(mdb_txn_commit(txn), 0);
  }
  for (const unsigned flags : {0u, unsigned{MDB_CP_COMPACT}}) {
    const std::string copy = home_ / "copy" + std::to_string(flags);
    const int fd = open(copy.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(mdb_env_copyfd2(env, fd, flags), 0);
    close(fd);
    EXPECT_TRUE(IsArchive(Files(), copy));
  }
  EXPECT_EQ(mdb_env_sync(env, 1), 0);
  mdb_env_close(env);
  EXPECT_TRUE(std::filesystem::is_empty(home_ / "env"));
  EXPECT_TRUE(std::filesystem::is_empty(home_ / "elsewhere"));
  std::filesystem::current_path(before);

  ASSERT_EQ(mdb_env_create(&env), 0);
  ASSERT_EQ(mdb_env_open(env, (home_ / "moved").c_str(), 0, 0640), 0);
  MDB_txn* txn = nullptr;
  ASSERT_EQ(mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn), 0);
  MDB_dbi dbi = 0;
  ASSERT_EQ(mdb_dbi_open(txn, nullptr, 0, &dbi), 0);
  MDB_stat stat = {};
  EXPECT_EQ(mdb_stat(txn, dbi, &stat), 0);
  EXPECT_EQ(stat.ms_entries, 2000u);
  mdb_txn_abort(txn);
  mdb_env_close(env);
}

// Programs poll the time of data.mdb. It is set at most once a second.
TEST_F(Place, ACommitSetsTheTimeOfDataOncePerSecond) {
  std::filesystem::create_directory(path_);
  EXPECT_EQ(Open(path_, 0,
                 [&](MDB_env* env) {
                   const timespec past[2] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 1000, .tv_nsec = 0}};
                   struct stat found {};
                   const base::Lock lock(env->mutex);
                   ASSERT_EQ(futimens(env->fd, past), 0);
                   TouchPlace(env);
                   ASSERT_EQ(fstat(env->fd, &found), 0);
                   EXPECT_GT(found.st_mtime, 1000);
                   EXPECT_NE(env->touched_second, 0);
                   int64_t second = 0;
                   do {  // until both calls fall into one second
                     second = std::time(nullptr);
                     env->touched_second = second;
                     ASSERT_EQ(futimens(env->fd, past), 0);
                     TouchPlace(env);
                   } while (std::time(nullptr) != second);
                   ASSERT_EQ(fstat(env->fd, &found), 0);
                   EXPECT_EQ(found.st_mtime, 1000);
                 }),
            0);
}

}  // namespace
}  // namespace mergedb::lmdb::place_test
