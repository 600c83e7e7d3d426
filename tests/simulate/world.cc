#include "world.h"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "book.h"
#include "mergedb/checkpoint.h"
#include "mergedb/merge.h"
#include "mergedb/transaction.h"
#include "testing/failing_allocation.h"
#include "testing/geometry.h"
#include "testing/op_numbers.h"
#include "testing/simulated_env.h"

namespace mergedb::simulate {
namespace {

using testing::CrashMode;
using testing::CrashModel;
using testing::Draw;
using testing::FileOp;
using testing::NumberAt;
using testing::Op;
using testing::SimulatedEnv;

constexpr char kPath[] = "/db", kOther[] = "other";
constexpr size_t kSnapshots = 3, kKeys = 40, kChangesMax = 6;
constexpr uint64_t kRestSeconds = 20, kNoLimit = UINT64_MAX;
constexpr std::array kFailing = {FileOp::kOpen,     FileOp::kCreate,   FileOp::kRead,          FileOp::kWrite,
                                 FileOp::kTruncate, FileOp::kSync,     FileOp::kClose,         FileOp::kMap,
                                 FileOp::kSizeOf,   FileOp::kList,     FileOp::kRemove,        FileOp::kRename,
                                 FileOp::kAllocate, FileOp::kUnshare,  FileOp::kSyncDirectory, FileOp::kDeallocate,
                                 FileOp::kAny,      FileOp::kAnyChange};

std::string KeyOf(uint64_t number) { return (number % 5 == 4 ? "1key" : "0key") + std::to_string(10 + number % kKeys); }

// Of any size up to a few pages; now and then larger than a small memtable's half. It names its commit.
std::string ValueOf(uint64_t commit, base::Random& random) {
  const uint64_t bytes = random.OneIn(60) ? 40'000 : random.OneIn(3) ? random.Uniform(3000) : random.Uniform(40);
  return std::to_string(commit) + ":" + std::string(bytes, static_cast<char>('a' + random.Uniform(26)));
}

Change DrawChange(uint64_t commit, base::Random& random) {
  Change change{.key = KeyOf(random.Uniform(kKeys))};
  switch (random.Uniform(8)) {
    case 0: change.kind = Change::Kind::kDelete; break;
    case 1: change.kind = Change::Kind::kAppend; break;
    case 2: change.kind = random.OneIn(3) ? Change::Kind::kDeleteRange : Change::Kind::kPut; break;
    default: break;
  }
  if (change.kind == Change::Kind::kDeleteRange) {
    change.value = change.key;
    change.value.back() = ':';  // behind all digits
  } else if (change.kind == Change::Kind::kAppend) {
    change.value = std::to_string(commit) + ";";
  } else if (change.kind == Change::Kind::kPut) {
    change.value = ValueOf(commit, random);
  }
  return change;
}

// Of the keyspace `number`, without the number.
State PartOf(const State& state, char number) {
  State part;
  for (const auto& [key, value] : state)
    if (key[0] == number) part.emplace_hint(part.end(), key, value);
  return part;
}

class Runner {
 public:
  Runner(uint64_t seed, Tally* tally) : tally_(tally), sim_(std::make_unique<SimulatedEnv>(EnvOf(seed))) {}
  ~Runner() { LetGo(); }

  std::string Run(const testing::OpList& ops);

  void Commit(const Op& op);
  void Bulk(const Op& op);
  void InTransaction(const Op& op);
  void Get(const Op& op);
  void Scan(const Op& op);
  void Snapshot(const Op& op);
  void Walk(const Op& op);
  void Flush(const Op&);
  void SyncWal(const Op&);
  void Compact(const Op& op);
  void Steps(const Op& op);
  void Seconds(const Op& op);
  void Reopen(const Op& op);
  void Kill(const Op& op) { Crash(CrashMode::kKill, CrashModel::kStrict, NumberAt(op.head, 0)); }
  void Cut(const Op& op);
  void Copy(const Op& op);
  void Reader(const Op& op);
  void Flip(const Op& op);
  void Error(const Op& op);
  void Full(const Op& op);
  void Descriptors(const Op& op);
  void Memory(const Op& op) { failing_allocation_ = NumberAt(op.head, 0); }
  void Heal(const Op& op);

