// Goal: processes that open one environment for writing in turn wait for each other, as LMDB's do; a process that
// has it open already is told so at once. Method: children of fork, which open before the parent does; no test
// compares times: an environment counts how often mdb_env_open slept.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/lmdb/environment.h"

namespace mergedb {
namespace {

class LmdbProcesses : public ::testing::Test {
 protected:
  static MDB_env* Create() {
    MDB_env* env = nullptr;
    EXPECT_EQ(mdb_env_create(&env), 0);
    return env;
  }
  int Open(MDB_env* env, unsigned flags = 0) const {
    return mdb_env_open(env, home_.c_str(), flags | MDB_NOSYNC, 0640);
  }
  // The code of one open, put and close.
  int PutOnce(const std::string& key) const {
    MDB_env* const env = Create();
    MDB_txn* txn = nullptr;
    MDB_val k = Val(key), v = Val(key);
    int code = Open(env);
    if (code == 0) code = mdb_txn_begin(env, nullptr, 0, &txn);
    if (code == 0) code = mdb_put(txn, lmdb::kMainDbi, &k, &v, 0);
    if (code == 0) code = mdb_txn_commit(txn);
    mdb_env_close(env);
    return code;
  }
  // A child that has the environment open until Release or Kill.
  void StartHolder() {
    int opened[2], released[2];
    ASSERT_EQ(pipe(opened), 0);
    ASSERT_EQ(pipe(released), 0);
    holder_ = fork();
    ASSERT_GE(holder_, 0);
    char byte = 0;
    if (holder_ == 0) {
      close(released[1]);
      MDB_env* const env = Create();
      byte = Open(env) == 0 ? 'y' : 'n';
      (void)!::write(opened[1], &byte, 1);
      (void)!::read(released[0], &byte, 1);
      mdb_env_close(env);
      _exit(0);
    }
    ASSERT_EQ(::read(opened[0], &byte, 1), 1);
    ASSERT_EQ(byte, 'y');
    for (const int fd : {opened[0], opened[1], released[0]}) close(fd);
    release_ = released[1];
  }
  void Release() {
    close(release_);
    int status = 0;
    ASSERT_EQ(waitpid(holder_, &status, 0), holder_);
    EXPECT_EQ(status, 0);
  }

  const testing::TempDirectory directory_;
  const std::string home_ = directory_.path();
  pid_t holder_ = 0;
  int release_ = -1;
};

TEST_F(LmdbProcesses, OpenPutAndCloseInTurnAndAllPutsArrive) {
  constexpr int kProcesses = 4, kRounds = 25;
  std::vector<pid_t> children;
  for (int child = 0; child < kProcesses; ++child) {
    children.push_back(fork());
    ASSERT_GE(children.back(), 0);
    if (children.back() != 0) continue;
    int failed = 0;
    for (int i = 0; i < kRounds; ++i) failed += PutOnce(std::to_string(child) + ' ' + std::to_string(i)) != 0;
    _exit(failed);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << "calls failed";
  }
  MDB_env* const env = Create();
  ASSERT_EQ(Open(env), 0);
  MDB_stat stat{};
  ASSERT_EQ(mdb_env_stat(env, &stat), 0);
  EXPECT_EQ(stat.ms_entries, size_t{kProcesses} * kRounds);
  mdb_env_close(env);
}

TEST_F(LmdbProcesses, AnOpenWaitsForAProcessThatCloses) {
  StartHolder();
  MDB_env* const env = Create();
  std::thread releaser([&] {
    while (env->open_pauses < 3) usleep(1000);
    Release();
  });
  EXPECT_EQ(Open(env), 0);
  releaser.join();
  EXPECT_GE(env->open_pauses, 3u);
  mdb_env_close(env);
}

TEST_F(LmdbProcesses, AReaderBesideAWriterDoesNotWait) {
  ASSERT_EQ(PutOnce("key"), 0);
  StartHolder();
  MDB_env* const env = Create();
  EXPECT_EQ(Open(env, MDB_RDONLY), 0);
  EXPECT_EQ(env->open_pauses, 0u);
  mdb_env_close(env);
  Release();
}

TEST_F(LmdbProcesses, AProcessThatHasItOpenIsToldAtOnce) {
  MDB_env* const env = Create();
  ASSERT_EQ(Open(env), 0);
  MDB_env* const second = Create();
  EXPECT_EQ(Open(second), EBUSY);
  EXPECT_EQ(second->open_pauses, 0u);
  mdb_env_close(second);
  mdb_env_close(env);
}

// Sleeps for five seconds.
TEST_F(LmdbProcesses, AnOpenBesideAProcessThatStaysEndsWithBusy) {
  StartHolder();
  MDB_env* const env = Create();
  EXPECT_EQ(Open(env), EBUSY);
  EXPECT_GT(env->open_pauses, 100u);
  EXPECT_LT(env->open_pauses, 1000u);
  mdb_env_close(env);
  Release();
}

}  // namespace
}  // namespace mergedb
