// File calls of the features other than plain puts and gets fail, one in each run: keyspaces, range deletes,
// merge operands, blob files, transactions, checks. A call that returns OK has happened and is right; a
// failed call changes no more than it reports; without the fault everything works again.
// Method: a directory of many small tables, made once, with two keyspaces or none; a fixed script runs on a
// copy of it repeatedly, and run n fails the n-th call of a kind: the first ones one by one, later ones in
// growing steps. The script has the same result, however much of it an earlier run has done.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "mergedb/db.h"
#include "mergedb/merge.h"
#include "mergedb/transaction.h"
#include "testing/seed.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "tests/crash/each_call.h"

namespace mergedb::testing {
namespace {

using Pairs = std::map<std::string, std::string>;

constexpr int kKeys = 240;
constexpr int kKeysOfATable = 8;
// Makes the first keyspace search every table for keys that begin with its marker.
constexpr std::string_view kHighKey = "\xff\xff";

std::string Numbered(const char* prefix, int i) {
  std::string digits = std::to_string(1000 + i);
  return prefix + digits.substr(1);
}

// Every third value is large and goes to a blob file.
std::string ValueOf(int i) { return std::to_string(i) + std::string(i % 3 == 0 ? 200 : 20, 'v'); }

class Features {
 public:
  Features(std::unique_ptr<SimulatedEnv> sim, bool has_keyspaces, bool is_mapped)
      : sim_(std::move(sim)), has_keyspaces_(has_keyspaces), is_mapped_(is_mapped) {}

  SimulatedEnv& sim() { return *sim_; }
  FaultFileSystem& files() { return *sim_->files; }
  uint64_t failures() const { return failures_; }
  void Kill() { db_ = nullptr; }

  Status Open() {
    Options options = sim_->SmallOptions();
    options.use_mapped_wal_buffer = is_mapped_;
    options.open_tables_max = 16;  // fewer than there are, so reads and compactions reopen tables
    auto db = DB::Open(options, SimulatedEnv::kPath);
    if (db) db_ = std::move(*db);
    return db.status();
  }

  // Many tables in which keys, operands, blob indexes and range deletes overlap.
  void Prepare() {
    ASSERT_OK(Open());
    Keyspace crowd, small;
    if (has_keyspaces_) {
      crowd = db_->CreateKeyspace("crowd").value();
      small = db_->CreateKeyspace("small").value();
      ASSERT_OK(db_->Put({}, small, "one", "1"));
    }
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_OK(db_->Put({}, Numbered("k", i), ValueOf(i)));
      ASSERT_OK(has_keyspaces_ ? db_->Put({}, crowd, Numbered("q", i), ValueOf(i)) : Status());
      ASSERT_OK(db_->Merge({}, Numbered("m", i % 10), merge::MaxU64(static_cast<uint64_t>(i))));
      ASSERT_OK(db_->Put({}, kHighKey, "of every table"));
      const bool deletes = i % 40 == 30, flushes = i % kKeysOfATable == 0;
      ASSERT_OK(deletes ? db_->DeleteRange({}, Numbered("k", i - 20), Numbered("k", i - 15)) : Status());
      ASSERT_OK(flushes ? db_->Flush() : Status());
    }
    ASSERT_OK(db_->Close());
    db_ = nullptr;
  }

  // Every feature once. A step that needs the result of a failed step is skipped.
  void Script() {
    Keyspaces();
    Deletes();
    LargeBatch();
    InTransactions();
    Reads();
    Note(db_->SyncWal(), "sync");
    Note(db_->Flush(), "flush");
    Reads();
    const std::string lower = Numbered("k", 40), upper = Numbered("k", 120);
    const std::string_view from = lower, to = upper;
    Note(db_->CompactRange(&from, &to), "compact range");
    if (const auto crowd = db_->OpenKeyspace("crowd"))
      Note(db_->CompactRange(*crowd, nullptr, nullptr), "compact keyspace");
    Reads();
    Note(db_->CheckIntegrity(), "check");
    (void)db_->ApproximateSizes({{"a", "z"}});
    std::string text;
    EXPECT_TRUE(db_->GetProperty("mergedb.stats", &text));
    Note(db_->WaitForCompaction(), "wait");
  }

