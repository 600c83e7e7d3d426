// Goal: only `convert` converts a LevelDB directory, and no verb makes a database within an LMDB environment: each verb
// that writes refuses, changes nothing and names the next step. Files that the command makes are private, and no copy
// goes into its own source. Method: all verbs that the command lists, on directories of other engines; the directory is
// compared byte by byte.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "mergedb/db.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::foreign_directories_test {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

class ForeignDirectories : public ::testing::Test {
 protected:
  int Run(const std::string& line) const {
    const std::string script = "cd " + home_ + "; M='" MERGEDB_COMMAND "'; " + line;
    const int status = std::system(("(" + script + ") > " + home_ + "/out 2> " + home_ + "/err < /dev/null").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string Slurp(const std::string& name) const {
    std::ifstream in(home_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  std::map<std::string, std::string> FilesOf(const std::string& name) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(home_ + "/" + name))
      files[entry.path().filename()] = Slurp(name + "/" + entry.path().filename().string());
    return files;
  }
  std::vector<std::string> Verbs() const {
    EXPECT_EQ(Run("$M --help | sed '1,/Subcommands:/d' | sed -n 's/^  \\([a-z][a-z-]*\\) .*/\\1/p'"), 0);
    std::istringstream in(Slurp("out"));
    std::vector<std::string> verbs;
    for (std::string verb; in >> verb;) verbs.push_back(verb);
    return verbs;
  }
  // A use of the verb on directory F that would change a database of mergedb, or read it.
  static std::string LineOf(const std::string& verb) {
    static const std::map<std::string, std::string> lines = {
        {"get", "F k"},
        {"put", "F k v"},
        {"delete", "F nosuch"},
        {"merge", "F k 1 --type add-u64"},
        {"load", "F -f /proc/version"},
        {"copy", "F target"},
        {"export-leveldb", "F target"},
        {"drop", "F --keyspace nosuch"},
        {"keyspaces", "F --create x"},
        {"inspect", "F --html page"},
        {"serve-metrics", "F --listen 127.0.0.1:0 --timeout 1"},
        {"sst", "nosuch.tbl --db F"},
        {"blob", "nosuch.val --db F"},
        {"wal", "nosuch.seg --db F"},
        {"manifest", "MANIFEST-000001 --db F"},
        {"trace", "dump F/nosuch"},
    };
    const auto line = lines.find(verb);
    return line == lines.end() ? "F" : line->second;
  }
  // Runs each verb on directory F, except the one that is for it and destroy.
  void ExpectUnchanged(const std::string& except) {
    const auto before = FilesOf("F");
    const std::vector<std::string> verbs = Verbs();
    ASSERT_GT(verbs.size(), 25u);
    for (const std::string& verb : verbs) {
      if (verb == except || verb == "destroy" || verb == "doctor" || verb == "top" || verb == "serve-metrics") continue;
      EXPECT_NE(Run("$M " + verb + " " + LineOf(verb)), 0) << verb << ": " << Slurp("out");
      EXPECT_TRUE(FilesOf("F") == before) << verb;
      EXPECT_FALSE(std::filesystem::exists(home_ + "/target/CURRENT")) << verb;
    }
    for (const char* line :
         {"drop F --yes", "drop F -d -s x", "put F k v --keyspace x", "compact F", "repair F", "repair F --dry-run"}) {
      EXPECT_NE(Run(std::string("$M ") + line), 0) << line;
      EXPECT_TRUE(FilesOf("F") == before) << line;
    }
  }

  const testing::TempDirectory directory_;
  const std::string home_ = directory_.path();
};

TEST_F(ForeignDirectories, OnlyConvertConvertsALevelDbDirectory) {
  ASSERT_EQ(Run("$M put source k v && $M export-leveldb source F && rm -f F/LOCK"), 0) << Slurp("err");
  ExpectUnchanged("convert");
  for (const char* line : {"put F k v", "delete F k", "merge F k 1 --type add-u64", "compact F",
                           "load F -f /proc/version", "keyspaces F --create x", "drop F --keyspace nosuch",
                           "drop F --yes", "get F k", "scan F", "inspect F --html page"}) {
    EXPECT_EQ(Run(std::string("$M ") + line), 3) << line;
    EXPECT_THAT(Slurp("err"), HasSubstr("F: a LevelDB database; ")) << line;
    EXPECT_THAT(Slurp("err"), HasSubstr("`mergedb convert F`")) << line;
    EXPECT_THAT(Slurp("err"), HasSubstr("`mergedb export-leveldb` converts it back")) << line;
  }
  EXPECT_EQ(Run("$M convert F && $M put F l w && $M scan F"), 0) << Slurp("err");
  EXPECT_EQ(Slurp("out"), "k\tv\nl\tw\n");
}

TEST_F(ForeignDirectories, ConvertNamesSalvageIfCurrentIsMissingOrDamaged) {
  for (const char* damage : {"rm F/CURRENT", "echo MANIFEST-999999 > F/CURRENT"}) {
    ASSERT_EQ(Run(std::string("rm -rf source F; $M put source k v && $M export-leveldb source F && touch F/LOCK && ") +
                  damage),
              0);
    const auto before = FilesOf("F");
    EXPECT_EQ(Run("$M convert F"), 3) << damage;
    EXPECT_THAT(Slurp("err"), HasSubstr("`mergedb convert --salvage F`")) << damage;
    EXPECT_TRUE(FilesOf("F") == before) << damage;
    EXPECT_EQ(Run("$M put F k v"), 3) << damage;
    EXPECT_TRUE(FilesOf("F") == before) << damage;
  }
  EXPECT_EQ(Run("mkdir empty; $M convert empty"), 3);
  EXPECT_EQ(Run("$M convert absent"), 3);
  EXPECT_THAT(Slurp("err"), HasSubstr("absent: no such directory"));
  EXPECT_EQ(Run("$M convert source"), 1);
  EXPECT_THAT(Slurp("err"), HasSubstr("source: a database of mergedb, not of LevelDB; nothing was converted"));
}

// The head of LMDB's data file: a page header, and the magic number of the first meta page.
void WriteLmdbData(const std::string& path) {
  std::string bytes(8192, '\0');
  bytes.replace(16, 4, "\xde\xc0\xef\xbe");
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST_F(ForeignDirectories, NoVerbMakesADatabaseWithinAnLmdbEnvironment) {
  ASSERT_EQ(Run("mkdir F && touch F/lock.mdb"), 0);
  WriteLmdbData(home_ + "/F/data.mdb");
  ExpectUnchanged("");
  for (const char* line :
       {"put F k v", "load F -f /proc/version", "merge F k 1 --type add-u64", "get F k", "scan F", "compact F",
        "keyspaces F --create x", "convert F", "verify F", "repair F", "dump F", "copy F target", "check F"}) {
    EXPECT_EQ(Run(std::string("$M ") + line), 3) << line;
    EXPECT_THAT(Slurp("err"), HasSubstr("F: an LMDB environment")) << line;
    EXPECT_THAT(Slurp("err"), HasSubstr("`mdb_dump -a F | mergedb load DIR`")) << line;
  }
  EXPECT_EQ(Run("$M destroy F --yes"), 3);
  EXPECT_EQ(FilesOf("F").size(), 2u);
  for (const auto mode :
       {OpenMode::kCreateIfMissing, OpenMode::kMustExist, OpenMode::kMustNotExist, OpenMode::kReadOnly})
    EXPECT_THAT(DB::Open({.mode = mode}, home_ + "/F"),
                StatusIs(Code::kNotSupported, HasSubstr("an LMDB environment")));
  // An environment that is a file (MDB_NOSUBDIR).
  WriteLmdbData(home_ + "/file.mdb");
  EXPECT_EQ(Run("$M put file.mdb k v"), 3);
  EXPECT_THAT(Slurp("err"), HasSubstr("`mdb_dump -n -a file.mdb | mergedb load DIR`"));
  // LMDB's file beside a database of mergedb, as earlier versions left them: both stay accessible.
  ASSERT_EQ(Run("$M put both k v"), 0);
  WriteLmdbData(home_ + "/both/data.mdb");
  EXPECT_EQ(Run("$M put both k w && $M get both k"), 0) << Slurp("err");
  EXPECT_EQ(Run("$M verify both"), 0) << Slurp("out");
}

// Symptom: destroy removed a LevelDB database, and no database without CURRENT.
TEST_F(ForeignDirectories, DestroyRemovesOnlyDatabasesOfMergedb) {
  ASSERT_EQ(Run("$M put source k v && $M export-leveldb source F"), 0) << Slurp("err");
  for (const char* damage : {"true", "rm -f F/CURRENT", "touch F/000007.tbl F/IMPORT"}) {
    SCOPED_TRACE(damage);
    ASSERT_EQ(Run(damage), 0);
    const auto before = FilesOf("F");
    EXPECT_EQ(Run("$M destroy F --yes"), 3);
    EXPECT_THAT(Slurp("err"), HasSubstr("`mergedb convert"));
    EXPECT_TRUE(FilesOf("F") == before);
  }
  ASSERT_EQ(Run("mkdir L"), 0);
  WriteLmdbData(home_ + "/L/data.mdb");
  EXPECT_EQ(Run("$M destroy L --yes"), 3);
  EXPECT_THAT(Slurp("err"), HasSubstr("L: an LMDB environment"));
  EXPECT_EQ(FilesOf("L").size(), 1u);
  ASSERT_EQ(Run("rm -rf source; $M put source k v && $M compact source && $M put source l w && rm source/CURRENT"), 0);
  EXPECT_EQ(Run("$M destroy source"), 2);
  EXPECT_EQ(Run("$M destroy source --yes"), 0) << Slurp("err");
  EXPECT_FALSE(std::filesystem::exists(home_ + "/source"));
  EXPECT_EQ(Run("mkdir mine && touch mine/000001.seg mine/000002.tbl mine/STAGING; $M destroy mine --yes"), 3);
  EXPECT_EQ(FilesOf("mine").size(), 3u) << "the names alone may be anybody's";
  EXPECT_EQ(Run("mkdir other && touch other/LOCK other/MANIFEST-000001 other/file; $M destroy other --yes"), 3);
  EXPECT_EQ(FilesOf("other").size(), 3u) << "a MANIFEST alone may be LevelDB's";
  EXPECT_EQ(Run("$M destroy absent --yes"), 3);
}

TEST_F(ForeignDirectories, FilesWithDataArePrivate) {
  ASSERT_EQ(Run("umask 022; $M put D k v && $M dump D -f dump && $M inspect D --html page"), 0) << Slurp("err");
  for (const char* name : {"dump", "page", "D/CURRENT"}) {
    struct stat about {};
    ASSERT_EQ(stat((home_ + "/" + name).c_str(), &about), 0) << name;
    EXPECT_EQ(about.st_mode & 0777, 0600u) << name;
  }
}

TEST_F(ForeignDirectories, NoCopyGoesIntoItsOwnSource) {
  ASSERT_EQ(Run("$M put D k v && mkdir D/inner && ln -s D link"), 0);
  const auto before = std::filesystem::file_size(home_ + "/D/CURRENT");
  for (const char* target : {"D/sub", "D", "D/inner", "D/inner/deep", "link/sub", "./D/../D/sub", "$PWD/D/sub"}) {
    for (const char* verb : {"copy", "export-leveldb"}) {
      EXPECT_EQ(Run(std::string("$M ") + verb + " D " + target), 3) << verb << " " << target;
      EXPECT_THAT(Slurp("err"), HasSubstr("lies within the database directory D")) << verb << " " << target;
    }
  }
  EXPECT_FALSE(std::filesystem::exists(home_ + "/D/sub"));
  EXPECT_EQ(std::filesystem::file_size(home_ + "/D/CURRENT"), before);
  EXPECT_EQ(Run("$M copy D D2 && $M copy D D-other && $M check D2"), 0) << Slurp("err");
}

}  // namespace
}  // namespace mergedb::foreign_directories_test
