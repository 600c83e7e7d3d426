// Goal: load takes nothing for the end of its input that is not the end: a read error, a directory, a line without a
// newline, a dump that was cut. What cannot be read creates no database, and input without lines fills no memory.
// Method: run the built program; reads fail through a library that the test builds with LD_PRELOAD, or by a descriptor
// that cannot be read.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "testing/temp_directory.h"

namespace mergedb::load_input_test {
namespace {

class LoadInput : public ::testing::Test {
 protected:
  int Run(const std::string& line) const {
    const std::string script = "cd " + home_ + "; M='" MERGEDB_COMMAND "'; " + line;
    const int status = std::system(("(" + script + ") > " + home_ + "/out 2> " + home_ + "/err").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string Slurp(const std::string& name) const {
    std::ifstream in(home_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  bool Exists(const std::string& name) const { return std::filesystem::exists(home_ + "/" + name); }
  void ExpectRefused(const std::string& line, const std::string& reason) const {
    EXPECT_EQ(Run(line), 3) << line;
    EXPECT_NE(Slurp("err").find(reason), std::string::npos) << line << ": " << Slurp("err");
  }

  const testing::TempDirectory directory_;
  const std::string home_ = directory_.path();
};

TEST_F(LoadInput, RefusesADirectoryAndWhatCannotBeRead) {
  ASSERT_EQ(Run("mkdir folder"), 0);
  for (const char* flags : {"", " -T", " --json", " --hex"}) {
    ExpectRefused(std::string("$M load D -f folder") + flags, "folder: a directory");
    ExpectRefused(std::string("$M load D < folder") + flags, "stdin: a directory");
    ExpectRefused(std::string("$M load D -f nothing") + flags, "nothing: cannot be opened: No such file");
    ExpectRefused(std::string("$M load D 0> write-only") + flags,
                  "stdin: line 0, offset 0: cannot be read: Bad file descriptor");
    EXPECT_FALSE(Exists("D")) << flags;
  }
  ExpectRefused("$M put D k - < folder", "stdin: offset 0: cannot be read: Is a directory");
  EXPECT_FALSE(Exists("D"));
}

// A library that lets read of descriptor 0 fail after 100,000 bytes.
constexpr const char* kFailingRead = R"(
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>
static size_t left = 100000;
ssize_t read(int fd, void* out, size_t bytes) {
  if (fd == 0) {
    if (left == 0) { errno = EIO; return -1; }
    if (bytes > left) bytes = left;
    left -= bytes;
  }
  return syscall(SYS_read, fd, out, bytes);
}
)";

TEST_F(LoadInput, ReportsAReadErrorWithItsPlace) {
  std::ofstream(home_ + "/eio.c") << kFailingRead;
  if (Run("cc -shared -fPIC -o eio.so eio.c") != 0) GTEST_SKIP() << "needs a C compiler";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer replaces read itself";
#endif
  {
    std::ofstream lines(home_ + "/lines"), json(home_ + "/json"), plain(home_ + "/plain");
    for (int i = 0; i < 20'000; ++i) {
      const std::string key = std::to_string(100'000 + i);
      lines << key << "\t87654321\n";  // 16 bytes: the error comes between two lines
      json << "{\"key\":\"" << key << "\",\"value\":\"v\"}\n";
      plain << key << "\nv\n";
    }
  }
  ExpectRefused("LD_PRELOAD=./eio.so $M load D < lines",
                "stdin: line 6251, offset 100000: cannot be read: Input/output error");
  EXPECT_NE(Slurp("err").find("loaded 6250 entries"), std::string::npos) << Slurp("err");
  ExpectRefused("LD_PRELOAD=./eio.so $M load J --json < json", "offset 100000: cannot be read: Input/output error");
  ExpectRefused("LD_PRELOAD=./eio.so $M load T -T < plain", "offset 100000: cannot be read: Input/output error");
  ExpectRefused("$M load A < lines && $M dump A > dump && LD_PRELOAD=./eio.so $M load B < dump",
                "offset 100000: cannot be read: Input/output error");
  ExpectRefused("LD_PRELOAD=./eio.so $M put P k - < lines", "stdin: offset 100000: cannot be read: Input/output error");
  EXPECT_FALSE(Exists("P"));
}

TEST_F(LoadInput, RefusesALastLineThatMayBeCut) {
  ExpectRefused("printf 'a\\t1\\nb\\tlong val' | $M load D", "stdin: line 2, offset 14: the last line has no newline");
  ASSERT_EQ(Run("$M scan D"), 0);
  EXPECT_EQ(Slurp("out"), "a\t1\n");
  ExpectRefused("printf 'k\\nv' | $M load -T T", "stdin: line 2, offset 3: the last line has no newline");
  ExpectRefused("printf '{\"key\":\"a\",\"value\":\"1\"}' | $M load --json J", "the last line has no newline");
  EXPECT_EQ(Run("printf 'b\\t\\n' | $M load D && $M get D b"), 0) << Slurp("err");
}

// Symptom: `dump A | load B` after a dump that failed made an empty database and succeeded.
TEST_F(LoadInput, OfAnEmptyInputIsNoSuccessAndMakesNoDatabase) {
  for (const std::string flags : {"", "-T", "--json", "-f /dev/null"}) {
    EXPECT_EQ(Run("$M dump absent | $M load " + flags + " E"), 1) << flags;
    EXPECT_NE(Slurp("err").find("the input is empty: nothing was loaded"), std::string::npos) << Slurp("err");
  }
  EXPECT_FALSE(Exists("E"));
}

// At every byte: a dump of several keyspaces that is cut is an error, also between two sections.
TEST_F(LoadInput, RefusesADumpThatIsCutAnywhere) {
  ASSERT_EQ(Run("$M put A k v && $M put A --keyspace b k v && $M put A --keyspace c k v && $M dump A > dump"), 0);
  const std::string dump = Slurp("dump");
  const size_t sections = dump.find("VERSION", 1);
  ASSERT_NE(sections, std::string::npos);
  for (size_t bytes = 1; bytes<dump.size(); bytes += bytes + 20> sections && bytes < sections + 3 ? 1 : 11) {
    std::ofstream(home_ + "/cut", std::ios::binary | std::ios::trunc) << dump.substr(0, bytes);
    ASSERT_EQ(Run("$M load B -f cut"), 3) << bytes << ": " << Slurp("err");
  }
  ASSERT_EQ(Run("$M load B -f dump && $M dump B | cmp - dump"), 0) << Slurp("err");
}

TEST_F(LoadInput, InputWithoutLinesIsRefusedInBoundedMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs more address space";
#endif
  ASSERT_EQ(Run("ulimit -v 1000000; $M put D k v"), 0) << "the bound leaves room for the command itself";
  const std::string bounded = "ulimit -v 1000000; ";
  ExpectRefused(bounded + "$M load D < /dev/zero", "stdin: line 1, offset ");
  EXPECT_NE(Slurp("err").find("expected a tab within the first 33554433 bytes"), std::string::npos) << Slurp("err");
  ExpectRefused(bounded + "$M load --json D < /dev/zero", "expected { within the first 1024 bytes");
  ExpectRefused(bounded + "$M load -T D < /dev/zero", "a line of more than 25165825 bytes");
  ExpectRefused(bounded + "(printf 'VERSION=3\\n'; cat /dev/zero) | $M load D", "a line of more than 16384 bytes");
  ExpectRefused(bounded + "(printf 'VERSION=3\\nformat=print\\nHEADER=END\\n '; cat /dev/zero) | $M load D",
                "a line of more than 25165825 bytes");
}

TEST_F(LoadInput, AKeyThatLooksLikeADumpIsAKey) {
  ASSERT_EQ(Run("$M put A VERSION=3 v && $M put A VERSION=3x w && $M scan A | $M load B && $M scan B"), 0)
      << Slurp("err");
  EXPECT_EQ(Slurp("out"), "VERSION=3\tv\nVERSION=3x\tw\n");
  ASSERT_EQ(Run("$M scan A --hex | $M load C --hex && $M scan A --json | $M load C --json && $M dump A | $M load C && "
                "$M scan C"),
            0)
      << Slurp("err");
  EXPECT_EQ(Slurp("out"), "VERSION=3\tv\nVERSION=3x\tw\n");
}

}  // namespace
}  // namespace mergedb::load_input_test