  // The contents after the script, without a fault.
  void CheckEnd() {
    Pairs expected;
    for (int i = 0; i < kKeys; ++i) {
      if (!IsDeleted(i)) expected[Numbered("k", i)] = ValueOf(i);
    }
    for (int i = 0; i < 10; ++i) expected[Numbered("m", i)] = merge::FromU64(static_cast<uint64_t>(kKeys - 10 + i));
    expected["in transaction"] = "yes";
    expected[std::string(kHighKey)] = "of every table";
    Status status;
    EXPECT_EQ(Scan({}, &status), expected);
    EXPECT_OK(status);
    const auto names = db_->ListKeyspaces();
    ASSERT_OK(names.status());
    std::string all;
    for (const KeyspaceEntry& each : *names) all += each.name + " ";
    EXPECT_EQ(all, has_keyspaces_ ? "crowd made small within " : "made within ");
    EXPECT_OK(db_->CheckIntegrity());
  }

 private:
  // Deleted while the directory was made, or by the script.
  static bool IsDeleted(int i) { return (i % 40 >= 10 && i % 40 < 15) || (i >= 200 && i < 220); }

  void Note(const Status& status, const std::string& what) {
    if (status.ok() || status.IsNotFound()) return;
    ++failures_;
    EXPECT_TRUE(status.IsIOError() && status.message().find("injected") != std::string_view::npos)
        << what << ": " << status.ToString();
  }

  void NoteRead(const Status& status, const std::string& value, const std::string& expected) {
    Note(status, "get");
    EXPECT_EQ(status.ok() ? value : expected, expected);
  }

  void Keyspaces() {
    const auto made = db_->CreateKeyspace("made", {.may_exist = true});
    Note(StatusOf(made), "create");
    if (made) {
      Note(db_->Put({}, *made, "x", "1"), "put");
      Note(db_->Merge({}, *made, "n", merge::MaxU64(7)), "merge");
      Note(db_->DeletePrefix({}, *made, "f"), "delete prefix");
    }
    const auto gone = db_->CreateKeyspace("gone", {.may_exist = true});
    Note(StatusOf(gone), "create");
    if (gone) {
      Note(db_->Put({}, *gone, "x", "1"), "put");
      Note(db_->DropKeyspace({}, *gone), "drop");
    }
    const auto small = db_->OpenKeyspace("small");
    Note(StatusOf(small), "open keyspace");
    if (small) {
      Note(db_->ClearKeyspace({}, *small), "clear");
      Note(db_->Put({}, *small, "two", "2"), "put");
    }
    Note(StatusOf(db_->ListKeyspaces()), "list");
  }

