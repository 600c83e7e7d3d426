#include "testing/cut_workload.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include "base/assert.h"
#include "mergedb/merge.h"
#include "testing/counters.h"
#include "testing/log_lines.h"

namespace mergedb::testing {
namespace {

constexpr size_t kShortSteps = 8;  // workloads with at most this many steps use a single hot key
constexpr size_t kSmallValueBytes = 200;
constexpr size_t kMiddleValueBytes = 1'500;
constexpr size_t kLargeValueBytes = 40'000;
constexpr size_t kSmallRecords = 320;
constexpr uint64_t kLargeBatchRecords = 30;
constexpr size_t kGroupWriters = 6;
constexpr uint64_t kLongSleepNanos = 6'000'000'000;  // long enough for the retry of a failed background step
constexpr int kSecondsToRest = 15;

// Whether this thread of the process sleeps: reads the state letter after the name in its stat line.
bool IsAsleep(pid_t thread) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", static_cast<int>(thread));
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[256];
  const ssize_t got = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  text[std::max<ssize_t>(got, 0)] = '\0';
  const char* name_end = std::strrchr(text, ')');
  return name_end != nullptr && name_end[1] != '\0' && name_end[2] == 'S';
}

// Writers that queue behind the writer whose call is running, in a known order: each starts when the previous one
// sleeps. A writer sleeps only in the writer queue.
class Followers {
 public:
  explicit Followers(std::function<Status(size_t)> write) : write_(std::move(write)) {}
  ~Followers() { Join(); }

