// Goal: processes that open one environment for writing in turn wait for each other, as LMDB's do; a process that
// has it open already is told so at once; what a reader was shown stays as it is, whatever another process writes; an
// archive is unpacked once, however many processes open it. Method: children of fork, which open before the parent
// does; no test compares times: an environment counts how often mdb_env_open slept.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
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

// ---- an archive that several processes open at once

// The archive of an environment that holds "first" and enough bytes that unpacking takes a while.
std::string ArchiveOfFirst(const std::string& home) {
  MDB_env* env = nullptr;
  EXPECT_EQ(mdb_env_create(&env), 0);
  EXPECT_EQ(mdb_env_set_mapsize(env, size_t{64} << 20), 0);
  EXPECT_EQ(mdb_env_open(env, home.c_str(), 0, 0640), 0);
  MDB_txn* txn = nullptr;
  EXPECT_EQ(mdb_txn_begin(env, nullptr, 0, &txn), 0);
  for (const std::string key : {"first", "second", "third"}) {
    const std::string value(size_t{1} << 20, 'v');
    MDB_val k = Val(key), v = Val(value);
    EXPECT_EQ(mdb_put(txn, lmdb::kMainDbi, &k, &v, 0), 0);
  }
  EXPECT_EQ(mdb_txn_commit(txn), 0);
  std::FILE* const file = std::tmpfile();
  EXPECT_EQ(mdb_env_copyfd(env, fileno(file)), 0);
  mdb_env_close(env);
  std::string archive(static_cast<size_t>(lseek(fileno(file), 0, SEEK_END)), '\0');
  EXPECT_EQ(pread(fileno(file), archive.data(), archive.size(), 0), static_cast<ssize_t>(archive.size()));
  (void)std::fclose(file);
  return archive;
}

// In a child: opens the environment; a writer puts "later", a reader looks for "first". The code.
int OpenAndUse(const std::string& path, unsigned flags) {
  MDB_env* env = nullptr;
  int code = mdb_env_create(&env);
  if (code == 0) code = mdb_env_open(env, path.c_str(), flags, 0640);
  MDB_txn* txn = nullptr;
  if (code == 0) code = mdb_txn_begin(env, nullptr, flags & MDB_RDONLY, &txn);
  const std::string key = flags & MDB_RDONLY ? "first" : "later";
  MDB_val k = Val(key), v = Val(key);
  if (code == 0)
    code = flags & MDB_RDONLY ? mdb_get(txn, lmdb::kMainDbi, &k, &v) : mdb_put(txn, lmdb::kMainDbi, &k, &v, 0);
  if (code == 0) code = mdb_txn_commit(txn);
  mdb_env_close(env);
  return code;
}

TEST_F(LmdbProcesses, ProcessesThatOpenAnArchiveUnpackItOnceAndLoseNoWrite) {
  const std::string archive = ArchiveOfFirst(home_);
  const testing::TempDirectory places;
  const unsigned kinds[] = {0, MDB_RDONLY, MDB_RDONLY, MDB_RDONLY};
  for (int round = 0; round < 30; ++round) {
    const unsigned place = round % 2 == 0 ? 0 : MDB_NOSUBDIR;
    SCOPED_TRACE("round " + std::to_string(round));
    const std::string path = places / std::to_string(round);
    if (place == 0) std::filesystem::create_directory(path);
    std::ofstream(place == 0 ? path + "/data.mdb" : path, std::ios::binary) << archive;
    int gate[2];
    ASSERT_EQ(pipe(gate), 0);
    std::vector<pid_t> children;
    for (const unsigned kind : kinds) {
      children.push_back(fork());
      ASSERT_GE(children.back(), 0);
      if (children.back() != 0) continue;
      char byte = 0;
      close(gate[1]);
      (void)!::read(gate[0], &byte, 1);  // until the parent closes it
      _exit(std::abs(OpenAndUse(path, kind | place)) % 256);
    }
    close(gate[0]);
    close(gate[1]);
    for (const pid_t child : children) {
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    }
    MDB_env* const env = Create();
    ASSERT_EQ(mdb_env_open(env, path.c_str(), place, 0640), 0);
    MDB_txn* txn = nullptr;
    ASSERT_EQ(mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn), 0);
    for (const std::string key : {"first", "later"}) {
      MDB_val k = Val(key), v{};
      EXPECT_EQ(mdb_get(txn, lmdb::kMainDbi, &k, &v), 0) << key;
    }
    mdb_txn_abort(txn);
    mdb_env_close(env);
  }
}

// ---- readers beside a writer

