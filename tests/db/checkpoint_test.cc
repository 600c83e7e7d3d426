// Goal: a checkpoint is a complete database of one moment, whatever runs at the same time, and is never half
// there. Method: real files in a temporary directory; the test opens the copy and reads and writes it
// separately; crashes run on files in memory.
#include "mergedb/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "env/held_files.h"
#include "mergedb/merge.h"
#include "testing/simulated_env.h"
#include "testing/temp_directory.h"
#include "testing/watched_file_system.h"

namespace mergedb::checkpoint_test {
namespace {

using Pairs = std::map<std::string, std::string>;
constexpr size_t kMemory = size_t{16} << 20;

class CheckpointTest : public ::testing::Test {
 protected:
  void SetUp() override { db_ = Open("db"); }
  std::string Path(const std::string& name) const { return home_ + "/" + name; }
  std::unique_ptr<DB> Open(const std::string& name, OpenMode mode = OpenMode::kCreateIfMissing) const {
    auto db = DB::Open({.mode = mode, .memory_bytes = kMemory, .write_buffer_bytes = size_t{1} << 20}, Path(name));
    EXPECT_TRUE(db) << db.error().ToString();
    return db ? std::move(*db) : nullptr;
  }
  static Pairs All(DB& db) {
    Pairs pairs;
    const auto it = db.NewIterator();
    for (it->SeekToFirst(); it->Valid(); it->Next()) pairs.emplace(it->key(), it->value());
    EXPECT_TRUE(it->status().ok()) << it->status().ToString();
    return pairs;
  }
  Pairs Read(const std::string& name) const {
    const auto db = Open(name, OpenMode::kMustExist);
    EXPECT_TRUE(db->CheckIntegrity().ok());
    return All(*db);
  }
  // Tables, a range delete, a merge operand, and a write that only the memtable and the WAL hold.
  void FillMixed(int keys = 20'000) {
    for (int i = 0; i < keys; ++i) ASSERT_TRUE(db_->Put({}, "key" + std::to_string(i), std::string(100, 'v')).ok());
    for (int i = 0; i < 500; ++i) ASSERT_TRUE(db_->Put({}, "large" + std::to_string(i), std::string(3000, 'w')).ok());
    ASSERT_TRUE(db_->Flush().ok());
    ASSERT_TRUE(db_->DeleteRange({}, "key2", "key5").ok());
    ASSERT_TRUE(db_->Merge({}, "counter", merge::AddU64(7)).ok());
    ASSERT_TRUE(db_->Put({}, "key3", "again").ok());
  }

