// Goal: every verb of the command that reads a database works beside a process that writes to it all the time: no verb
// reports damage, none fails. Method: a child process overwrites the database in batches with small buffers, so that it
// replaces all files every few moments; the verbs run one after the other. MERGEDB_FULL=1: many more rounds.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "mergedb/db.h"
#include "testing/seed.h"
#include "testing/temp_directory.h"

namespace mergedb {
namespace {

constexpr int kKeys = 3'000;

std::string KeyOf(int i) { return "key" + std::to_string(10'000 + i); }

[[noreturn]] void WriteForEver(const std::string& path, std::atomic<uint64_t>* rounds) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  auto db = DB::Open(
      {.memory_bytes = size_t{2} << 20, .write_buffer_bytes = size_t{64} << 10, .blob_value_bytes_min = 800}, path);
  if (!db) _exit(1);
  for (uint64_t round = 1;; ++round) {
    for (int i = 0; i < kKeys;) {
      WriteBatch batch;
      for (int n = 0; n < 64 && i < kKeys; ++n, ++i) {
        batch.Put(KeyOf((i * 701) % kKeys), std::to_string(round) + std::string(i % 5 == 0 ? 1'000 : 300, '.'));
      }
      if (!(*db)->Write({}, batch).ok()) _exit(2);
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    rounds->store(round);
  }
}

class ReadingVerbs : public ::testing::Test {
 protected:
  ReadingVerbs() {
    void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    rounds_ = new (page) std::atomic<uint64_t>(0);
    child_ = fork();
    if (child_ == 0) WriteForEver(home_ + "/db", rounds_);
  }
  ~ReadingVerbs() override {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    munmap(rounds_, 4096);
  }
  bool WriterRuns() const { return waitpid(child_, nullptr, WNOHANG) == 0; }

  // $M is the program, $D the database, $H a directory for outputs.
  int Run(const std::string& line) const {
    const std::string command = "(M='" MERGEDB_COMMAND "'; D='" + home_ + "/db'; H='" + home_ + "'; " + line + ") > " +
                                home_ + "/out 2> " + home_ + "/err";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string Slurp(const std::string& name) const {
    std::ifstream in(home_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  const testing::TempDirectory directory_;
  const std::string home_ = directory_.path();
  std::atomic<uint64_t>* rounds_ = nullptr;
  pid_t child_ = -1;
};

TEST_F(ReadingVerbs, WorkBesideAWriter) {
  while (*rounds_ < 2) ASSERT_TRUE(WriterRuns()) << "the writer ended";
  const std::string verbs[] = {
      "$M check $D",
      "$M check $D --json",
      "$M scan $D --count",
      "$M scan $D --reverse --limit 2000",
      "$M get $D key10007",
      "$M stat $D",
      "$M stat $D --json",
      "$M stat $D -e -a",
      "$M estimate $D",
      "$M keyspaces $D",
      "$M dump $D -f $H/dump",
      "$M inspect $D --html $H/page.html",
      "$M copy $D $H/copy --quiet && $M check $H/copy",
      "$M copy $D $H/copy --quiet --no-links && $M check $H/copy",
      "$M export-leveldb $D $H/export --quiet",
      "$M metrics $D",
  };
  const uint64_t rounds = testing::Sized(3, 100, 1);
  for (uint64_t round = 0; round < rounds; ++round) {
    for (const std::string& verb : verbs) {
      SCOPED_TRACE(verb + ", round " + std::to_string(round));
      const int exit = Run(verb);
      const std::string error = Slurp("err");
      EXPECT_EQ(exit, 0) << error;
      for (const char* alarm : {"Corruption", "repair", "checksum"})
        EXPECT_EQ(error.find(alarm), std::string::npos) << error;
      if (verb.find("--count") != std::string::npos) { EXPECT_EQ(Slurp("out"), std::to_string(kKeys) + "\n"); }
      std::filesystem::remove_all(home_ + "/copy");
      std::filesystem::remove_all(home_ + "/export");
    }
  }
  EXPECT_TRUE(WriterRuns()) << "the writer ended";
}

}  // namespace
}  // namespace mergedb
