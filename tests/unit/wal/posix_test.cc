// Goal: the WAL keeps its promises on the real file system, with a mapped WAL buffer, direct I/O, threads,
// and a process that really dies. Method: a temporary directory; the writer is a child process that ends
// without cleanup.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "env/posix_file_system.h"
#include "gtest/gtest.h"
#include "mergedb/env.h"
#include "testing/temp_directory.h"
#include "tests/unit/wal/wal_fixture.h"
#include "wal/wal.h"

namespace mergedb::wal {
namespace {

class PosixWal : public ::testing::TestWithParam<bool> {
 protected:
  Options LogOptions() {
    const Env env = DefaultEnv();
    Options options;
    options.file_system = env.file_system;
    options.executor = env.executor;
    options.directory = directory_.path();
    options.database_id = kDatabase;
    options.salt = 42;
    options.buffer_bytes = size_t{256} << 10;
    options.segment_bytes = size_t{1} << 20;
    options.use_mapping = GetParam();
    options.allocate_number = [this] { return kv::FileNumber(next_file_++); };
    return options;
  }

  // Returns how many frames replay returns; fails the test if they are not the first ones.
  uint64_t CountReplayed() {
    uint64_t count = 0;
    const format::VersionEdit::WalStart start = {.epoch = 1, .salt = 42, .sequence = 1};
    // WHY not the file system of DefaultEnv: DefaultEnv starts threads. The thread sanitizer refuses the next
    // test's fork from a process with threads.
    auto replayed = Replay(env::PosixFileSystem(), directory_.path(), kDatabase, start, {},
                           [&](kv::Sequence, std::string_view payload) {
                             EXPECT_EQ(payload, PayloadOf(count, payload.size()));
                             ++count;
                             return Status();
                           });
    EXPECT_OK(replayed);
    return count;
  }

  const testing::TempDirectory directory_;
  std::atomic<uint64_t> next_file_ = 4;
};
INSTANTIATE_TEST_SUITE_P(, PosixWal, ::testing::Values(true, false),
                         [](const auto& test) { return test.param ? "Mapped" : "InMemory"; });

TEST_P(PosixWal, FramesSurviveADyingProcess) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto log = Wal::Create(LogOptions());
    if (!log) _exit(1);
    for (uint64_t i = 0; i < 2000; ++i) {
      if (!Append(**log, PayloadOf(i, i % 3000)).ok()) _exit(2);
      if (i == 700 && !(*log)->MakeDurable().ok()) _exit(3);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(CountReplayed(), 2000u);
}

TEST_P(PosixWal, AppenderAndWalWriterWorkAtOnce) {
  auto log = Wal::Create(LogOptions());
  ASSERT_OK(log);
  for (uint64_t i = 0; i < 5000; ++i) {
    ASSERT_OK(Append(**log, PayloadOf(i, i % 1000)));
    if (i % 1000 == 999) { ASSERT_OK((*log)->MakeDurable()); }
    if (i == 3000) { ASSERT_OK(Append(**log, PayloadOf(++i, 200'000))); }
  }
  ASSERT_OK((*log)->failure());
  (*log)->Stop();
  EXPECT_EQ(CountReplayed(), 5000u);
}

}  // namespace
}  // namespace mergedb::wal