  const testing::TempDirectory directory_;
  const std::string home_ = directory_.path();
  std::unique_ptr<DB> db_;
};

TEST_F(CheckpointTest, HoldsEverythingWrittenBefore) {
  FillMixed();
  const Pairs before = All(*db_);
  const auto made = Checkpoint(*db_, Path("copy"));
  ASSERT_TRUE(made) << made.error().ToString();
  EXPECT_GT(made->linked, 0u);
  EXPECT_EQ(made->files, made->linked + made->copied);
  EXPECT_EQ(Read("copy"), before);
  EXPECT_EQ(All(*db_), before);
}

TEST_F(CheckpointTest, LivesItsOwnLife) {
  FillMixed();
  const Pairs before = All(*db_);
  ASSERT_TRUE(Checkpoint(*db_, Path("copy")));
  const auto overwrite = [](DB& db, char filler) {
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 20'000; ++i)
        ASSERT_TRUE(db.Put({}, "key" + std::to_string(i), std::string(100, filler)).ok());
      ASSERT_TRUE(db.CompactRange(nullptr, nullptr).ok());
    }
  };
  overwrite(*db_, 'x');  // compactions make the linked tables obsolete; recycling must not overwrite them
  EXPECT_EQ(Read("copy"), before);
  const Pairs after = All(*db_);
  {
    const auto copy = Open("copy", OpenMode::kMustExist);
    overwrite(*copy, 'y');
  }
  EXPECT_EQ(All(*db_), after);
  EXPECT_TRUE(db_->CheckIntegrity().ok());
}

TEST_F(CheckpointTest, KeepsKeyspaces) {
  const auto keyspace = db_->CreateKeyspace("named");
  ASSERT_TRUE(keyspace) << keyspace.error().ToString();
  ASSERT_TRUE(db_->Put({}, *keyspace, "key", "named").ok());
  ASSERT_TRUE(db_->Put({}, "key", "default").ok());
  ASSERT_TRUE(Checkpoint(*db_, Path("copy")));
  const auto copy = Open("copy", OpenMode::kMustExist);
  const auto found = copy->OpenKeyspace("named");
  ASSERT_TRUE(found) << found.error().ToString();
  std::string value;
  ASSERT_TRUE(copy->Get({}, *found, "key", &value).ok());
  EXPECT_EQ(value, "named");
  EXPECT_EQ(All(*copy), (Pairs{{"key", "default"}}));
}

// Symptom: the copy lacked keys. Cause: the checkpoint took the SuperVersion first and the keyspace marker
// later. In between, a key was deleted and the first keyspace was created with a marker that is a prefix of
// that key. Consequence: the copy treated that key as a record of a keyspace.
TEST_F(CheckpointTest, KnowsNothingOfAFirstKeyspaceThatIsMadeMeanwhile) {
  ASSERT_TRUE(db_->Put({},
                       "\xff"
                       "key",
                       "value")
                  .ok());
  ASSERT_TRUE(db_->Put({}, "other", "value").ok());
  const Pairs before = All(*db_);
  bool is_made = false;
  const auto made = Checkpoint(*db_, Path("copy"), {.progress = [&](uint64_t, uint64_t) {
    if (std::exchange(is_made, true)) return true;
    EXPECT_TRUE(db_->Delete({},
                            "\xff"
                            "key")
                    .ok());
    EXPECT_TRUE(db_->CompactRange(nullptr, nullptr).ok());
    EXPECT_TRUE(db_->CreateKeyspace("named").has_value());
    return true;
  }});
  ASSERT_TRUE(made) << made.error().ToString();
  EXPECT_TRUE(is_made);
  EXPECT_EQ(Read("copy"), before);
  const auto names = Open("copy", OpenMode::kMustExist)->ListKeyspaces();
  EXPECT_TRUE(names && names->empty());
}

TEST_F(CheckpointTest, OfAReadOnlyDatabaseHasWhatItsLogHolds) {
  FillMixed();
  const Pairs before = All(*db_);
  db_ = nullptr;
  const auto reader = Open("db", OpenMode::kReadOnly);
  const auto made = Checkpoint(*reader, Path("copy"), {.may_link = false});
  ASSERT_TRUE(made) << made.error().ToString();
  EXPECT_EQ(made->linked, 0u);
  EXPECT_EQ(Read("copy"), before);
}

// Where a reader can hold no file, a program beside it may remove or overwrite what the checkpoint is about to copy.
TEST_F(CheckpointTest, OfAReadOnlyDatabaseSaysThatAFileWasReplaced) {
  testing::SimulatedEnv sim;
  Options options = sim.SmallOptions();
  const auto writer = DB::Open(options, testing::SimulatedEnv::kPath);
  ASSERT_TRUE(writer);
  const auto write = [&](char byte) {
    for (int i = 0; i < 2'000; ++i) {
      const size_t bytes = i % 10 == 0 ? 2'000 : 50;  // in blob files and in tables
      ASSERT_TRUE((*writer)->Put({}, "key" + std::to_string(i), std::string(bytes, byte)).ok());
    }
    ASSERT_TRUE((*writer)->CompactRange(nullptr, nullptr).ok());
  };
  write('a');
  env::HeldFiles without_holds(sim.files.get(), 0);
  options.mode = OpenMode::kReadOnly;
  options.env.file_system = &without_holds;
  const auto reader = DB::Open(options, testing::SimulatedEnv::kPath);
  ASSERT_TRUE(reader) << reader.error().ToString();
  for (char byte = 'b'; byte < 'i'; ++byte) write(byte);
  for (const bool may_link : {true, false}) {
    for (const bool verifies : {true, false}) {
      const auto made = Checkpoint(**reader, "/copy", {.may_link = may_link, .verify = verifies});
      ASSERT_FALSE(made);
      EXPECT_TRUE(made.error().IsBusy()) << made.error().ToString();
      EXPECT_NE(made.error().message().find("has replaced this file"), std::string_view::npos);
    }
  }
}

// An Env of LevelDB's has no hard links and never reopens a file for writing.
TEST_F(CheckpointTest, IsMadeWhereFilesAreOnlyAppendedTo) {
  testing::SimulatedEnv sim({.is_append_only = true});
  const auto db = sim.Open();
  ASSERT_TRUE(db);
  const Pairs pairs = {{"in a table", "and a blob file" + std::string(1000, 'v')}, {"in the log", "only"}};
  ASSERT_TRUE((*db)->Put({}, "in a table", pairs.at("in a table")).ok());
  ASSERT_TRUE((*db)->Flush().ok());
  ASSERT_TRUE((*db)->Put({}, "in the log", "only").ok());
  sim.files->AddFault({.op = testing::FileOp::kSync, .path_contains = "/copy"});
  const auto failed = Checkpoint(**db, "/copy");
  ASSERT_FALSE(failed);
  EXPECT_TRUE(failed.error().IsIOError()) << failed.error().ToString();
  const auto made = Checkpoint(**db, "/copy");
  ASSERT_TRUE(made) << made.error().ToString();
  EXPECT_EQ(made->linked + made->kept, 0u) << "nobody knows what of the first try is durable";
  const auto after = testing::SimulatedEnv::After(sim, testing::CrashMode::kMin, testing::CrashModel::kStrict, 1);
  const auto copy = DB::Open(after->SmallOptions(), "/copy");
  ASSERT_TRUE(copy) << copy.error().ToString();
  EXPECT_EQ(All(**copy), pairs);
  EXPECT_TRUE((*copy)->CheckIntegrity().ok());
}

TEST_F(CheckpointTest, OfAnEmptyDatabaseIsOne) {
  ASSERT_TRUE(Checkpoint(*db_, Path("copy/")));
  EXPECT_EQ(Read("copy"), Pairs());
}

TEST_F(CheckpointTest, HoldsWholeBatchesWhileWritersGoOn) {
  std::atomic<bool> is_over{false};
  std::atomic<uint64_t> written{0};
  std::thread writer([&] {
    for (uint64_t i = 0; !is_over; ++i) {
      WriteBatch batch;  // every tenth batch exceeds a memtable and is applied in pieces
      const int count = i % 10 == 9 ? 6000 : 2;
      for (int part = 0; part < count; ++part) {
        batch.Put("part" + std::to_string(part) + (i % 10 == 9 ? "big" : ""),
                  std::to_string(i) + std::string(200, '.'));
      }
      ASSERT_TRUE(db_->Write({}, batch).ok());
      written = i;
    }
  });
  for (int copy = 0; copy < 8; ++copy) {
    while (written < 20) std::this_thread::yield();
    const uint64_t at_least = written;
    const std::string name = "copy" + std::to_string(copy);
    const auto made = Checkpoint(*db_, Path(name));
    ASSERT_TRUE(made) << made.error().ToString();
    const Pairs pairs = Read(name);
    ASSERT_TRUE(pairs.contains("part0") && pairs.contains("part0big"));
    EXPECT_EQ(pairs.at("part0"), pairs.at("part1"));
    for (int part = 0; part < 6000; ++part)
      ASSERT_EQ(pairs.at("part" + std::to_string(part) + "big"), pairs.at("part0big"));
    EXPECT_GE(std::max(std::stoull(pairs.at("part0")), std::stoull(pairs.at("part0big"))), at_least);
  }
  is_over = true;
  writer.join();
}

TEST_F(CheckpointTest, InterruptedItIsNotThereAndIsGoneOnWith) {
  FillMixed();
  ASSERT_TRUE(db_->Flush().ok());
  const Pairs before = All(*db_);
  int left = 1;
  const auto stopped =
      Checkpoint(*db_, Path("copy"), {.may_link = false, .progress = [&](uint64_t, uint64_t) { return left-- > 0; }});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), Code::kAborted);
  EXPECT_FALSE(std::filesystem::exists(Path("copy")));
  const auto made = Checkpoint(*db_, Path("copy"), {.may_link = false});
  ASSERT_TRUE(made) << made.error().ToString();
  EXPECT_GT(made->kept, 0u);
  EXPECT_EQ(Read("copy"), before);
  EXPECT_FALSE(std::filesystem::exists(Path("copy.partial")));
}

