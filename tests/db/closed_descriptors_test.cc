// Goal: the command works, and damages nothing, if a shell starts it with any of the descriptors 0, 1 and 2 closed: no
// message is written into a file of the database. Method: all eight combinations, with verbs that print long messages
// while the database is open; then the database is verified, and its contents are compared.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "testing/temp_directory.h"

namespace mergedb::closed_descriptors_test {
namespace {

class ClosedDescriptors : public ::testing::Test {
 protected:
  int Run(const std::string& line) const {
    const std::string script = "cd " + home_ + "; M='" MERGEDB_COMMAND "'; " + line;
    const int status = std::system(("(" + script + ")").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string Slurp(const std::string& name) const {
    std::ifstream in(home_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  const testing::TempDirectory directory_;
  const std::string home_ = directory_.path();
};

constexpr const char* kNames[] = {"0<&-", "1>&-", "2>&-"};

TEST_F(ClosedDescriptors, NoMessageGoesIntoTheDatabase) {
  // The message about this header has 10 kB: more than the head of a MANIFEST.
  std::ofstream(home_ + "/bad.dump") << "VERSION=3\nformat=bytevalue\nno header line " << std::string(10'000, 'x')
                                     << "\n";
  std::ofstream(home_ + "/lines") << "loaded\tyes\n";
  for (int closed = 0; closed < 8; ++closed) {
    std::string redirections;
    for (int i = 0; i < 3; ++i)
      redirections += closed >> i & 1 ? std::string(" ") + kNames[i]
                      : i == 0        ? ""
                                      : " " + std::to_string(i) + ">/dev/null";
    SCOPED_TRACE(redirections);
    ASSERT_EQ(Run("rm -rf D; $M put D k v && $M compact D && $M put D last x"), 0);
    for (int i = 0; i < 4; ++i) ASSERT_EQ(Run("$M load D -f bad.dump" + redirections), 3);
    EXPECT_EQ(Run("$M load D -f lines" + redirections), 0);
    EXPECT_EQ(Run("$M keyspaces D --create a --drop nosuch" + redirections), 3);
    EXPECT_EQ(Run("$M put D other 1" + redirections), 0);
    EXPECT_EQ(Run("$M compact D" + redirections), 0);
    // Output that nobody can read, and input that cannot be read, are errors.
    const bool has_stdin = (closed & 1) == 0, has_stdout = (closed & 2) == 0;
    EXPECT_EQ(Run("$M scan D" + redirections), has_stdout ? 0 : 3);
    EXPECT_EQ(Run("echo v | $M put D piped -" + redirections), has_stdin ? 0 : 3);
    EXPECT_EQ(Run("echo 'from\tstdin' | $M load D" + redirections), has_stdin ? 0 : 3);
    ASSERT_EQ(Run("$M verify D > report"), 0) << Slurp("report");
    ASSERT_EQ(Run("$M scan D > out"), 0);
    EXPECT_EQ(Slurp("out"), std::string(has_stdin ? "from\tstdin\n" : "") + "k\tv\nlast\tx\nloaded\tyes\nother\t1\n" +
                                (has_stdin ? "piped\tv\\n\n" : ""));
  }
}

}  // namespace
}  // namespace mergedb::closed_descriptors_test