// On a page that both processes see.
struct Progress {
  std::atomic<int> rounds{0};
  std::atomic<uint64_t> recycled{0};     // files that the writer has overwritten
  std::atomic<bool> has_to_wait{false};  // the writer waits, when all it has written is in tables and blob files
  std::atomic<bool> waits{false};
};

constexpr int kKeys = 2000;
std::string KeyOf(int i) { return "key" + std::to_string(100'000 + i); }
// Every 20th is in a blob file.
std::string ValueOf(int i, int round) {
  std::string value = std::to_string(i) + " of round " + std::to_string(round) + ' ';
  value.resize(i % 20 == 0 ? 5000 : 100, static_cast<char>('a' + round % 26));
  return value;
}

[[noreturn]] void Overwrite(const std::string& home, Progress* progress) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  MDB_env* env = nullptr;
  if (mdb_env_create(&env) != 0) _exit(1);
  if (mdb_env_set_mapsize(env, size_t{1} << 30) != 0) _exit(1);
  if (mdb_env_open(env, home.c_str(), MDB_NOSYNC, 0640) != 0) _exit(2);
  for (int round = 1;; ++round) {
    MDB_txn* txn = nullptr;
    if (mdb_txn_begin(env, nullptr, 0, &txn) != 0) _exit(3);
    for (int i = 0; i < kKeys; ++i) {
      const std::string key = KeyOf(i), value = ValueOf(i, round);
      MDB_val k = Val(key), v = Val(value);
      if (mdb_put(txn, lmdb::kMainDbi, &k, &v, 0) != 0) _exit(4);
    }
    if (mdb_txn_commit(txn) != 0 || !env->db->Flush().ok()) _exit(5);
    if (round % 4 == 0 && !env->db->CompactRange(nullptr, nullptr).ok()) _exit(6);
    std::string text;
    if (env->db->GetProperty("mergedb.files_recycled", &text))
      progress->recycled = std::strtoull(text.c_str(), nullptr, 10);
    progress->rounds = round;
    if (!progress->has_to_wait) continue;
    if (!env->db->CompactRange(nullptr, nullptr).ok()) _exit(7);
    progress->waits = true;
    while (progress->has_to_wait) usleep(1000);
    progress->waits = false;
  }
}

TEST_F(LmdbProcesses, WhatAReaderWasShownStaysWhileAnotherProcessOverwritesEverything) {
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* const progress = new (page) Progress;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) Overwrite(home_, progress);
  bool is_running = true;
  const auto wait_for = [&](const auto& is_reached) {
    while (is_running && !is_reached()) {
      is_running = waitpid(child, nullptr, WNOHANG) == 0;
      usleep(1000);
    }
    ASSERT_TRUE(is_running) << "the writer ended";
  };
  for (int open = 0; open < 3; ++open) {
    wait_for([&] { return progress->rounds >= 5 && !progress->waits; });
    progress->has_to_wait = true;
    wait_for([&] { return progress->waits.load(); });
    MDB_env* const env = Create();
    ASSERT_EQ(Open(env, MDB_RDONLY), 0);
    MDB_txn* txn = nullptr;
    ASSERT_EQ(mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn), 0);
    std::vector<std::pair<std::string_view, std::string>> shown;
    MDB_cursor* cursor = nullptr;
    ASSERT_EQ(mdb_cursor_open(txn, lmdb::kMainDbi, &cursor), 0);
    MDB_val k, v;
    size_t in_place = 0;
    while (mdb_cursor_get(cursor, &k, &v, MDB_NEXT) == 0) {
      const std::string_view value(static_cast<char*>(v.mv_data), v.mv_size);
      shown.emplace_back(value, value);
      in_place += txn->transaction().Lasts(value);
    }
    mdb_cursor_close(cursor);
    ASSERT_EQ(shown.size(), size_t{kKeys});
    EXPECT_EQ(in_place, size_t{kKeys});
    EXPECT_EQ(txn->root->arena.memory_bytes(), 0u);
    const int rounds = progress->rounds;
    const uint64_t recycled = progress->recycled;
    progress->has_to_wait = false;
    wait_for([&] { return progress->rounds >= rounds + 8 && progress->recycled > recycled; });
    for (int i = 0; i < kKeys; ++i) {
      const auto& [bytes, expected] = shown[static_cast<size_t>(i)];
      ASSERT_TRUE(bytes == expected) << "key " << i << " of open " << open;
    }
    mdb_txn_abort(txn);
    mdb_env_close(env);
  }
  if (is_running) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  munmap(page, 4096);
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
