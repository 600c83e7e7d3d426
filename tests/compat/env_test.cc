// An Env of the program's own: all files go through it, under LevelDB's names, written once from front to
// back, by calls that an Env has. Its errors are returned to the program. A database that was written with
// the Env opens without it, and the other way round. Crashes with such an Env: tests/crash/power_cut_test.cc,
// on an append-only file system.
#include "leveldb/env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "leveldb/cache.h"
#include "leveldb/db.h"
#include "leveldb/helpers/memenv.h"
#include "leveldb/write_batch.h"
#include "testing/temp_directory.h"

namespace leveldb {
namespace {

using testing::HasSubstr;

// Forwards all calls, and counts and checks them.
class Watched final : public EnvWrapper {
 public:
  explicit Watched(Env* target) : EnvWrapper(target) {}

  struct Counts {
    std::atomic<int> opens{0}, appends{0}, flushes{0}, syncs{0}, closes{0};
  };
  Counts counts;
  std::atomic<bool> refuses_appends{false};
  std::atomic<bool> refuses_syncs{false};
  std::atomic<int> fails_at{0};  // this creation, append, sync, close or rename from now on fails; 0: none
  std::set<std::string> Names() {
    const std::lock_guard lock(mutex_);
    return names_;
  }
  // Names that were created after the last sync of a MANIFEST (in LevelDB's Env, that sync makes names
  // durable).
  std::set<std::string> UnsyncedNames() {
    const std::lock_guard lock(mutex_);
    return unsynced_;
  }

  Status NewWritableFile(const std::string& fname, WritableFile** result) override {
    Note(fname);
    if (FailsNow()) return Status::IOError(fname, "not made");
    WritableFile* made = nullptr;
    const Status status = target()->NewWritableFile(fname, &made);
    *result = status.ok() ? new File(this, fname, made) : nullptr;
    return status;
  }
  Status NewRandomAccessFile(const std::string& fname, RandomAccessFile** result) override {
    Note(fname);
    ++counts.opens;
    return target()->NewRandomAccessFile(fname, result);
  }
  Status RenameFile(const std::string& source, const std::string& to) override {
    Note(source);
    Note(to);
    if (FailsNow()) return Status::IOError(source, "not renamed");
    return target()->RenameFile(source, to);
  }

 private:
  struct File final : public WritableFile {
    File(Watched* owner, std::string path, WritableFile* made) : env(*owner), name(std::move(path)), file(made) {}
    Status Append(const Slice& data) override {
      ++env.counts.appends;
      return env.refuses_appends || env.FailsNow() ? Status::IOError(name, "refused") : file->Append(data);
    }
    Status Flush() override { return ++env.counts.flushes, file->Flush(); }
    Status Sync() override {
      ++env.counts.syncs;
      if (env.refuses_syncs || env.FailsNow()) return Status::IOError(name, "sync refused");
      if (name.find("/MANIFEST-") != std::string::npos) env.SyncNames();
      return file->Sync();
    }
    Status Close() override {
      ++env.counts.closes;
      const Status status = file->Close();
      return env.FailsNow() ? Status::IOError(name, "close failed") : status;
    }
    Watched& env;
    const std::string name;
    const std::unique_ptr<WritableFile> file;
  };
  bool FailsNow() { return fails_at > 0 && --fails_at == 0; }
  void Note(const std::string& path) {
    const std::lock_guard lock(mutex_);
    const std::string name = path.substr(path.find_last_of('/') + 1);
    if (names_.insert(name).second) unsynced_.insert(name);
  }
  void SyncNames() {
    const std::lock_guard lock(mutex_);
    unsynced_.clear();
  }

  std::mutex mutex_;
  std::set<std::string> names_;
  std::set<std::string> unsynced_;
};

class OwnEnv : public testing::Test {
 protected:
  OwnEnv() : memory_(NewMemEnv(Env::Default())), env_(memory_.get()) {
    options_.create_if_missing = true;
    options_.write_buffer_size = 64 << 10;
    options_.env = &env_;
  }

  Status Open() {
    db_.reset();
    DB* opened = nullptr;
    const Status status = DB::Open(options_, name_, &opened);
    db_.reset(opened);
    return status;
  }
  void Fill(int count, char value) {
    for (int i = 0; i < count; ++i) {
      const Status status = db_->Put({}, "key" + std::to_string(i), std::string(100, value));
      ASSERT_TRUE(status.ok()) << status.ToString();
    }
  }
  std::string Get(const std::string& key) {
    std::string value;
    const Status status = db_->Get({}, key, &value);
    return status.ok() ? value : status.ToString();
  }
  std::vector<std::string> Children(Env* env) {
    std::vector<std::string> names;
    (void)env->GetChildren(name_, &names);
    return names;
  }