  void Start() {
    if (!threads_.empty()) return;
    threads_.reserve(kGroupWriters);
    for (size_t i = 0; i < kGroupWriters; ++i) {
      std::atomic<pid_t> id{0};
      threads_.emplace_back([this, i, &id] {
        id = static_cast<pid_t>(::syscall(SYS_gettid));
        statuses_[i] = write_(i);
      });
      while (id == 0) std::this_thread::yield();
      for (int seen = 0; seen < 2; seen = IsAsleep(id) ? seen + 1 : 0)
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  void Join() {
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  const Status& status(size_t i) const { return statuses_[i]; }

 private:
  const std::function<Status(size_t)> write_;
  std::vector<std::thread> threads_;
  Status statuses_[kGroupWriters];
};

}  // namespace

Options OptionsFor(const CutSetup& setup, SimulatedEnv* sim) {
  Options options = sim->SmallOptions();
  if (setup.geometry) Choose(*setup.geometry, &options);
  options.style = setup.style;
  options.use_mapped_wal_buffer = setup.use_mapping;
  if (setup.separates) options.blob_value_bytes_min = 1;
  if (setup.has_log) options.log_bytes_max = kSmallLogBytes;
  return options;
}

Result<std::unique_ptr<DB>> OpenFor(const CutSetup& setup, SimulatedEnv* sim) {
  ASSIGN_OR_RETURN(auto db, DB::Open(OptionsFor(setup, sim), SimulatedEnv::kPath));
  return setup.tenancy ? NewKeyspaceDb(std::move(db), *setup.tenancy) : std::move(db);
}

CrashOracle::State ReadForward(DB& db, const IteratorOptions& options, Status* status) {
  CrashOracle::State state;
  const auto it = db.NewIterator(options);
  for (it->SeekToFirst(); it->Valid(); it->Next()) state.emplace_hint(state.end(), it->key(), it->value());
  *status = it->status();
  return state;
}

// ---- CutBooks ---------------------------------------------------------------------------------------------

uint64_t CutBooks::Begin(const std::vector<CrashOracle::Change>& changes, Durability durability) {
  base::Lock lock(mutex_);
  return oracle_.Begin(changes, durability != Durability::kNoWal);
}

void CutBooks::Returned(uint64_t commit, Durability durability, const Status& status) {
  base::Lock lock(mutex_);
  if (!status.ok()) return oracle_.Failed(commit, status.outcome_unknown());
  if (durability == Durability::kNoWal) return;
  returned_ = std::max(returned_, commit);
  if (durability == Durability::kSynced) durable_ = std::max(durable_, commit);
}

uint64_t CutBooks::begun() const {
  base::Lock lock(mutex_);
  return oracle_.begun();
}

void CutBooks::Synced(uint64_t commit) {
  base::Lock lock(mutex_);
  durable_ = std::max(durable_, commit);
}

void CutBooks::Flushed(uint64_t commit) {
  base::Lock lock(mutex_);
  durable_ = std::max(durable_, commit);
  flushed_ = std::max(flushed_, commit);
}

CrashOracle::Owed CutBooks::OwedAfter(CrashMode mode) const {
  base::Lock lock(mutex_);
  if (mode == CrashMode::kLostSync) return {};
  const uint64_t logged = mode == CrashMode::kKill ? std::max(returned_, durable_) : durable_;
  return {.logged = logged, .unlogged = flushed_};
}

CrashOracle CutBooks::oracle() const {
  base::Lock lock(mutex_);
  return oracle_;
}

// ---- the changes of a step --------------------------------------------------------------------------------

uint64_t CutWorkload::Draw(size_t index, uint64_t salt, uint64_t bound) const {
  return base::Random(setup_.seed * 0x9E3779B97F4A7C15u + index * 64 + salt).Uniform(bound);
}

std::string CutWorkload::FreshKey(size_t index, uint64_t salt) const {
  return "k" + std::to_string(Draw(index, salt, 60));
}

std::string CutWorkload::HotKey(size_t index) const {
  return "hot" + std::to_string(setup_.steps.size() <= kShortSteps ? 0 : Draw(index, 1, 3));
}

std::string CutWorkload::Value(size_t index, uint64_t salt, size_t bytes) const {
  std::string value = std::to_string(index) + "." + std::to_string(salt) + ":";
  value.resize(value.size() + Draw(index, salt + 2, bytes), static_cast<char>('a' + index % 26));
  return value;
}

CutWorkload::Draft CutWorkload::DraftFor(char letter, size_t index) const {
  using Kind = CrashOracle::Kind;
  const size_t bytes = setup_.steps.size() <= kShortSteps ? kSmallValueBytes : kMiddleValueBytes;
  const auto put = [&](std::string key, uint64_t salt, size_t bytes_max) {
    return CrashOracle::Change{.kind = Kind::kPut, .key = std::move(key), .value = Value(index, salt, bytes_max)};
  };
  const auto append = [&](std::string key, uint64_t salt) {
    return CrashOracle::Change{.kind = Kind::kAppend, .key = std::move(key), .value = "+" + Value(index, salt, 8)};
  };
  switch (letter) {
    case 'p': return {.changes = {put(FreshKey(index, 3), 0, bytes)}};
    case 'o':  // alternately a put and a merge
      return {.changes = {index % 2 == 0 ? put(HotKey(index), 0, bytes) : append(HotKey(index), 0)}};
    case 'd': return {.changes = {{.kind = Kind::kDelete, .key = HotKey(index)}}};
    case 'b':
      return {.changes = {put(FreshKey(index, 3), 0, bytes),
                          {.kind = Kind::kDelete, .key = HotKey(index)},
                          put(FreshKey(index, 4), 1, bytes),
                          put("twice", 2, bytes),
                          put("twice", 3, bytes),
                          append("twice", 5),
                          append("list", 6)}};
    case 'e': {  // deletes a range of some keys or of all; the range may delete the batch's first put
      std::string begin = Draw(index, 6, 8) == 0 ? "" : FreshKey(index, 7),
                  end = Draw(index, 6, 8) == 0 ? "z" : FreshKey(index, 8);
      if (end < begin) std::swap(begin, end);
      return {.changes = {put(FreshKey(index, 3), 0, bytes),
                          {.kind = Kind::kDeleteRange, .key = std::move(begin), .value = std::move(end)},
                          put(FreshKey(index, 4), 1, bytes)}};
    }
    case 'x': {
      Draft draft = DraftFor('b', index);
      draft.transaction = index % 2 == 0 ? TransactionKind::kSingleWriter : TransactionKind::kOptimistic;
      draft.durability = Draw(index, 9, 3) == 0 ? Durability::kSynced : Durability::kProcessCrash;
      return draft;
    }
    case 's': return {.changes = {put(FreshKey(index, 3), 0, bytes)}, .durability = Durability::kSynced};
    case 'n': return {.changes = {put(HotKey(index), 0, bytes)}, .durability = Durability::kNoWal};
    case 'l': return {.changes = {put(FreshKey(index, 3), 0, kLargeValueBytes)}};
    case 'a': {
      Draft draft;
      if (index % 2 == 1) {  // many records, so that a batch of few bytes overfills the memtable
        draft.changes.assign(kSmallRecords,
                             CrashOracle::Change{.kind = Kind::kDelete, .key = FreshKey(index, 30), .value = {}});
        draft.changes.push_back(put(FreshKey(index, 30), 30, kSmallValueBytes));
        return draft;
      }
      for (uint64_t i = 30; i < 30 + kLargeBatchRecords; ++i) {
        draft.changes.push_back(i % 4 == 0 ? append(FreshKey(index, i), i)
                                           : put(FreshKey(index, i), i, 2 * kMiddleValueBytes));
      }
      return draft;
    }
    default: ASSERT(false, "not a letter that writes"); return {};
  }
}

// ---- steps ------------------------------------------------------------------------------------------------

std::string CutWorkload::Outcome(const char* what, const Status& status) {
  on_return_();
  if (status.ok()) return "";
  if (!HasFaulted() || !status.IsIOError()) return std::string(what) + ": " + status.ToString();
  sim_->clock.SleepNanos(kLongSleepNanos);
  return "";
}

std::string CutWorkload::Open() {
  if (setup_.has_log && sim_->files->Files().empty()) {
    const Status status = WriteNearlyFullLog(*sim_->files, SimulatedEnv::kPath);
    if (!status.ok()) return "LOG: " + status.ToString();
  }
  auto db = OpenFor(setup_, sim_);
  if (!db && HasFaulted()) db = OpenFor(setup_, sim_);
  if (!db) return "open: " + db.status().ToString();
  db_ = std::move(*db);
  return Outcome("open", db.status());
}

std::string CutWorkload::Close() {
  snapshot_ = nullptr;
  const uint64_t last = books_->begun();
  const Status status = db_->Close();
  if (status.ok()) books_->Flushed(last);
  db_ = nullptr;
  return Outcome("close", status);
}

Status CutWorkload::CommitTransaction(const Draft& draft) {
  ASSIGN_OR_RETURN(const auto transaction,
                   Transaction::Begin(*db_, {.kind = *draft.transaction, .durability = draft.durability}));
  for (const CrashOracle::Change& change : draft.changes) {
    std::string value;
    const Status got = transaction->Get(change.key, &value);
    if (!got.ok() && !got.IsNotFound()) return got;
    switch (change.kind) {
      case CrashOracle::Kind::kPut: RETURN_IF_ERROR(transaction->Put(change.key, change.value)); break;
      case CrashOracle::Kind::kDelete: RETURN_IF_ERROR(transaction->Delete(change.key)); break;
      case CrashOracle::Kind::kDeleteRange: RETURN_IF_ERROR(transaction->DeleteRange(change.key, change.value)); break;
      case CrashOracle::Kind::kAppend:
        RETURN_IF_ERROR(transaction->Merge(change.key, merge::Append(change.value)));
        break;
    }
  }
  RETURN_IF_ERROR(transaction->SetSavepoint());
  RETURN_IF_ERROR(transaction->Put("never there", "rolled back"));
  RETURN_IF_ERROR(transaction->DeleteRange("", "z"));
  RETURN_IF_ERROR(transaction->RollbackToSavepoint());
  return transaction->Commit();
}

Status CutWorkload::Commit(const Draft& draft, uint64_t commit) {
  if (draft.transaction) {
    const Status status = CommitTransaction(draft);
    books_->Returned(commit, draft.durability, status);
    return status;
  }
  WriteBatch batch;
  for (const CrashOracle::Change& change : draft.changes) {
    switch (change.kind) {
      case CrashOracle::Kind::kPut: batch.Put(change.key, change.value); break;
      case CrashOracle::Kind::kDelete: batch.Delete(change.key); break;
      case CrashOracle::Kind::kDeleteRange: batch.DeleteRange(change.key, change.value); break;
      case CrashOracle::Kind::kAppend: batch.Merge(change.key, merge::Append(change.value)); break;
    }
  }
  const Status status = db_->Write({.durability = draft.durability}, batch);
  books_->Returned(commit, draft.durability, status);
  return status;
}

std::string CutWorkload::Write(const Draft& draft) {
  return Outcome("write", Commit(draft, books_->Begin(draft.changes, draft.durability)));
}

// The followers start at the first file operation of the syncing writer. They are in the queue before it continues.
std::string CutWorkload::WriteAsGroup(size_t index) {
  static constexpr Durability kAsked[kGroupWriters] = {Durability::kSynced,       Durability::kProcessCrash,
                                                       Durability::kProcessCrash, Durability::kNoWal,
                                                       Durability::kNoWal,        Durability::kProcessCrash};
  Draft leader = DraftFor('s', index);
  Draft drafts[kGroupWriters];
  uint64_t commits[kGroupWriters] = {};
  const uint64_t turn = Draw(index, 9, kGroupWriters);
  const uint64_t first = books_->Begin(leader.changes, leader.durability);
  for (size_t i = 0; i < kGroupWriters; ++i) {
    drafts[i].durability = kAsked[(i + turn) % kGroupWriters];
    drafts[i].changes = {{.key = "writer" + std::to_string(i), .value = Value(index, 20 + i, kSmallValueBytes)},
                         {.key = "turn", .value = Value(index, 30 + i, kSmallValueBytes)}};
    commits[i] = books_->Begin(drafts[i].changes, drafts[i].durability);
  }
  Followers followers([&](size_t i) { return Commit(drafts[i], commits[i]); });
  at_operation_ = [&] { followers.Start(); };
  Status status = Commit(leader, first);
  followers.Start();  // if there was no file operation
  followers.Join();
  at_operation_ = nullptr;
  for (size_t i = 0; i < kGroupWriters && status.ok(); ++i) status = followers.status(i);
  return Outcome("group", status);
}

std::string CutWorkload::Snapshot() {
  if (snapshot_ == nullptr) {
    snapshot_ = db_->GetSnapshot();
    at_snapshot_ = books_->quiet_oracle().Everything();
    return "";
  }
  Status status;
  const auto state = ReadForward(*db_, {.read = {.snapshot = snapshot_.get()}}, &status);
  snapshot_ = nullptr;
  if (!status.ok()) return "snapshot: " + status.ToString();
  const std::string difference = DescribeDifference(state, at_snapshot_);
  return difference.empty() ? "" : "a snapshot changed:" + difference;
}

std::string CutWorkload::Rest() {
  sim_->PassTime(kSecondsToRest);
  on_return_();
  const uint64_t runs = Counter(*db_, "runs");
  return runs <= 1
             ? ""
             : std::to_string(runs) + " runs after " + std::to_string(kSecondsToRest) + " seconds without a write";
}

std::string CutWorkload::CheckLive() {
  Status status;
  const auto state = ReadForward(*db_, {}, &status);
  if (!status.ok()) return "scan before any crash: " + status.ToString();
  const CrashOracle& oracle = books_->quiet_oracle();
  const CrashOracle::Owed all{.logged = oracle.begun(), .unlogged = oracle.begun()};
  return oracle.Explain(state, all) ? "" : "wrong before any crash; " + oracle.Difference(state, all);
}

std::string CutWorkload::Step(size_t index) {
  std::string problem;
  if (index == 0 && setup_.failing_sync > 0) sim_->files->AddFault({.op = FileOp::kSync, .nth = setup_.failing_sync});
  const uint64_t last = books_->begun();
  switch (const char letter = setup_.steps[index]; letter) {
    case 'f': {
      const Status status = db_->Flush();
      if (status.ok()) books_->Flushed(last);
      problem = Outcome("flush", status);
      break;
    }
    case 'c': {
      const Status status = db_->CompactRange(nullptr, nullptr);
      if (status.ok()) books_->Flushed(last);
      problem = Outcome("compact", status);
      break;
    }
    case 'y': {
      const Status status = db_->SyncWal();
      if (status.ok()) books_->Synced(last);
      problem = Outcome("sync", status);
      break;
    }
    case 'q': problem = Outcome("wait for compaction", db_->WaitForCompaction()); break;
    case 'r':
      problem = Close();
      if (problem.empty()) problem = Open();
      break;
    case 'w':
      for (uint64_t steps = 1 + Draw(index, 0, 8); steps > 0; --steps) sim_->executor.RunOne();
      break;
    case 't':
      sim_->executor.RunTimers();
      sim_->executor.RunOne();
      break;
    case 'i': problem = Rest(); break;
    case 'v': problem = Snapshot(); break;
    case 'g': problem = WriteAsGroup(index); break;
    default: problem = Write(DraftFor(letter, index));
  }
  for (uint64_t steps = Draw(index, 5, 3); problem.empty() && steps > 0; --steps) sim_->executor.RunOne();
  if (problem.empty() && (setup_.steps.size() <= kShortSteps || index % 8 == 0)) problem = CheckLive();
  return problem.empty() ? "" : "step " + std::to_string(index) + " (" + setup_.steps[index] + "): " + problem;
}

}  // namespace mergedb::testing