  // The batch fills many memtables, each of which makes a blob file; the last value is larger than one write
  // to the blob file.
  void LargeBatch() {
    WriteBatch batch;
    for (int i = 0; i < 40; ++i) batch.Put(Numbered("large", i), std::string(40'000, 'l'));
    batch.Put("largest", std::string(1'200'000, 'l'));
    Note(db_->Write({}, batch), "large batch");
    Note(db_->Flush(), "flush");
    Note(db_->DeletePrefix({}, "large"), "delete prefix");
  }

  void Deletes() {
    Note(db_->DeleteRange({}, Numbered("k", 200), Numbered("k", 220)), "delete range");
    if (const auto crowd = db_->OpenKeyspace("crowd"))
      Note(db_->DeleteRange({}, *crowd, Numbered("q", 0), Numbered("q", 100)), "delete range");
  }

  void InTransactions() {
    auto transaction = Transaction::Begin(*db_);
    Note(StatusOf(transaction), "begin");
    if (!transaction) return;
    const auto within = (*transaction)->CreateKeyspace("within", {.may_exist = true});
    Note(StatusOf(within), "create in a transaction");
    const auto dropped = (*transaction)->CreateKeyspace("dropped", {.may_exist = true});
    Note(StatusOf(dropped), "create in a transaction");
    Note(StatusOf((*transaction)->ListKeyspaces()), "list in a transaction");
    if (within) Note((*transaction)->Put(*within, "k", "v"), "put in a transaction");
    if (dropped) Note((*transaction)->DropKeyspace(*dropped), "drop in a transaction");
    Note((*transaction)->Put("in transaction", "yes"), "put in a transaction");
    std::string value;
    NoteRead((*transaction)->Get(Numbered("k", 1), &value), value, ValueOf(1));
    Note((*transaction)->Commit(), "commit");
  }

  Pairs Scan(const IteratorOptions& options, Status* status) {
    Pairs found;
    const auto it = db_->NewIterator(options);
    for (it->SeekToFirst(); it->Valid(); it->Next()) found.emplace(it->key(), it->value());
    *status = it->status();
    return found;
  }

  // Everything that a read returns is right.
  void Reads() {
    for (int i = 0; i < kKeys; i += 3) {
      std::string value;
      const Status status = db_->Get({}, Numbered("k", i), &value);
      NoteRead(status, value, ValueOf(i));
      EXPECT_TRUE(!status.IsNotFound() || IsDeleted(i)) << i;
    }
    std::string counted;
    const Status status = db_->Get({}, Numbered("m", 3), &counted);
    NoteRead(status, counted, merge::FromU64(kKeys - 7));
    const std::string prefix = "k1";
    Status scanned;
    const Pairs found = Scan({.prefix = prefix}, &scanned);
    Note(scanned, "scan");
    for (const auto& [key, value] : found) EXPECT_EQ(value, ValueOf(std::stoi(key.substr(1))));
    const auto back = db_->NewIterator({.lower = Numbered("k", 0), .upper = Numbered("k", 50)});
    for (back->SeekToLast(); back->Valid(); back->Prev())
      EXPECT_EQ(back->value(), ValueOf(std::stoi(std::string(back->key().substr(1)))));
    Note(back->status(), "scan backwards");
  }

  std::unique_ptr<SimulatedEnv> sim_;
  const bool has_keyspaces_;
  const bool is_mapped_;
  std::unique_ptr<DB> db_;
  uint64_t failures_ = 0;
};

class FeatureErrors : public ::testing::TestWithParam<std::tuple<FileOp, bool, bool>> {
 protected:
  void SetUp() override { prepared_.Prepare(); }
  static FileOp op() { return std::get<0>(GetParam()); }
  static bool has_keyspaces() { return std::get<1>(GetParam()); }
  static bool is_mapped() { return std::get<2>(GetParam()); }
  static Features Copy(Features& features) { return Features(CopyOf(features.files()), has_keyspaces(), is_mapped()); }

  // Returns true if the fault was hit.
  bool Live(const Fault& fault) {
    Features features = Copy(prepared_);
    features.files().AddFault(fault);
    if (Status status = features.Open(); !status.ok()) {
      EXPECT_TRUE(status.IsIOError()) << status.ToString();
      features.files().ClearFaults();
      EXPECT_OK(features.Open());
    }
    if (HasFailure()) return false;
    features.Script();
    const bool is_hit = features.files().faults_hit() > 0;
    features.files().ClearFaults();
    features.sim().PassTime(6);
    const uint64_t failures = features.failures();
    features.Script();
    EXPECT_EQ(features.failures(), failures) << "it goes on failing without a fault";
    features.CheckEnd();
    features.Kill();
    Features again = Copy(features);
    EXPECT_OK(again.Open());
    if (!HasFailure()) again.CheckEnd();
    return is_hit;
  }

  Features prepared_ =
      Features(std::make_unique<SimulatedEnv>(SimulatedEnv::Options{.seed = 5}), has_keyspaces(), is_mapped());
};

TEST_P(FeatureErrors, AreToldAndLeaveNothingHalfDone) {
  for (const bool is_sticky : {false, true}) {
    uint64_t lives = 0;
    for (uint64_t n = 1;; n += 1 + n / (IsFullSize() ? 64 : 3)) {
      SCOPED_TRACE(std::string(OpName(op())) + " " + std::to_string(n) + (is_sticky ? " and all after it" : ""));
      if (!Live({.op = op(), .nth = n, .sticky = is_sticky}) || HasFailure()) break;
      ++lives;
    }
    EXPECT_TRUE(lives > 0 || (op() == FileOp::kMap && !is_mapped()));
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, FeatureErrors,
                         ::testing::Combine(::testing::Values(FileOp::kOpen, FileOp::kCreate, FileOp::kRead,
                                                              FileOp::kWrite, FileOp::kSync, FileOp::kSizeOf,
                                                              FileOp::kRename, FileOp::kRemove, FileOp::kSyncDirectory,
                                                              FileOp::kList, FileOp::kClose, FileOp::kMap),
                                            ::testing::Bool(), ::testing::Bool()),
                         [](const auto& given) {
                           return std::string(OpName(std::get<0>(given.param))) +
                                  (std::get<1>(given.param) ? "WithKeyspaces" : "") +
                                  (std::get<2>(given.param) ? "Mapped" : "Written");
                         });

// Each write of a blob file: growing steps would skip the write in the middle of a file.
class BlobFileErrors : public FeatureErrors {};

TEST_P(BlobFileErrors, AreToldAndLeaveNothingHalfDone) {
  uint64_t n = 1;
  while (Live({.op = op(), .path_contains = ".val", .nth = n}) && !HasFailure()) ++n;
  EXPECT_GT(n, 10u);
}

INSTANTIATE_TEST_SUITE_P(Writes, BlobFileErrors, ::testing::Values(std::tuple(FileOp::kWrite, false, false)));

}  // namespace
}  // namespace mergedb::testing
