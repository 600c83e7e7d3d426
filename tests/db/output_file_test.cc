// Goal: a file that a verb writes replaces an older one only when it is complete, goes to devices and pipes as it is,
// and never replaces a file of the database. Method: dump -f, inspect --html and trace scrub, the built program, on
// targets of each kind; a value that cannot be read makes a dump fail in the middle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "mergedb/db.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::output_file_test {
namespace {

using ::testing::HasSubstr;

class OutputFiles : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(Run("$M put D k v && $M put D l w"), 0) << Slurp("err"); }

  // $M is the program; the shell runs in the test's own directory, with the database D.
  int Run(const std::string& line) const {
    const std::string script = "cd " + home_ + "; M='" MERGEDB_COMMAND "'; (" + line + ") > out 2> err";
    const int status = std::system(script.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string Slurp(const std::string& name) const {
    std::ifstream in(home_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  std::map<std::string, std::string> Database() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(home_ + "/D"))
      files[entry.path().filename()] = Slurp("D/" + entry.path().filename().string());
    return files;
  }
  unsigned ModeOf(const std::string& name) const {
    struct stat about {};
    EXPECT_EQ(stat((home_ + "/" + name).c_str(), &about), 0) << name;
    return about.st_mode & 07777;
  }
  void ExpectNothingBeside() const {
    for (const auto& entry : std::filesystem::directory_iterator(home_))
      EXPECT_FALSE(entry.path().filename().string().starts_with("mergedb-output-")) << entry.path();
  }
  // The scrubbed trace is not replaced, so that only these two replace files.
  static constexpr const char* kWriters[] = {"dump D -f", "inspect D --html"};

  const testing::TempDirectory directory_;
  const std::string home_ = directory_.path();
};

// Symptom: `dump A -f B/CURRENT` replaced a file of another database.
TEST_F(OutputFiles, AreNoFilesOfAnotherDatabase) {
  ASSERT_EQ(Run("$M put E k v && ln -s E link && ln -s E/MANIFEST-000099 dangling"), 0);
  for (const char* const name :
       {"E/CURRENT", "E/STAGING", "E/000099.tbl", "./E/../E/LOCK", "link/CURRENT", "dangling"}) {
    for (const char* const writer : kWriters) {
      EXPECT_EQ(Run(std::string("$M ") + writer + " " + name), 3) << writer << " " << name;
      EXPECT_THAT(Slurp("err"), HasSubstr("is the name of a file of the database in ")) << name;
    }
  }
  EXPECT_EQ(Run("$M dump D -f E/backup.txt && $M get E k"), 0) << Slurp("err");
}

TEST_F(OutputFiles, AnOldBackupStaysUntilTheNewOneIsComplete) {
  ASSERT_EQ(Run("$M merge D l 1 --type add-u64; echo old > backup"), 0) << Slurp("err");
  EXPECT_EQ(Run("$M dump D -f backup"), 3) << "the value of l cannot be read";
  EXPECT_EQ(Slurp("backup"), "old\n");
  EXPECT_EQ(Run("$M dump D -f absent"), 3);
  EXPECT_FALSE(std::filesystem::exists(home_ + "/absent"));
  EXPECT_EQ(Run("$M dump D -s nosuch -f backup"), 3);
  EXPECT_EQ(Slurp("backup"), "old\n");
  ExpectNothingBeside();
  EXPECT_EQ(Run("$M dump D --skip-errors -f backup"), 4);
  EXPECT_THAT(Slurp("backup"), HasSubstr("HEADER=END\n 6b\n 76\nDATA=END\n"));
  EXPECT_EQ(Run("$M dump D -l -f backup"), 0) << "as mdb_dump, the list goes to the file, too";
  EXPECT_EQ(Slurp("backup") + Slurp("out"), "");
  ExpectNothingBeside();
}

TEST_F(OutputFiles, AFailureHasItsReasonAndLeavesNothing) {
  for (const std::string writer : kWriters) {
    SCOPED_TRACE(writer);
    ASSERT_EQ(Run("echo old > file; mkdir -p folder"), 0);
    EXPECT_EQ(Run("(ulimit -f 0; $M " + writer + " file) 2>&1 | cat"), 0);
    EXPECT_THAT(Slurp("out"), HasSubstr("file: cannot be written: File too large"));
    EXPECT_EQ(Slurp("file"), "old\n");
    EXPECT_EQ(Run("$M " + writer + " absent/file"), 3);
    EXPECT_THAT(Slurp("err"), HasSubstr("absent/file: cannot be written: No such file or directory"));
    EXPECT_EQ(Run("$M " + writer + " folder"), 3);
    EXPECT_THAT(Slurp("err"), HasSubstr("folder: cannot be written: Is a directory"));
    EXPECT_EQ(Run("$M " + writer + " ''"), 3);
    EXPECT_EQ(Run("$M " + writer + " /dev/full"), 3);
    EXPECT_THAT(Slurp("err"), HasSubstr("/dev/full: cannot be written: No space left on device"));
    ExpectNothingBeside();
  }
}

TEST_F(OutputFiles, ANewFileIsPrivateAndAReplacedOneKeepsItsMode) {
  for (const std::string writer : kWriters) {
    SCOPED_TRACE(writer);
    ASSERT_EQ(Run("umask 022; rm -f new; $M " + writer + " new; echo old > shared; chmod 640 shared; $M " + writer +
                  " shared"),
              0);
    EXPECT_EQ(ModeOf("new"), 0600u);
    EXPECT_EQ(ModeOf("shared"), 0640u);
    EXPECT_EQ(Slurp("shared"), Slurp("new"));
  }
}

TEST_F(OutputFiles, ALinkStaysAndItsTargetIsReplaced) {
  ASSERT_EQ(Run("mkdir folder; echo old > folder/file; ln -s folder/file link; ln -s folder/none dangling"), 0);
  for (const std::string writer : kWriters) {
    SCOPED_TRACE(writer);
    EXPECT_EQ(Run("$M " + writer + " link && $M " + writer + " dangling && $M " + writer + " plain"), 0)
        << Slurp("err");
    EXPECT_TRUE(std::filesystem::is_symlink(home_ + "/link"));
    EXPECT_TRUE(std::filesystem::is_symlink(home_ + "/dangling"));
    EXPECT_EQ(Slurp("folder/file"), Slurp("plain"));
    EXPECT_EQ(Slurp("folder/none"), Slurp("plain"));
  }
}

TEST_F(OutputFiles, DevicesPipesAndDescriptorsAreWrittenInPlace) {
  for (const std::string writer : kWriters) {
    SCOPED_TRACE(writer);
    ASSERT_EQ(Run("rm -f pipe; mkfifo pipe; $M " + writer + " expected"), 0);
    EXPECT_EQ(Run("$M " + writer + " /dev/null"), 0) << Slurp("err");
    EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
    EXPECT_EQ(Run("cat pipe > piped & $M " + writer + " pipe; wait"), 0) << Slurp("err");
    EXPECT_EQ(Slurp("piped"), Slurp("expected"));
    EXPECT_TRUE(std::filesystem::is_fifo(home_ + "/pipe"));
    EXPECT_EQ(Run("$M " + writer + " /dev/stdout | cmp - expected"), 0) << Slurp("err");
    EXPECT_EQ(Run("exec 3> file; $M " + writer + " /dev/fd/3 && test $(stat -c %i file) = $(stat -Lc %i /dev/fd/3)"),
              0);
    EXPECT_EQ(Slurp("file"), Slurp("expected"));
    EXPECT_EQ(Run("$M " + writer + " - | cmp - expected"), 0) << Slurp("err");
  }
}

TEST_F(OutputFiles, NoFileOfTheDatabaseIsReplaced) {
  ASSERT_EQ(Run("ln -s D link; ln -s D/CURRENT to-current; ln -s D/new to-new; mkdir inner; ln -s ../D inner/db"), 0);
  const auto before = Database();
  for (const std::string writer : kWriters) {
    for (const char* target : {"D/CURRENT", "D/new", "link/CURRENT", "link/new", "D/../D/CURRENT", "$PWD/D/LOCK",
                               "to-current", "to-new", "inner/db/new", "D"}) {
      SCOPED_TRACE(writer + " " + target);
      EXPECT_EQ(Run("$M " + writer + " " + target), 3);
      EXPECT_THAT(Slurp("err"), HasSubstr("lies within the database directory D"));
    }
    SCOPED_TRACE(writer);
    EXPECT_EQ(Run("exec 3<> D/CURRENT; $M " + writer + " /dev/fd/3"), 3);
    EXPECT_TRUE(Database() == before);
    // Another name of a file of the database: only the name is replaced.
    EXPECT_EQ(Run("ln -f D/CURRENT name && $M " + writer + " name && $M check D"), 0) << Slurp("err");
    EXPECT_TRUE(Database() == before);
  }
}

TEST_F(OutputFiles, AScrubbedTraceIsWholeOrAbsent) {
  {
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open({}, home_ + "/D"));
    ASSERT_OK(db->StartTrace(home_ + "/trace"));
    ASSERT_OK(db->Put({}, "key", "value"));
  }
  EXPECT_EQ(Run("$M trace scrub trace scrubbed && $M trace dump scrubbed"), 0) << Slurp("err");
  EXPECT_EQ(ModeOf("scrubbed"), 0600u);
  for (const char* target : {"scrubbed", "trace"}) {
    EXPECT_EQ(Run(std::string("cp trace before; $M trace scrub trace ") + target), 3) << target;
    EXPECT_THAT(Slurp("err"), HasSubstr("exists; expected the name of a new file"));
    EXPECT_EQ(Slurp("trace"), Slurp("before"));
  }
  EXPECT_EQ(Run("$M trace scrub trace /dev/full"), 3);
  EXPECT_THAT(Slurp("err"), HasSubstr("/dev/full: cannot be written: No space left on device"));
  EXPECT_EQ(Run("(ulimit -f 0; $M trace scrub trace cut) 2>&1 | cat"), 0);
  EXPECT_THAT(Slurp("out"), HasSubstr("cut: cannot be written: File too large"));
  EXPECT_FALSE(std::filesystem::exists(home_ + "/cut"));
  EXPECT_EQ(Run("echo text > other; $M trace scrub other cut"), 1) << "no trace";
  EXPECT_FALSE(std::filesystem::exists(home_ + "/cut"));
  ExpectNothingBeside();
}

}  // namespace
}  // namespace mergedb::output_file_test