 private:
  struct Sight {
    std::shared_ptr<const mergedb::Snapshot> snapshot;  // null: none
    State state;
  };

  static SimulatedEnv::Options EnvOf(uint64_t seed) { return {.seed = seed}; }
  Options OptionsOf(SimulatedEnv& sim, OpenMode mode) const;
  void Begin();
  void Open(uint64_t geometry);
  bool LearnState();
  void LetGo();
  void EndLife(End end);
  void Crash(CrashMode mode, CrashModel model, uint64_t seed);
  bool is_open() const { return db_ != nullptr; }

  void Write(std::vector<Change> changes, Durability durability);
  WriteBatch BatchOf(const std::vector<Change>& changes) const;
  Status WriteTo(Transaction& transaction, const Change& change) const;
  Keyspace KeyspaceOf(const std::string& key) const { return key[0] == '1' ? other_ : Keyspace(); }
  const Sight* SightOf(uint64_t number) const;
  template <typename Function>
  Status Read(const Function& function);
  Status ReadAll(DB& db, Keyspace other, State* state) const;
  std::string CheckCopy(const std::string& path);
  std::string CheckFlipped(std::unique_ptr<SimulatedEnv> sim, const State& expected, const std::string& where);
  std::string RepairAndOpen(SimulatedEnv& sim);
  void ExpectRest();

  // A call's result. Without a fault it must be OK; with one it may be an error of the disk or of a limit.
  bool Judge(const std::string& what, const Status& status);
  void Complain(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }

  Tally* const tally_;
  std::unique_ptr<SimulatedEnv> sim_;
  Book book_;
  testing::Geometry geometry_ = testing::DrawGeometry(1);
  std::unique_ptr<DB> db_;
  Keyspace other_;
  std::array<Sight, kSnapshots> sights_;
  std::unique_ptr<Iterator> iterator_;  // of the default keyspace
  State iterated_, iterator_state_;     // what it has shown, and will show
  testing::ManualExecutor reader_executor_;
  std::unique_ptr<DB> reader_;
  State reader_state_;
  std::optional<End> pending_;  // how the last life ended, until a scan has shown what it left
  bool is_faulty_ = false;      // since the first fault, until `heal`
  bool has_disk_limit_ = false;
  uint64_t failing_allocation_ = 0;
  uint64_t copies_ = 0;
  std::string problem_;
};

// ---- lives ------------------------------------------------------------------------------------------------------

Options Runner::OptionsOf(SimulatedEnv& sim, OpenMode mode) const {
  Options options = sim.SmallOptions();
  testing::Choose(geometry_, &options);
  options.mode = mode;
  return options;
}

// The first life. The second keyspace is durable before anything fails.
void Runner::Begin() {
  auto db = DB::Open(OptionsOf(*sim_, OpenMode::kCreateIfMissing), kPath);
  if (!db) return Complain("create: " + db.status().ToString());
  db_ = std::move(*db);
  const auto other = db_->CreateKeyspace(kOther, {.write = {.durability = Durability::kSynced}});
  if (!other) return Complain("create a keyspace: " + other.status().ToString());
  other_ = *other;
  ++tally_->opens;
}

void Runner::Open(uint64_t geometry) {
  geometry_ = testing::DrawGeometry(geometry, {.write_buffer_bytes_max = 256 << 10});
  auto db = DB::Open(OptionsOf(*sim_, OpenMode::kMustExist), kPath);
  if (!Judge("open", db.status())) return void(++tally_->failed_opens);
  ++tally_->opens;
  db_ = std::move(*db);
  if (!LearnState()) EndLife(End::kKilled);
}

// Whether a scan has shown what the last life left.
bool Runner::LearnState() {
  const auto other = db_->OpenKeyspace(kOther);
  if (!Judge("open the keyspace", other.status())) return false;
  other_ = *other;
  State found;
  if (!Judge("scan after the open", ReadAll(*db_, other_, &found))) return false;
  if (pending_) Complain(book_.Reopened(found, *std::exchange(pending_, std::nullopt)));
  return true;
}

void Runner::LetGo() {
  for (Sight& sight : sights_) sight = {};
  iterator_ = nullptr;
  reader_ = nullptr;
}

void Runner::EndLife(End end) {
  LetGo();
  db_ = nullptr;
  pending_ = std::max(pending_.value_or(end), end);
}

void Runner::Reopen(const Op& op) {
  if (is_open()) {
    LetGo();
    const bool is_closed = Judge("close", db_->Close());
    EndLife(is_closed ? End::kClosed : End::kKilled);
  }
  Open(NumberAt(op.head, 0));
}

void Runner::Crash(CrashMode mode, CrashModel model, uint64_t seed) {
  if (sim_->files->sync_after_failed_sync() > 0) Complain("a file was synced again after its sync failed");
  tally_->faults += sim_->files->faults_hit();
  auto after = SimulatedEnv::After(*sim_, mode, model, seed);
  EndLife(mode == CrashMode::kKill ? End::kKilled : End::kPowerCut);
  sim_ = std::move(after);
  ++(mode == CrashMode::kKill ? tally_->kills : tally_->cuts);
  is_faulty_ = has_disk_limit_;
  Open(seed);
}

void Runner::Cut(const Op& op) {
  Crash(testing::kPowerCutModes[NumberAt(op.head, 1) % std::size(testing::kPowerCutModes)],
        testing::kCrashModels[NumberAt(op.head, 2) % std::size(testing::kCrashModels)], NumberAt(op.head, 0));
}

bool Runner::Judge(const std::string& what, const Status& status) {
  if (status.ok()) return true;
  const bool is_of_fault = status.IsIOError() || status.IsNoSpace() || status.IsBusy();
  if (!is_faulty_ || !is_of_fault) Complain(what + ": " + status.ToString());
  return false;
}

// ---- writing ----------------------------------------------------------------------------------------------------

WriteBatch Runner::BatchOf(const std::vector<Change>& changes) const {
  WriteBatch batch;
  for (const Change& change : changes) {
    const Keyspace keyspace = KeyspaceOf(change.key);
    const std::string key = change.key.substr(1);
    switch (change.kind) {
      case Change::Kind::kPut: batch.Put(keyspace, key, change.value); break;
      case Change::Kind::kDelete: batch.Delete(keyspace, key); break;
      case Change::Kind::kDeleteRange: batch.DeleteRange(keyspace, key, change.value.substr(1)); break;
      case Change::Kind::kAppend: batch.Merge(keyspace, key, merge::Append(change.value)); break;
    }
  }
  batch.Put(Book::Marker(book_.next()).substr(1), "");
  return batch;
}

void Runner::Write(std::vector<Change> changes, Durability durability) {
  const WriteBatch batch = BatchOf(changes);
  const uint64_t number = book_.Begin(std::move(changes), durability);
  const Status status = db_->Write({.durability = durability}, batch);
  ++tally_->commits;
  if (!Judge("write", status)) ++(status.outcome_unknown() ? tally_->unknown : tally_->failed);
  book_.End(number, status);
}

constexpr std::array kDurabilities = {Durability::kProcessCrash, Durability::kSynced, Durability::kNoWal};

void Runner::Commit(const Op& op) {
  if (!is_open()) return;
  base::Random random(NumberAt(op.head, 2));
  std::vector<Change> changes;
  for (uint64_t i = 0; i <= NumberAt(op.head, 1) % kChangesMax; ++i)
    changes.push_back(DrawChange(book_.next(), random));
  Write(std::move(changes), kDurabilities[NumberAt(op.head, 0) % kDurabilities.size()]);
}

// Larger than the smallest memtable, and than its WAL buffer's quarter.
void Runner::Bulk(const Op& op) {
  if (!is_open()) return;
  base::Random random(NumberAt(op.head, 1));
  std::vector<Change> changes;
  for (uint64_t i = 0; i < kKeys; ++i) {
    const std::string start = std::to_string(book_.next()) + ":";
    changes.push_back({.key = KeyOf(i), .value = start + std::string(random.Uniform(6000), 'b')});
  }
  Write(std::move(changes), kDurabilities[NumberAt(op.head, 0) % kDurabilities.size()]);
}

Status Runner::WriteTo(Transaction& transaction, const Change& change) const {
  const Keyspace keyspace = KeyspaceOf(change.key);
  const std::string key = change.key.substr(1);
  switch (change.kind) {
    case Change::Kind::kPut: return transaction.Put(keyspace, key, change.value);
    case Change::Kind::kDelete: return transaction.Delete(keyspace, key);
    case Change::Kind::kDeleteRange: return transaction.DeleteRange(keyspace, key, change.value.substr(1));
    case Change::Kind::kAppend: break;
  }
  return transaction.Merge(keyspace, key, merge::Append(change.value));
}

// Some changes, and others that a savepoint takes back.
void Runner::InTransaction(const Op& op) {
  if (!is_open()) return;
  base::Random random(NumberAt(op.head, 2));
  const Durability durability = kDurabilities[NumberAt(op.head, 0) % 2];
  const auto kind = NumberAt(op.head, 1) % 2 == 0 ? TransactionKind::kSingleWriter : TransactionKind::kOptimistic;
  auto begun = Transaction::Begin(*db_, {.kind = kind, .durability = durability});
  if (!Judge("begin", begun.status())) return;
  Transaction& transaction = **begun;
  std::vector<Change> changes;
  Status status;
  for (uint64_t i = 0; i < 3 && status.ok(); ++i) {
    changes.push_back(DrawChange(book_.next(), random));
    status = WriteTo(transaction, changes.back());
  }
  if (status.ok()) status = transaction.SetSavepoint();
  for (uint64_t i = 0; i < 3 && status.ok(); ++i) status = WriteTo(transaction, DrawChange(book_.next(), random));
  if (status.ok()) status = transaction.RollbackToSavepoint();
  if (status.ok()) status = transaction.Put(Keyspace(), Book::Marker(book_.next()).substr(1), "");
  if (!Judge("write in a transaction", status)) return transaction.Rollback();
  const uint64_t number = book_.Begin(std::move(changes), durability);
  status = transaction.Commit();
  ++tally_->commits;
  if (!Judge("commit", status)) ++(status.outcome_unknown() ? tally_->unknown : tally_->failed);
  book_.End(number, status);
}

// ---- reading ----------------------------------------------------------------------------------------------------

// Null: the newest state.
const Runner::Sight* Runner::SightOf(uint64_t number) const {
  const Sight& sight = sights_[number % kSnapshots];
  return number % 2 == 0 || sight.snapshot == nullptr ? nullptr : &sight;
}

// One read; its n-th allocation fails if `memory` said so.
template <typename Function>
Status Runner::Read(const Function& function) {
  ++tally_->reads;
  Status status;
  testing::FailAllocation(static_cast<int64_t>(std::exchange(failing_allocation_, 0)));
  try {
    status = function();
    testing::StopFailing();
  } catch (const std::bad_alloc&) {
    testing::StopFailing();
    status = function();
  }
  tally_->failed_reads += !status.ok() && !status.IsNotFound();
  return status;
}

Status Runner::ReadAll(DB& db, Keyspace other, State* state) const {
  for (const auto& [number, keyspace] : {std::pair('0', Keyspace()), std::pair('1', other)}) {
    const auto it = db.NewIterator({.keyspace = keyspace});
    for (it->SeekToFirst(); it->Valid(); it->Next())
      state->emplace_hint(state->end(), number + std::string(it->key()), it->value());
    if (!it->status().ok()) return it->status();
  }
  return {};
}

void Runner::Get(const Op& op) {
  if (!is_open()) return;
  const Sight* const sight = SightOf(NumberAt(op.head, 0));
  const State& state = sight == nullptr ? book_.live() : sight->state;
  const std::string key = KeyOf(NumberAt(op.head, 1));
  const ReadOptions options{.snapshot = sight == nullptr ? nullptr : sight->snapshot.get()};
  std::string value;
  const Status status = Read([&] { return db_->Get(options, KeyspaceOf(key), key.substr(1), &value); });
  const auto expected = state.find(key);
  if (status.IsNotFound()) return expected == state.end() ? void() : Complain("get " + key + ": found nothing");
  if (!Judge("get " + key, status)) return;
  if (expected == state.end()) return Complain("get " + key + ": found what is not there");
  Complain(Difference({{key, value}}, {*expected}));
}

// The keys of a keyspace from `from` on, forward or backward.
void Runner::Scan(const Op& op) {
  if (!is_open()) return;
  const Sight* const sight = SightOf(NumberAt(op.head, 0));
  const std::string from = KeyOf(NumberAt(op.head, 1));
  const bool is_forward = NumberAt(op.head, 2) % 2 == 0;
  IteratorOptions options{.keyspace = KeyspaceOf(from)};
  if (sight != nullptr) options.read.snapshot = sight->snapshot.get();
  options.lower = from.substr(1);
  State found;
  const Status status = Read([&] {
    found.clear();
    const auto it = db_->NewIterator(options);
    for (is_forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid(); is_forward ? it->Next() : it->Prev())
      found.emplace(from[0] + std::string(it->key()), it->value());
    return it->status();
  });
  if (!Judge("scan", status)) return;
  State expected = PartOf(sight == nullptr ? book_.live() : sight->state, from[0]);
  expected.erase(expected.begin(), expected.lower_bound(from));
  const std::string difference = Difference(found, expected);
  if (!difference.empty()) Complain((is_forward ? "scan: " : "scan backward: ") + difference);
}

// Takes a snapshot, or lets it go.
void Runner::Snapshot(const Op& op) {
  if (!is_open()) return;
  Sight& sight = sights_[NumberAt(op.head, 0) % kSnapshots];
  sight = sight.snapshot != nullptr ? Sight() : Sight{.snapshot = db_->GetSnapshot(), .state = book_.live()};
}

// An iterator that stays where it is while the database goes on.
void Runner::Walk(const Op& op) {
  if (!is_open()) return;
  if (iterator_ == nullptr) {
    iterator_ = db_->NewIterator();
    iterator_state_ = PartOf(book_.live(), '0');
    iterator_->SeekToFirst();
  }
  for (uint64_t i = 0; i <= NumberAt(op.head, 0) && iterator_->Valid(); ++i, iterator_->Next()) {
    const auto expected = iterator_state_.begin();
    const State shown{{'0' + std::string(iterator_->key()), std::string(iterator_->value())}};
    if (expected == iterator_state_.end()) return Complain("the iterator shows " + shown.begin()->first);
    if (const std::string difference = Difference(shown, {*expected}); !difference.empty())
      return Complain("the iterator: " + difference);
    iterator_state_.erase(expected);
  }
  if (iterator_->Valid()) return;
  if (Judge("iterator", iterator_->status()) && !iterator_state_.empty())
    Complain("the iterator ends before " + iterator_state_.begin()->first);
  iterator_ = nullptr;
}

// ---- work -------------------------------------------------------------------------------------------------------

void Runner::Flush(const Op&) {
  if (is_open() && Judge("flush", db_->Flush())) book_.Flushed(book_.now());
}

void Runner::SyncWal(const Op&) {
  if (is_open() && Judge("sync", db_->SyncWal())) book_.Synced(book_.now());
}

void Runner::Compact(const Op& op) {
  if (!is_open()) return;
  const std::string lower = KeyOf(NumberAt(op.head, 1)).substr(1);
  const std::string_view bound = lower;
  const Keyspace keyspace = NumberAt(op.head, 0) % 2 == 0 ? Keyspace() : other_;
  (void)Judge("compact", db_->CompactRange(keyspace, NumberAt(op.head, 0) % 4 < 2 ? nullptr : &bound, nullptr));
}

void Runner::Steps(const Op& op) {
  for (uint64_t i = 0; i < NumberAt(op.head, 0) && sim_->executor.RunOne(); ++i) continue;
}

void Runner::Seconds(const Op& op) {
  sim_->clock.SleepNanos(NumberAt(op.head, 0) * 1'000'000'000);
  sim_->executor.RunTimers();
}

std::string Runner::CheckCopy(const std::string& path) {
  auto copy = DB::Open(OptionsOf(*sim_, OpenMode::kMustExist), path);
  if (!Judge("open a copy", copy.status())) return "";
  const auto other = (*copy)->OpenKeyspace(kOther);
  State found;
  if (!Judge("open the keyspace of a copy", other.status())) return "";
  if (!Judge("scan of a copy", ReadAll(**copy, *other, &found))) return "";
  return Difference(found, book_.live());
}

void Runner::Copy(const Op&) {
  if (!is_open()) return;
  const std::string path = "/copy" + std::to_string(++copies_);
  if (!Judge("checkpoint", Checkpoint(*db_, path).status())) return;
  if (const std::string difference = CheckCopy(path); !difference.empty()) Complain("a copy: " + difference);
  (void)Judge("destroy a copy", DB::Destroy(OptionsOf(*sim_, OpenMode::kMustExist), path));
}

// A second process. It sees what a kill at its open would have left, for as long as it is open.
void Runner::Reader(const Op&) {
  State found;
  if (reader_ != nullptr) {
    const auto other = reader_->OpenKeyspace(kOther);
    if (!Judge("keyspace of the reader", other.status())) return;
    if (!Judge("scan of the reader", ReadAll(*reader_, *other, &found))) return;
    if (const std::string difference = Difference(found, reader_state_); !difference.empty())
      Complain("the reader: " + difference);
    reader_ = nullptr;
    return;
  }
  if (!is_open()) return;
  Options options = OptionsOf(*sim_, OpenMode::kReadOnly);
  options.env.executor = &reader_executor_;
  auto reader = DB::Open(options, kPath);
  if (!Judge("open of the reader", reader.status())) return;
  const auto other = (*reader)->OpenKeyspace(kOther);
  if (!Judge("keyspace of the reader", other.status())) return;
  if (!Judge("scan of the reader", ReadAll(**reader, *other, &found))) return;
  Book book = book_;
  if (const std::string problem = book.Reopened(found, End::kKilled); !problem.empty())
    return Complain("the reader: " + problem);
  reader_ = std::move(*reader);
  reader_state_ = std::move(found);
  ++tally_->readers;
}

// ---- faults -----------------------------------------------------------------------------------------------------

void Runner::Error(const Op& op) {
  const uint64_t how = NumberAt(op.head, 2);
  const bool is_full = how % 3 == 0;
  testing::Fault fault{.op = kFailing[NumberAt(op.head, 0) % kFailing.size()], .nth = 1 + NumberAt(op.head, 1)};
  fault.sticky = how / 3 % 4 == 0;
  fault.status = is_full ? Status::NoSpace("simulated") : Status::IOError("simulated");
  fault.has_happened = how / 12 % 4 == 0 && fault.op != FileOp::kOpen && fault.op != FileOp::kAny;
  fault.partial_bytes = how / 48 % 2 == 0 ? 0 : how * 7;
  sim_->files->AddFault(fault);
  is_faulty_ = true;
}

void Runner::Full(const Op& op) {
  sim_->files->SetCapacity(sim_->files->bytes_used() + NumberAt(op.head, 0));
  is_faulty_ = has_disk_limit_ = true;
}

void Runner::Descriptors(const Op& op) {
  sim_->files->SetDescriptorsMax(sim_->files->descriptors() + NumberAt(op.head, 0));
  is_faulty_ = true;
}

std::string Runner::RepairAndOpen(SimulatedEnv& sim) {
  const auto repaired = Repair(OptionsOf(sim, OpenMode::kMustExist), kPath);
  if (!repaired) return "repair: " + repaired.status().ToString();
  const auto db = DB::Open(OptionsOf(sim, OpenMode::kMustExist), kPath);
  if (!db) return "open after a repair: " + db.status().ToString();
  const auto other = (*db)->OpenKeyspace(kOther);
  State found;
  const Status status = ReadAll(**db, other ? *other : Keyspace(), &found);
  return status.ok() ? "" : "scan after a repair: " + status.ToString();
}

// Each answer is right or an error, unless the open reported that it had dropped something.
std::string Runner::CheckFlipped(std::unique_ptr<SimulatedEnv> sim, const State& expected, const std::string& where) {
  {
    const auto db = DB::Open(OptionsOf(*sim, OpenMode::kMustExist), kPath);
    std::string report;
    if (db) (void)(*db)->GetProperty("mergedb.recovery", &report);
    const auto other = db ? (*db)->OpenKeyspace(kOther) : Result<Keyspace>(db.status());
    for (uint64_t i = 0; other && report.empty() && i < kKeys; ++i) {
      const std::string key = KeyOf(i);
      std::string value;
      const Status status = (*db)->Get({}, key[0] == '1' ? *other : Keyspace(), key.substr(1), &value);
      const auto right = expected.find(key);
      const bool is_right = status.ok() ? right != expected.end() && right->second == value
                                        : !status.IsNotFound() || right == expected.end();
      if (!is_right) return where + ": " + key + " is wrong, without an error";
    }
  }
  const std::string problem = RepairAndOpen(*sim);
  return problem.empty() ? "" : where + ": " + problem;
}

void Runner::Flip(const Op& op) {
  if (!is_open() || has_disk_limit_) return;
  const auto clean = SimulatedEnv::After(*sim_, CrashMode::kKill, CrashModel::kStrict, 1);
  auto flipped = SimulatedEnv::After(*sim_, CrashMode::kKill, CrashModel::kStrict, 1);
  State expected;
  {
    const auto db = DB::Open(OptionsOf(*clean, OpenMode::kMustExist), kPath);
    if (!db) return Complain("open of a killed copy: " + db.status().ToString());
    if (const Status status = ReadAll(**db, other_, &expected); !status.ok())
      return Complain("scan of a killed copy: " + status.ToString());
  }
  std::vector<std::string> names;
  for (const std::string& name : flipped->files->Files())
    if (name.starts_with(kPath) && *flipped->files->SizeOf(name) > 0) names.push_back(name);
  const std::string name = names[NumberAt(op.head, 0) % names.size()];
  const uint64_t offset = NumberAt(op.head, 1) % *flipped->files->SizeOf(name);
  if (const Status status = flipped->files->FlipBit(name, offset, 3); !status.ok()) return Complain(status.ToString());
  ++tally_->flips;
  Complain(CheckFlipped(std::move(flipped), expected, "a bit of " + name + " at " + std::to_string(offset)));
}

void Runner::ExpectRest() {
  LetGo();
  sim_->PassTime(kHealSeconds);
  const uint64_t before = sim_->files->ops();
  sim_->PassTime(kRestSeconds);
  if (sim_->files->ops() != before) {
    Complain("not at rest: " + std::to_string(sim_->files->ops() - before) + " changes of files in " +
             std::to_string(kRestSeconds) + " s");
  }
}

void Runner::Heal(const Op& op) {
  tally_->faults += sim_->files->faults_hit();
  ++tally_->heals;
  failing_allocation_ = 0;
  sim_->files->ClearFaults();
  sim_->files->SetCapacity(kNoLimit);
  sim_->files->SetDescriptorsMax(kNoLimit);
  has_disk_limit_ = false;
  if (!is_open()) {
    is_faulty_ = false;
    Open(NumberAt(op.head, 0));
    if (!is_open()) return;
  }
  for (int second = 0; second < kHealSeconds && is_faulty_; ++second) {
    sim_->PassTime(1);
    is_faulty_ = !db_->Put({.durability = Durability::kSynced}, "healed", "").ok();
    if (!is_faulty_) is_faulty_ = !db_->Delete({.durability = Durability::kSynced}, "healed").ok();
  }
  if (is_faulty_) return Complain("no write succeeds " + std::to_string(kHealSeconds) + " s after all faults ended");
  Write({}, Durability::kSynced);
  Flush(op);
  (void)Judge("wait for compactions", db_->WaitForCompaction());
  (void)Judge("integrity", db_->CheckIntegrity());
  State found;
  if (Judge("scan", ReadAll(*db_, other_, &found))) Complain(Difference(found, book_.live()));
  ExpectRest();
}

// ---- the table --------------------------------------------------------------------------------------------------

// Half of them are hit soon.
uint64_t DrawNth(base::Random& random, const testing::Profile&) {
  return random.OneIn(2) ? random.Uniform(4) : random.Uniform(60);
}

struct RunnableOp {
  testing::OpKind kind;
  void (Runner::*run)(const Op& op);
};

const std::vector<RunnableOp>& RunnableOps() {
  constexpr uint64_t kAny = 1'000'000;
  // clang-format off
  static const std::vector<RunnableOp> ops = {
      {{.name = "commit", .weight = 400, .head = {testing::DrawDurability, Draw<kChangesMax>, Draw<kAny>}}, &Runner::Commit},
      {{.name = "bulk", .weight = 8, .head = {testing::DrawDurability, Draw<kAny>}}, &Runner::Bulk},
      {{.name = "transaction", .weight = 30, .head = {Draw<2>, Draw<2>, Draw<kAny>}}, &Runner::InTransaction},
      {{.name = "get", .weight = 100, .head = {Draw<6>, Draw<kKeys>}}, &Runner::Get},
      {{.name = "scan", .weight = 25, .head = {Draw<6>, Draw<kKeys>, Draw<2>}}, &Runner::Scan},
      {{.name = "snapshot", .weight = 12, .head = {Draw<kSnapshots>}}, &Runner::Snapshot},
      {{.name = "walk", .weight = 25, .head = {Draw<12>}}, &Runner::Walk},
      {{.name = "flush", .weight = 12}, &Runner::Flush},
      {{.name = "sync", .weight = 8}, &Runner::SyncWal},
      {{.name = "compact", .weight = 5, .head = {Draw<4>, Draw<kKeys>}}, &Runner::Compact},
      {{.name = "steps", .weight = 150, .head = {testing::DrawSteps}}, &Runner::Steps},
      {{.name = "seconds", .weight = 15, .head = {Draw<8>}}, &Runner::Seconds},
      {{.name = "reopen", .weight = 4, .head = {Draw<kAny>}}, &Runner::Reopen},
      {{.name = "kill", .weight = 6, .head = {Draw<kAny>}}, &Runner::Kill},
      {{.name = "cut", .weight = 8, .head = {Draw<kAny>, Draw<6>, Draw<2>}}, &Runner::Cut},
      {{.name = "copy", .weight = 2}, &Runner::Copy},
      {{.name = "reader", .weight = 8}, &Runner::Reader},
      {{.name = "flip", .weight = 2, .head = {Draw<kAny>, Draw<kAny>}}, &Runner::Flip},
      {{.name = "error", .weight = 25, .head = {Draw<kFailing.size()>, DrawNth, Draw<96>}}, &Runner::Error},
      {{.name = "full", .weight = 3, .head = {Draw<200'000>}}, &Runner::Full},
      {{.name = "descriptors", .weight = 2, .head = {Draw<12>}}, &Runner::Descriptors},
      {{.name = "memory", .weight = 12, .head = {Draw<60>}}, &Runner::Memory},
      {{.name = "heal", .weight = 10, .head = {Draw<kAny>}}, &Runner::Heal},
  };
  // clang-format on
  return ops;
}

std::string Runner::Run(const testing::OpList& ops) {
  Begin();
  for (size_t i = 0; i < ops.size() && problem_.empty(); ++i) {
    (this->*RunnableOps()[ops[i].kind].run)(ops[i]);
    if (!problem_.empty()) {
      problem_ = "operation " + std::to_string(i) + ", " + testing::PrintOps(WorldOps(), {ops[i]}) + ": " + problem_;
    }
  }
  return problem_;
}

}  // namespace

const testing::OpTable& WorldOps() {
  static const testing::OpTable table = [] {
    testing::OpTable kinds;
    for (const RunnableOp& op : RunnableOps()) kinds.push_back(op.kind);
    return kinds;
  }();
  return table;
}

testing::OpList DrawWorld(uint64_t seed, size_t count) {
  base::Random random(seed * 0x9e3779b97f4a7c15u + 11);
  // Some worlds have no faults, or few kinds of them.
  testing::Profile profile;
  if (random.OneIn(3)) profile.favourites = {WorldOps()[random.Uniform(WorldOps().size())].name};
  testing::OpList ops = testing::DrawOps(WorldOps(), profile, random, count);
  const auto heal =
      static_cast<size_t>(std::find_if(WorldOps().begin(), WorldOps().end(),
                                       [](const auto& kind) { return std::string(kind.name) == "heal"; }) -
                          WorldOps().begin());
  ops.push_back({.kind = heal});
  return ops;
}

std::string Simulate(const World& world, Tally* tally) { return Runner(world.seed, tally).Run(world.ops); }

}  // namespace mergedb::simulate