  std::string name_ = "/db";
  const std::unique_ptr<Env> memory_;
  Watched env_;
  Options options_;
  std::unique_ptr<DB> db_;
};

TEST_F(OwnEnv, AllFilesGoThroughItUnderLevelDbsNames) {
  ASSERT_TRUE(Open().ok());
  Fill(3000, 'a');
  db_->CompactRange(nullptr, nullptr);
  Fill(100, 'b');
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(Get("key50"), std::string(100, 'b'));
  EXPECT_EQ(Get("key2999"), std::string(100, 'a'));
  const auto in_grammar =
      testing::MatchesRegex("[0-9]{6,}\\.(ldb|log|dbtmp)|MANIFEST-[0-9]{6,}|CURRENT|LOCK|LOG(\\.old)?");
  for (const std::string& name : env_.Names()) EXPECT_THAT(name, in_grammar);
  for (const std::string& name : Children(memory_.get())) EXPECT_THAT(name, in_grammar);
  EXPECT_GT(env_.counts.opens, 0);
  EXPECT_FALSE(Env::Default()->FileExists(name_)) << "and not through any other";
}

TEST_F(OwnEnv, AWriteIsOneAppendAndOneFlush) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(db_->Put({}, "first", "makes the segment").ok());
  const int appends = env_.counts.appends;
  const int flushes = env_.counts.flushes;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(db_->Put({}, "key", "value").ok());
  EXPECT_EQ(env_.counts.appends - appends, 10);
  EXPECT_EQ(env_.counts.flushes - flushes, 10);
}

TEST_F(OwnEnv, ASyncedWriteSyncsTheLogAndItsName) {
  ASSERT_TRUE(Open().ok());
  WriteOptions synced;
  synced.sync = true;
  ASSERT_TRUE(db_->Put(synced, "key", "value").ok());
  for (const std::string& name : env_.UnsyncedNames()) EXPECT_EQ(name.find(".log"), std::string::npos) << name;
  const int syncs = env_.counts.syncs;
  ASSERT_TRUE(db_->Put(synced, "key", "value").ok());
  EXPECT_EQ(env_.counts.syncs - syncs, 1);
}

TEST_F(OwnEnv, WhatItRefusesFailsTheWriteAndLaterOnesWorkAgain) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(db_->Put({}, "before", "1").ok());
  env_.refuses_appends = true;
  const Status status = db_->Put({}, "refused", "1");
  EXPECT_TRUE(status.IsIOError());
  EXPECT_THAT(status.ToString(), HasSubstr("refused"));
  env_.refuses_appends = false;
  const Status after = db_->Put({}, "after", "1");
  EXPECT_TRUE(after.ok()) << after.ToString();
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(Get("before"), "1");
  EXPECT_EQ(Get("after"), "1");
}

TEST_F(OwnEnv, AnEnvThatFailsAtOnceFailsTheOpen) {
  env_.refuses_syncs = true;
  const Status status = Open();
  EXPECT_TRUE(status.IsIOError());
  EXPECT_THAT(status.ToString(), HasSubstr("sync refused"));
  env_.refuses_syncs = false;
  EXPECT_TRUE(Open().ok());
}

// Where there is no database a repair creates an empty one. If a call of the Env fails, nothing remains of
// the attempt.
TEST_F(OwnEnv, ARepairOfNothingThatFailsAnywhereLeavesNothing) {
  int failed = 0;
  for (int nth = 1; nth < 500; ++nth) {
    name_ = "/db" + std::to_string(nth);
    const bool is_there = nth % 2 == 0;  // the directory
    if (is_there) { ASSERT_TRUE(WriteStringToFile(memory_.get(), "mine", name_ + "/notes.txt").ok()); }
    env_.fails_at = nth;
    const Status status = RepairDB(name_, options_);
    const bool was_reached = env_.fails_at <= 0;
    env_.fails_at = 0;
    if (status.ok()) {
      options_.create_if_missing = false;
      EXPECT_TRUE(Open().ok()) << nth;
      db_.reset();
      if (!was_reached) break;
      continue;
    }
    ++failed;
    std::vector<std::string> names = Children(memory_.get());
    // the database was complete, and could not be closed
    if (std::find(names.begin(), names.end(), "CURRENT") != names.end()) {
      options_.create_if_missing = false;
      const Status opened = Open();
      EXPECT_TRUE(opened.ok()) << nth << ": " << opened.ToString();
      db_.reset();
      continue;
    }
    EXPECT_EQ(names, is_there ? std::vector<std::string>{"notes.txt"} : std::vector<std::string>())
        << nth << ": " << status.ToString();
  }
  EXPECT_GT(failed, 5);
}