// Symptom: of two calls for one target, one returns OK and its copy does not open. Cause: each removes files of the
// other.
TEST_F(CheckpointTest, ASecondCallForTheSameTargetIsBusy) {
  FillMixed(2'000);
  const Pairs before = All(*db_);
  int refused = 0;
  const auto made = Checkpoint(*db_, Path("copy"), {.progress = [&](uint64_t, uint64_t) {
    const auto second = Checkpoint(*db_, Path("copy/"));
    EXPECT_FALSE(second);
    EXPECT_TRUE(second.error().IsBusy()) << second.error().ToString();
    EXPECT_NE(second.error().message().find(Path("copy")), std::string_view::npos) << second.error().ToString();
    EXPECT_TRUE(Checkpoint(*db_, Path("other" + std::to_string(refused++))));
    return refused < 1000;
  }});
  ASSERT_TRUE(made) << made.error().ToString();
  EXPECT_GT(refused, 2);
  EXPECT_EQ(Read("copy"), before);
  EXPECT_EQ(Read("other0"), before);
  EXPECT_FALSE(std::filesystem::exists(Path("copy.partial")));
}

TEST_F(CheckpointTest, CallsForOneTargetAtOnceGiveOneWholeCopy) {
  FillMixed(500);
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(db_->Put({}, "round", std::to_string(round)).ok());
    std::atomic<int> whole{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        const auto made = Checkpoint(*db_, Path("copy"));
        whole += made.has_value();
        if (made) return;
        EXPECT_TRUE(made.error().IsBusy() || made.error().IsInvalidArgument()) << made.error().ToString();
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(whole, 1) << round;
    EXPECT_EQ(Read("copy").at("round"), std::to_string(round));
    EXPECT_FALSE(std::filesystem::exists(Path("copy.partial")));
    std::filesystem::remove_all(Path("copy"));
  }
}

TEST_F(CheckpointTest, ADamagedPieceOfAnInterruptedOneIsMadeAgain) {
  FillMixed();
  ASSERT_TRUE(db_->Flush().ok());
  const Pairs before = All(*db_);
  int left = 1000;
  ASSERT_FALSE(Checkpoint(*db_, Path("copy"), {.may_link = false, .progress = [&](uint64_t done, uint64_t all) {
                                                 return 2 * done < all && left-- > 0;
                                               }}));
  for (const auto& entry : std::filesystem::directory_iterator(Path("copy.partial"))) {
    const auto extension = entry.path().extension();
    if (extension == ".tbl" || extension == ".val") std::filesystem::resize_file(entry.path(), entry.file_size() / 2);
  }
  const auto made = Checkpoint(*db_, Path("copy"), {.may_link = false});
  ASSERT_TRUE(made) << made.error().ToString();
  EXPECT_EQ(made->kept, 0u);
  EXPECT_EQ(Read("copy"), before);
}

TEST_F(CheckpointTest, RefusesToReplaceAnything) {
  ASSERT_TRUE(db_->Put({}, "key", "value").ok());
  std::ofstream(Path("file")) << "text";
  std::filesystem::create_directories(Path("full.partial/mine"));
  std::filesystem::create_directories(Path("used/mine"));
  for (const char* target : {"file", "full", "used", "db"}) {
    const auto refused = Checkpoint(*db_, Path(target));
    ASSERT_FALSE(refused) << target;
    EXPECT_TRUE(refused.error().IsInvalidArgument()) << refused.error().ToString();
  }
  EXPECT_FALSE(std::filesystem::exists(Path("full.partial/LOCK"))) << "the directory is not ours";
  EXPECT_FALSE(Checkpoint(*db_, ""));
  EXPECT_FALSE(Checkpoint(*db_, Path("no/such/parent")));
}

// Each file system call that a checkpoint makes fails once: no copy exists then, and the next attempt makes
// it.
TEST_F(CheckpointTest, AFailureAnywhereLeavesNoCopyAndTheNextOneMakesIt) {
  FillMixed(200);
  const Pairs before = All(*db_);
  db_ = nullptr;
  for (uint64_t at = 1;; ++at) {
    uint64_t calls = 0;
    bool is_armed = false;
    testing::WatchedFileSystem files(DefaultEnv().file_system,
                                     {.before = [&](const testing::FileCall& call, size_t*) -> Status {
                                       if (!is_armed || call.op == testing::FileOp::kRead || ++calls != at) return {};
                                       return Status::IOError("injected");
                                     }});
    Env env = DefaultEnv();
    env.file_system = &files;
    auto db = DB::Open({.mode = OpenMode::kReadOnly, .memory_bytes = kMemory, .env = env}, Path("db"));
    ASSERT_TRUE(db) << db.error().ToString();
    is_armed = true;
    const auto made = Checkpoint(**db, Path("copy"));
    is_armed = false;
    const bool is_done = calls < at;  // the checkpoint made fewer calls than that
    // The rename may have succeeded if only the sync of the directory failed.
    if (!made && !std::filesystem::exists(Path("copy"))) {
      const auto again = Checkpoint(**db, Path("copy"));
      ASSERT_TRUE(again) << "call " << at << ": " << again.error().ToString();
    }
    ASSERT_EQ(All(*Open("copy", OpenMode::kReadOnly)), before) << "call " << at;
    std::filesystem::remove_all(Path("copy"));
    if (is_done) break;
  }
}

// No writes run here; keyspaces exist. tests/crash/checkpoint_cut_test.cc tests checkpoints beside writes,
// and the later life of the linked files.
TEST(CheckpointCrashes, AKillOrAPowerCutAtAnyCallLeavesAWholeCopyOrNone) {
  using testing::SimulatedEnv;
  const auto all = [](DB& db) {
    Pairs pairs;
    const auto named = db.OpenKeyspace("named");
    EXPECT_TRUE(named) << named.error().ToString();
    for (const Keyspace keyspace : {Keyspace(), *named}) {
      const auto it = db.NewIterator({.keyspace = keyspace});
      for (it->SeekToFirst(); it->Valid(); it->Next())
        pairs.emplace(std::to_string(keyspace.id()) + std::string(it->key()), it->value());
      EXPECT_TRUE(it->status().ok()) << it->status().ToString();
    }
    EXPECT_TRUE(db.CheckIntegrity().ok());
    return pairs;
  };
  SimulatedEnv sim;
  auto db = sim.Open();
  ASSERT_TRUE(db) << db.error().ToString();
  const auto named = (*db)->CreateKeyspace("named");
  ASSERT_TRUE(named) << named.error().ToString();
  const auto put = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      ASSERT_TRUE((*db)->Put({}, "key" + std::to_string(i), std::string(static_cast<size_t>(i % 200), 'v')).ok());
      ASSERT_TRUE((*db)->Put({}, *named, "key" + std::to_string(i), "named").ok());
    }
  };
  put(0, 300);
  ASSERT_TRUE((*db)->Flush().ok());
  ASSERT_TRUE((*db)->DeleteRange({}, "key2", "key25").ok());
  put(300, 350);
  ASSERT_TRUE((*db)->SyncWal().ok());
  const Pairs before = all(**db);

  uint64_t whole = 0, none = 0;
  const auto check = [&](testing::CrashMode mode, testing::CrashModel model, uint64_t call) {
    const auto after = SimulatedEnv::After(sim, mode, model, call);
    const auto is_there = after->files->IsDirectory("/copy");
    ASSERT_TRUE(is_there) << is_there.error().ToString();
    if (*is_there) {
      ++whole;
    } else {
      ++none;
      const auto source = after->Open();
      ASSERT_TRUE(source) << source.error().ToString();
      ASSERT_EQ(all(**source), before);
      const auto made = Checkpoint(**source, "/copy");
      ASSERT_TRUE(made) << made.error().ToString();
    }
    Options options = after->SmallOptions();
    options.mode = OpenMode::kMustExist;
    const auto copy = DB::Open(options, "/copy");
    ASSERT_TRUE(copy) << copy.error().ToString();
    ASSERT_EQ(all(**copy), before);
  };
  sim.files->SetOpHook([&](uint64_t call, const char* what, const std::string& path) {
    for (const testing::CrashModel model : testing::kCrashModels) {
      for (const testing::CrashMode mode : testing::kPowerCutModes) {
        SCOPED_TRACE(std::string(what) + " " + path + ", " + CrashModeName(mode) + " " + CrashModelName(model));
        if (!HasFatalFailure()) check(mode, model, call);
      }
    }
    if (!HasFatalFailure()) check(testing::CrashMode::kKill, testing::CrashModel::kStrict, call);
  });
  const auto made = Checkpoint(**db, "/copy");
  sim.files->SetOpHook({});
  ASSERT_TRUE(made) << made.error().ToString();
  EXPECT_GT(whole, 0u) << "cuts after the rename";
  EXPECT_GT(none, whole);
}

}  // namespace
}  // namespace mergedb::checkpoint_test
