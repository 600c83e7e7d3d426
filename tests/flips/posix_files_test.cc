// Goal: a real file system can put pipes, symbolic links and devices in a file's place; a simulated one
// cannot. An open never blocks on them, never follows a link out of the directory, and changes nothing. Also:
// other users cannot read the files of a database. Method: a database in a temporary directory, with real
// threads and POSIX files.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "mergedb/db.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::testing {
namespace {

namespace fs = std::filesystem;

class PosixFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    umask(0);
    ASSERT_OK_AND_ASSIGN(auto db, DB::Open(SmallOptions(), home_ + "/db"));
    for (int i = 0; i < 100; ++i) ASSERT_OK(db->Put({}, "k" + std::to_string(i), std::string(100, 'v')));
    ASSERT_OK(db->Flush());
    ASSERT_OK(db->Put({}, "last", "value"));
    ASSERT_OK(db->Close());
  }

  static Options SmallOptions() { return {.memory_bytes = size_t{1} << 20, .write_buffer_bytes = size_t{64} << 10}; }

  // Makes a fresh copy of the database and returns its path.
  std::string Copy() {
    fs::remove_all(home_ + "/copy");
    fs::copy(home_ + "/db", home_ + "/copy");
    return home_ + "/copy";
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(home_ + "/db")) names.push_back(entry.path().filename());
    return names;
  }
  static std::string Slurp(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  // The database is right, or its open fails with an error that names the file.
  static void ExpectNoLie(const std::string& path, const std::string& name) {
    auto db = DB::Open(SmallOptions(), path);
    if (!db) {
      EXPECT_NE(db.error().ToString().find(name == "STAGING" ? path : name), std::string::npos)
          << db.error().ToString();
      return;
    }
    std::string value;
    EXPECT_OK((*db)->Get({}, "last", &value));
    EXPECT_EQ(value, "value");
    for (int i = 0; i < 100; ++i) EXPECT_OK((*db)->Get({}, "k" + std::to_string(i), &value));
  }

  const TempDirectory directory_;
  const std::string home_ = directory_.path();
};

TEST_F(PosixFilesTest, NeverWaitsForAPipe) {
  for (const std::string& name : Names()) {
    SCOPED_TRACE(name);
    const std::string path = Copy();
    fs::remove(path + "/" + name);
    ASSERT_EQ(mkfifo((path + "/" + name).c_str(), 0600), 0);
    ExpectNoLie(path, name);
  }
}

TEST_F(PosixFilesTest, FollowsNoSymbolicLink) {
  for (const std::string& name : Names()) {
    SCOPED_TRACE(name);
    const std::string path = Copy();
    const fs::path outside = home_ + "/outside_" + name;
    fs::rename(path + "/" + name, outside);
    fs::create_symlink(outside, path + "/" + name);
    const std::string before = Slurp(outside);
    ExpectNoLie(path, name);
    EXPECT_EQ(Slurp(outside), before) << "written through a link";
    EXPECT_TRUE(fs::exists(outside)) << "removed through a link";
    if (name != "STAGING") {  // the STAGING of a new epoch replaces any file of that name
      EXPECT_FALSE(DB::Open(SmallOptions(), path)) << "opened through a link";
    }
  }
}

TEST_F(PosixFilesTest, RefusesDanglingLinksAndDevices) {
  for (const std::string& name : Names()) {
    for (const char* target : {"/nowhere/at/all", "/dev/zero", "/dev/full"}) {
      SCOPED_TRACE(name + " -> " + target);
      const std::string path = Copy();
      fs::remove(path + "/" + name);
      fs::create_symlink(target, path + "/" + name);
      ExpectNoLie(path, name);
    }
  }
}

TEST_F(PosixFilesTest, NobodyElseMayReadADatabase) {
  struct stat found {};
  ASSERT_EQ(stat((home_ + "/db").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700u);
  for (const std::string& name : Names()) {
    ASSERT_EQ(lstat((home_ + "/db/" + name).c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0600u) << name;
  }
}

}  // namespace
}  // namespace mergedb::testing