TEST_F(OwnEnv, LargeBatchesAndValuesSurviveReopening) {
  ASSERT_TRUE(Open().ok());
  WriteBatch batch;
  for (int i = 0; i < 5000; ++i) batch.Put("batch" + std::to_string(i), std::string(50, 'x'));
  batch.Put("large", std::string(3 << 20, 'y'));
  ASSERT_TRUE(db_->Write({}, &batch).ok());
  ASSERT_TRUE(db_->Put({}, "last", "z").ok());
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(Get("batch4999"), std::string(50, 'x'));
  EXPECT_EQ(Get("large").size(), size_t{3} << 20);
  EXPECT_EQ(Get("last"), "z");
  EXPECT_TRUE((db_.reset(), DestroyDB(name_, options_)).ok());
  EXPECT_TRUE(Children(memory_.get()).empty());
}

TEST_F(OwnEnv, ManyLivesLeaveFewFiles) {
  for (int life = 0; life < 5; ++life) {
    ASSERT_TRUE(Open().ok());
    Fill(2000, static_cast<char>('a' + life));
    db_->CompactRange(nullptr, nullptr);
    ASSERT_EQ(Get("key7"), std::string(100, static_cast<char>('a' + life)));
  }
  db_.reset();
  const std::vector<std::string> names = Children(memory_.get());
  const auto count = [&](const std::string& part) {
    return std::count_if(names.begin(), names.end(),
                         [&](const std::string& name) { return name.find(part) != std::string::npos; });
  };
  EXPECT_LE(count(".log"), 3) << testing::PrintToString(names);
  EXPECT_EQ(count("MANIFEST"), 1) << testing::PrintToString(names);
}

TEST_F(OwnEnv, RepairSavesWhatIsWhole) {
  ASSERT_TRUE(Open().ok());
  Fill(2000, 'a');
  db_.reset();
  std::string current;
  ASSERT_TRUE(ReadFileToString(memory_.get(), name_ + "/CURRENT", &current).ok());
  ASSERT_TRUE(memory_->RemoveFile(name_ + "/CURRENT").ok());
  const Status repaired = RepairDB(name_, options_);
  ASSERT_TRUE(repaired.ok()) << repaired.ToString();
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(Get("key1999"), std::string(100, 'a'));
}

// Without the Env, a repair must not treat the tables and the WAL as missing and create an empty database.
TEST_F(OwnEnv, RepairWithoutItSavesWhatItWrote) {
  const mergedb::testing::TempDirectory directory;
  name_ = directory / "db";
  Watched own(Env::Default());
  for (const bool has_manifest : {true, false}) {
    options_.env = &own;
    ASSERT_TRUE(Open().ok());
    Fill(2000, 'a');
    db_->CompactRange(nullptr, nullptr);
    ASSERT_TRUE(db_->Put({}, "only", "in the log").ok());
    db_.reset();
    options_.env = Env::Default();
    for (const std::string& each : Children(Env::Default())) {
      if (each != "CURRENT" && (has_manifest || !each.starts_with("MANIFEST-"))) continue;
      ASSERT_TRUE(Env::Default()->RemoveFile(name_ + "/" + each).ok());
    }
    const Status repaired = RepairDB(name_, options_);
    ASSERT_TRUE(repaired.ok()) << repaired.ToString();
    ASSERT_TRUE(Open().ok());
    EXPECT_EQ(Get("key1999"), std::string(100, 'a'));
    EXPECT_EQ(Get("only"), "in the log");
    db_.reset();
    EXPECT_TRUE(DestroyDB(name_, options_).ok());
    for (const std::string& each : Children(Env::Default())) {
      std::vector<std::string> lost;
      (void)Env::Default()->GetChildren(name_ + "/" + each, &lost);
      for (const std::string& file : lost) (void)Env::Default()->RemoveFile(name_ + "/" + each + "/" + file);
      (void)Env::Default()->RemoveDir(name_ + "/" + each);
    }
    (void)Env::Default()->RemoveDir(name_);
  }
  EXPECT_TRUE(Env::Default()->RemoveDir(directory.path()).ok());
}

// Opens with an Env and without one in turns; each open finds tables, WAL and MANIFEST with the names of the
// other.
TEST_F(OwnEnv, OthersOpenWhatItWroteAndItOpensTheirs) {
  const mergedb::testing::TempDirectory directory;
  name_ = directory / "db";
  Watched own(Env::Default());
  for (int life = 0; life < 4; ++life) {
    options_.env = life % 2 == 0 ? &own : Env::Default();
    const Status opened = Open();
    ASSERT_TRUE(opened.ok()) << life << ": " << opened.ToString();
    if (life > 0) {
      EXPECT_EQ(Get("key1999"), std::string(100, static_cast<char>('a' + life - 1)));
      EXPECT_EQ(Get("only" + std::to_string(life - 1)), "in the log");
    }
    Fill(2000, static_cast<char>('a' + life));
    ASSERT_TRUE(db_->Put({}, "only" + std::to_string(life), "in the log").ok());
  }
  db_.reset();
  EXPECT_TRUE(DestroyDB(name_, options_).ok());
  EXPECT_TRUE(Env::Default()->RemoveDir(directory.path()).ok());
}

}  // namespace
}  // namespace leveldb
