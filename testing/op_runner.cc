#include "testing/op_runner.h"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "mergedb/merge.h"
#include "mergedb/transaction.h"
#include "testing/checked_iterator.h"
#include "testing/model_db.h"
#include "testing/model_merges.h"
#include "testing/op_home.h"
#include "testing/op_numbers.h"
#include "testing/op_traces.h"

namespace mergedb::testing {
namespace {

constexpr size_t kSnapshots = 6, kIterators = 4;
// 0: the current state; else the slot of a snapshot + 1.
uint64_t DrawSight(base::Random& random, const Profile&) {
  return random.OneIn(2) ? 0 : 1 + random.Uniform(kSnapshots);
}

// ---- changes ----------------------------------------------------------------------------------------------

struct Change {
  enum Kind : uint64_t { kPut, kDelete, kMerge, kDeleteRange, kKinds };
  Kind kind;
  std::string key;
  std::string value = {};  // of a put the value; of a merge the operand; of a range delete the end of the range
  std::function<std::string(const ModelValue&)> merge = {};
};

// Makes a change from its numbers: its kind, its key, and the seed of its value or operand.
Change ChangeOf(Change::Kind kind, uint64_t key_number, uint64_t value_number) {
  Change change{.kind = kind, .key = KeyOf(key_number)};
  base::Random random(value_number);
  if (kind == Change::kMerge) {
    ModelMerge merge = DrawMerge(random, change.key);
    change.value = std::move(merge.operand);
    change.merge = std::move(merge.apply);
  } else if (kind == Change::kPut) {
    change.value = ValueThatFits(random, change.key, ValueOf(value_number));
  }
  return change;
}

void AddTo(WriteBatch* batch, const Change& change) {
  switch (change.kind) {
    case Change::kDelete: return batch->Delete(change.key);
    case Change::kMerge: return batch->Merge(change.key, change.value);
    case Change::kDeleteRange: return batch->DeleteRange(change.key, change.value);
    case Change::kPut:
    case Change::kKinds: return batch->Put(change.key, change.value);
  }
}
Status WriteTo(Transaction& transaction, const Change& change) {
  switch (change.kind) {
    case Change::kDelete: return transaction.Delete(change.key);
    case Change::kMerge: return transaction.Merge(change.key, change.value);
    case Change::kDeleteRange: return transaction.DeleteRange(change.key, change.value);
    case Change::kPut:
    case Change::kKinds: return transaction.Put(change.key, change.value);
  }
  return {};
}
ModelDb::Change ToModel(const Change& change) {
  if (change.kind == Change::kDelete) return {.key = change.key};
  if (change.kind == Change::kMerge) return {.key = change.key, .merge = change.merge};
  if (change.kind == Change::kDeleteRange) return {.key = change.key, .end = change.value};
  return {.key = change.key, .value = change.value};
}

// ---- the runner -------------------------------------------------------------------------------------------

class OpRunner {
 public:
  OpRunner(const OptionSet& set, const RunOptions& options)
      : set_(set),
        options_(options),
        home_(options.make_home ? options.make_home() : NewOpHome(set, options.seed)),
        model_([comparator = set.comparator](const std::string& a, const std::string& b) {
          return comparator->Compare(a, b) < 0;
        }) {}

  Verdict Run(const OpList& list);

  // ---- operations: one method for each entry of the table ----
  void Put(const Op& op) { CommitOne(ChangeOf(Change::kPut, Number(op, 0), Number(op, 1)), Number(op, 2)); }
  void Delete(const Op& op) { CommitOne(ChangeOf(Change::kDelete, Number(op, 0), 0), Number(op, 1)); }
  void Merge(const Op& op) { CommitOne(ChangeOf(Change::kMerge, Number(op, 0), Number(op, 1)), Number(op, 2)); }
  void DeleteRange(const Op& op) {
    CommitOne(ChangeOf(Change::kDeleteRange, Number(op, 0), Number(op, 1)), Number(op, 2));
  }
  void DeletePrefix(const Op& op);
  void Batch(const Op& op);
  void InTransaction(const Op& op);
  void Get(const Op& op);
  void MultiGet(const Op& op);
  void Scan(const Op& op);
  void OpenIterator(const Op& op);
  void Move(const Op& op);
  void CloseIterator(const Op& op) { iterators_[Number(op, 0) % kIterators] = nullptr; }
  void TakeSnapshot(const Op& op);
  void DropSnapshot(const Op& op) { snapshots_[Number(op, 0) % kSnapshots] = {}; }
  void Steps(const Op& op);
  void Seconds(const Op& op) { home_->PassSeconds(Number(op, 0)); }
  void Flush(const Op&);
  void SyncWal(const Op&) { MustBeOk(db_->SyncWal(), "SyncWal"); }
  void CompactRange(const Op& op);
  void WaitForCompaction(const Op&) { MustBeOk(db_->WaitForCompaction(), "WaitForCompaction"); }
  void Reopen(const Op&);
  void Kill(const Op& op);
  void Rest(const Op& op) {
    if (!IsAnythingHeld()) Reopen(op);
  }
  void Relapse(const Op& op) {
    if (!IsAnythingHeld()) Kill(op);
  }
  void ReadOnly(const Op&);
  void ReadBeside(const Op& op);
  void Destroy(const Op&);
  void OpenTwice(const Op&);
  void Sizes(const Op& op);
  void Properties(const Op&);
  void Check(const Op&) { MustBeOk(db_->CheckIntegrity(), "CheckIntegrity"); }
  void Misuse(const Op& op);

 private:
  struct HeldSnapshot {
    std::shared_ptr<const Snapshot> snapshot;
    uint64_t commit = 0;
  };
  // The state that a read sees.
  struct Sight {
    const Snapshot* snapshot;
    uint64_t commit;
  };

  using State = std::map<std::string, std::string, ModelDb::Less>;
  // The state that a transaction sees, its changes, and its savepoints.
  struct TransactionModel {
    State state;
    std::vector<Change> changes = {};
    std::vector<std::pair<State, size_t>> savepoints = {};
  };
  static void Apply(const ModelDb::Change& change, State* state);
  void CheckCursor(Transaction& transaction, const State& state, const std::string& from, uint64_t moves);

  static uint64_t Number(const Op& op, size_t i) { return NumberAt(op.head, i); }
  static WriteOptions DurabilityOf(uint64_t number) { return {.durability = static_cast<Durability>(number % 3)}; }
  static ReadOptions ReadOf(const Sight& sight, uint64_t flags) {
    return {.snapshot = sight.snapshot, .verify_checksums = (flags & 1) == 0, .fill_cache = (flags & 2) == 0};
  }

  void Fail(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }
  bool MustBeOk(const Status& status, const std::string& what) {
    if (!status.ok()) Fail(what + " gave " + status.ToString());
    return status.ok();
  }
  void MustBe(Code code, const Status& status, const std::string& what) {
    if (status.code() != code) Fail(what + " gave " + status.ToString() + ", not " + std::string(CodeName(code)));
  }
  void Answered(std::string_view bytes) {
    answers_ = (answers_ ^ std::hash<std::string_view>{}(bytes)) * 0x9E3779B97F4A7C15u;
    answers_ ^= answers_ >> 32;
  }
  bool failed() const { return !problem_.empty(); }

  void Open(OpenMode mode);
  bool MadeDurable(const Status& status, const std::string& what) {
    if (status.ok()) has_unlogged_ = false;
    return MustBeOk(status, what);
  }
  Change ChangeOf(Change::Kind kind, uint64_t key, uint64_t value) const;
  bool DoInTransaction(Transaction* transaction, const Op::Numbers& group, TransactionModel* model);
  void CommitOne(const Change& change, uint64_t durability);
  void Note(uint64_t durability) { has_unlogged_ |= DurabilityOf(durability).durability == Durability::kNoWal; }
  Sight SightOf(uint64_t number) const;
  bool IsAnythingHeld() const;
  void CheckAnswer(const std::string& key, const Sight& sight, const Status& status, const std::string& value);
  bool MustBeEmpty(const std::string& problem, const std::string& what) {
    if (!problem.empty()) Fail(what + ": " + problem);
    return problem.empty();
  }
  void CheckWhole(const Sight& sight);
  void CloseAndLetGo();
  void CheckOrphan(Iterator& iterator);

  const OptionSet& set_;
  const RunOptions& options_;
  // Homes of closed databases. Iterators and snapshots that outlive their database (orphans) still need its home.
  std::vector<std::unique_ptr<OpHome>> former_homes_;
  std::vector<std::unique_ptr<Iterator>> orphans_;
  std::vector<std::shared_ptr<const Snapshot>> orphan_snapshots_;
  std::unique_ptr<OpHome> home_;
  ModelDb model_;
  OpTraces traces_;
  std::unique_ptr<DB> db_;
  std::array<HeldSnapshot, kSnapshots> snapshots_;
  std::array<std::unique_ptr<CheckedIterator>, kIterators> iterators_;
  bool is_next_kept_ = true;   // alternates: whether the next held object outlives its database
  bool has_unlogged_ = false;  // a kill may lose writes without WAL
  uint64_t kills_ = 0;
  uint64_t answers_ = 0;
  std::string problem_;
};

// ---- writes -----------------------------------------------------------------------------------------------

// A range delete mostly covers a few neighbouring keys, sometimes about half of all keys. Its begin is not after its
// end.
Change OpRunner::ChangeOf(Change::Kind kind, uint64_t key, uint64_t value) const {
  if (kind != Change::kDeleteRange) return mergedb::testing::ChangeOf(kind, key, value);
  Change change{kind, KeyOf(key), KeyOf(value % 16 == 15 ? value % 1009 : key + value % 16)};
  if (set_.comparator->Compare(change.key, change.value) > 0) std::swap(change.key, change.value);
  return change;
}

void OpRunner::CommitOne(const Change& change, uint64_t durability) {
  Note(durability);
  const WriteOptions options = DurabilityOf(durability);
  const Status status = change.kind == Change::kDelete        ? db_->Delete(options, change.key)
                        : change.kind == Change::kMerge       ? db_->Merge(options, change.key, change.value)
                        : change.kind == Change::kDeleteRange ? db_->DeleteRange(options, change.key, change.value)
                                                              : db_->Put(options, change.key, change.value);
  if (MustBeOk(status, "write")) model_.Commit({ToModel(change)});
  if (change.kind != Change::kDeleteRange || set_.comparator->Compare(change.key, change.value) == 0) return;
  MustBe(Code::kInvalidArgument, db_->DeleteRange({}, change.value, change.key), "a range that begins after its end");
}

// Head: key, length of its prefix, durability.
void OpRunner::DeletePrefix(const Op& op) {
  const std::string prefix = KeyOf(Number(op, 0)).substr(0, Number(op, 1));
  const bool has_end = prefix.find_first_not_of('\xff') != std::string::npos;
  const Status status = db_->DeletePrefix(DurabilityOf(Number(op, 2)), prefix);
  if (set_.comparator != BytewiseComparator() || !has_end)
    return MustBe(Code::kInvalidArgument, status, "DeletePrefix");
  Note(Number(op, 2));
  if (!MustBeOk(status, "DeletePrefix")) return;
  std::vector<ModelDb::Change> changes;
  for (const std::string& key : model_.KeysEverUsed()) {
    if (key.starts_with(prefix)) changes.push_back({.key = key});
  }
  model_.Commit(changes);
}

// Head: durability, number of changes that come from a second, appended batch. Each: kind, key, value.
void OpRunner::Batch(const Op& op) {
  WriteBatch batch, second;
  std::vector<ModelDb::Change> changes;
  const size_t first_of_second = op.tail.size() - std::min<size_t>(op.tail.size(), Number(op, 1));
  for (size_t i = 0; i < op.tail.size(); ++i) {
    const Op::Numbers& group = op.tail[i];
    const Change change = ChangeOf(static_cast<Change::Kind>(NumberAt(group, 0) % Change::kKinds), NumberAt(group, 1),
                                   NumberAt(group, 2));
    AddTo(i < first_of_second ? &batch : &second, change);
    changes.push_back(ToModel(change));
  }
  batch.Append(second);
  if (batch.count() != changes.size()) return Fail("a batch of " + std::to_string(batch.count()) + " changes");
  Note(Number(op, 0));
  if (!MustBeOk(db_->Write(DurabilityOf(Number(op, 0)), batch), "Write")) return;
  if (!changes.empty()) model_.Commit(changes);
}

// ---- transactions -----------------------------------------------------------------------------------------

void OpRunner::Apply(const ModelDb::Change& change, State* state) {
  const auto first = state->lower_bound(change.key);
  if (change.end) {
    state->erase(first, state->lower_bound(*change.end));
    return;
  }
  const auto found = state->find(change.key);
  const ModelValue before = found == state->end() ? ModelValue() : ModelValue(found->second);
  if (found != state->end()) state->erase(found);  // the map then takes the spelling of the newest change
  if (change.merge) {
    (*state)[change.key] = change.merge(before);
  } else if (change.value) {
    (*state)[change.key] = *change.value;
  }
}

// Moves a cursor from `from` by a few steps; each bit of `moves` is one direction.
void OpRunner::CheckCursor(Transaction& transaction, const State& state, const std::string& from, uint64_t moves) {
  auto cursor = transaction.OpenCursor();
  auto expected = state.lower_bound(from);
  Status status = cursor->SetRange(from);
  for (int step = 0; step < 8; ++step, moves /= 2) {
    if (expected == state.end()) return MustBe(Code::kNotFound, status, "a cursor at the end");
    if (!MustBeOk(status, "a cursor")) return;
    if (cursor->key() != expected->first)
      return Fail("cursor: at " + Short(cursor->key()) + ", expected " + Short(expected->first));
    if (cursor->value() != expected->second)
      return Fail("cursor: " + Short(cursor->value()) + ", expected " + Short(expected->second));
    const bool is_forward = moves % 2 == 0;
    if (!is_forward && expected == state.begin())
      return MustBe(Code::kNotFound, cursor->Prev(), "Prev of the first key");
    expected = is_forward ? std::next(expected) : std::prev(expected);
    status = is_forward ? cursor->Next() : cursor->Prev();
  }
}

// Returns false if the transaction must stop.
bool OpRunner::DoInTransaction(Transaction* transaction, const Op::Numbers& group, TransactionModel* model) {
  const uint64_t what = NumberAt(group, 0) % 10;
  if (what < 6) {
    const Change change =
        ChangeOf(static_cast<Change::Kind>(what % Change::kKinds), NumberAt(group, 1), NumberAt(group, 2));
    model->changes.push_back(change);
    Apply(ToModel(change), &model->state);
    return transaction == nullptr || MustBeOk(WriteTo(*transaction, change), "a write in a transaction");
  }
  if (what == 6) {
    model->savepoints.emplace_back(model->state, model->changes.size());
    return transaction == nullptr || MustBeOk(transaction->SetSavepoint(), "SetSavepoint");
  }
  if (what == 7 && !model->savepoints.empty()) {
    model->state = std::move(model->savepoints.back().first);
    model->changes.resize(model->savepoints.back().second);
    model->savepoints.pop_back();
    return transaction == nullptr || MustBeOk(transaction->RollbackToSavepoint(), "RollbackToSavepoint");
  }
  if (transaction == nullptr) return true;
  const std::string key = KeyOf(NumberAt(group, 1));
  if (what == 8) {
    CheckCursor(*transaction, model->state, key, NumberAt(group, 2));
    return !failed();
  }
  std::string value;
  const Status status = transaction->Get(key, &value);
  const auto expected = model->state.find(key);
  if (expected == model->state.end()) {
    MustBe(Code::kNotFound, status, "Get of " + Short(key) + " in a transaction");
  } else if (MustBeOk(status, "Get in a transaction") && value != expected->second) {
    Fail("Get in a transaction: " + Short(value) + ", expected " + Short(expected->second));
  }
  return !failed();
}

// Head: kind, durability, how it ends. Each: what, key, value. If the database has no transactions (the DB over the C
// interface), the changes go into one batch and the reads are skipped. Reads in a transaction do not count as answers.
void OpRunner::InTransaction(const Op& op) {
  auto begun = Transaction::Begin(
      *db_, {.kind = Number(op, 0) % 2 == 0 ? TransactionKind::kSingleWriter : TransactionKind::kOptimistic,
             .durability = DurabilityOf(Number(op, 1)).durability});
  const bool has_transactions = begun.status().code() != Code::kNotSupported;
  if (has_transactions && !MustBeOk(begun.status(), "Begin")) return;
  TransactionModel model{.state = State([comparator = set_.comparator](const std::string& a, const std::string& b) {
                           return comparator->Compare(a, b) < 0;
                         })};
  for (auto& [key, value] : model_.Scan(model_.commits())) model.state.emplace(key, value);
  for (const Op::Numbers& group : op.tail) {
    if (!DoInTransaction(has_transactions ? begun->get() : nullptr, group, &model)) return;
    if (NumberAt(group, 2) % 4 == 0) home_->RunOne();
  }
  if (Number(op, 2) % 4 == 3) return;  // the destructor rolls back
  WriteBatch batch;
  std::vector<ModelDb::Change> changes;
  for (const Change& change : model.changes) {
    AddTo(&batch, change);
    changes.push_back(ToModel(change));
  }
  Note(Number(op, 1));
  if (!MustBeOk(has_transactions ? (*begun)->Commit() : db_->Write(DurabilityOf(Number(op, 1)), batch), "Commit"))
    return;
  if (!changes.empty()) model_.Commit(changes);
}

// ---- reads ------------------------------------------------------------------------------------------------

OpRunner::Sight OpRunner::SightOf(uint64_t number) const {
  const HeldSnapshot& held = snapshots_[(number + kSnapshots - 1) % kSnapshots];
  if (number == 0 || held.snapshot == nullptr) return {nullptr, model_.commits()};
  return {held.snapshot.get(), held.commit};
}

void OpRunner::CheckAnswer(const std::string& key, const Sight& sight, const Status& status, const std::string& value) {
  const auto expected = model_.Get(key, sight.commit);
  if (status.ok()) {
    Answered(value);
    if (!expected) return Fail("key " + Short(key) + ": found " + Short(value) + ", expected nothing");
    if (value != *expected) Fail("key " + Short(key) + ": found " + Short(value) + ", expected " + Short(*expected));
  } else if (!status.IsNotFound()) {
    MustBeOk(status, "key " + Short(key));
  } else {
    Answered("nothing");
    if (expected) Fail("key " + Short(key) + ": found nothing, expected " + Short(*expected));
  }
}

// Head: sight, key, flags.
void OpRunner::Get(const Op& op) {
  const Sight sight = SightOf(Number(op, 0));
  const std::string key = KeyOf(Number(op, 1));
  std::string value = "untouched";
  const Status status = db_->Get(ReadOf(sight, Number(op, 2)), key, &value);
  CheckAnswer(key, sight, status, value);
  if (status.IsNotFound() && value != "untouched") Fail("Get of an absent key changed the value");
}

// Head: sight, flags. Each: key.
void OpRunner::MultiGet(const Op& op) {
  const Sight sight = SightOf(Number(op, 0));
  std::vector<std::string> keys, values;
  for (const Op::Numbers& group : op.tail) keys.push_back(KeyOf(NumberAt(group, 0)));
  const auto statuses = db_->MultiGet(ReadOf(sight, Number(op, 1)), {keys.begin(), keys.end()}, &values);
  if (statuses.size() != keys.size() || values.size() != keys.size())
    return Fail("MultiGet answered another number of keys");
  for (size_t i = 0; i < keys.size(); ++i) CheckAnswer(keys[i], sight, statuses[i], values[i]);
}

void OpRunner::CheckWhole(const Sight& sight) {
  const auto expected = model_.Scan(sight.commit);
  auto iterator = db_->NewIterator({.read = {.snapshot = sight.snapshot}});
  size_t i = 0;
  for (iterator->SeekToFirst(); iterator->Valid() && i < expected.size(); iterator->Next(), ++i) {
    if (!MustBeEmpty(DifferenceOf(*iterator, expected[i]), "scan")) return;
  }
  if (!MustBeOk(iterator->status(), "scan")) return;
  if (iterator->Valid()) return Fail("scan: one too many, " + Short(iterator->key()));
  if (i < expected.size()) return Fail("scan: no " + Short(expected[i].first));
  for (iterator->SeekToLast(); iterator->Valid() && i > 0; iterator->Prev()) {
    if (!MustBeEmpty(DifferenceOf(*iterator, expected[--i]), "scan back")) return;
  }
  if (!MustBeOk(iterator->status(), "scan back")) return;
  if (iterator->Valid()) return Fail("scan back: one too many, " + Short(iterator->key()));
  if (i > 0) Fail("scan back: no " + Short(expected[i - 1].first));
}

// Head: sight.
void OpRunner::Scan(const Op& op) {
  CheckWhole(SightOf(Number(op, 0)));
  Answered("scan");
}

// ---- iterators and snapshots that stay open ---------------------------------------------------------------

// Head: slot, sight, lower, upper, prefix, flags.
void OpRunner::OpenIterator(const Op& op) {
  const Sight sight = SightOf(Number(op, 1));
  IteratorOptions options{
      .lower = MaybeKeyOf(Number(op, 2)), .upper = MaybeKeyOf(Number(op, 3)), .read = ReadOf(sight, Number(op, 5))};
  if (const uint64_t prefix = Number(op, 4); prefix > 0) options.prefix = KeyOf(prefix - 1).substr(0, 1 + prefix % 5);
  auto iterator = db_->NewIterator(options);
  if (set_.comparator != BytewiseComparator() && !options.prefix.empty()) {
    MustBe(Code::kInvalidArgument, iterator->status(), "a prefix under another order");
    options.prefix.clear();
    iterator = db_->NewIterator(options);
  }
  MustBeOk(iterator->status(), "a new iterator");
  if (iterator->Valid()) Fail("a new iterator stands at a key");
  auto shown = model_.Scan(sight.commit, {.lower = options.lower, .upper = options.upper});
  std::erase_if(shown, [&](const auto& pair) { return !pair.first.starts_with(options.prefix); });
  iterators_[Number(op, 0) % kIterators] =
      std::make_unique<CheckedIterator>(std::move(iterator), std::move(shown), set_.comparator);
}

// Head: slot. Each: how, key.
void OpRunner::Move(const Op& op) {
  CheckedIterator* const iterator = iterators_[Number(op, 0) % kIterators].get();
  if (iterator == nullptr) return;
  for (const Op::Numbers& group : op.tail) {
    if (!MustBeEmpty(iterator->Move(NumberAt(group, 0) % kMoves, KeyOf(NumberAt(group, 1))), "iterator")) return;
    Answered(iterator->at() == nullptr ? "end" : iterator->at()->first);
  }
}

// Head: slot.
void OpRunner::TakeSnapshot(const Op& op) {
  snapshots_[Number(op, 0) % kSnapshots] = {db_->GetSnapshot(), model_.commits()};
}

bool OpRunner::IsAnythingHeld() const {
  return std::any_of(snapshots_.begin(), snapshots_.end(), [](const auto& held) { return held.snapshot != nullptr; }) ||
         std::any_of(iterators_.begin(), iterators_.end(), [](const auto& held) { return held != nullptr; });
}

// ---- maintenance ------------------------------------------------------------------------------------------

void OpRunner::Steps(const Op& op) {
  for (uint64_t steps = Number(op, 0); steps > 0 && home_->RunOne();) --steps;
}

void OpRunner::Flush(const Op&) { MadeDurable(db_->Flush(), "Flush"); }

// Head: lower, upper.
void OpRunner::CompactRange(const Op& op) {
  const auto lower = MaybeKeyOf(Number(op, 0)), upper = MaybeKeyOf(Number(op, 1));  // in any order
  const std::string_view from = lower ? *lower : std::string_view(), to = upper ? *upper : std::string_view();
  MadeDurable(db_->CompactRange(lower ? &from : nullptr, upper ? &to : nullptr), "CompactRange");
}

void OpRunner::Open(OpenMode mode) {
  auto db = home_->Open(mode);
  if (!MustBeOk(db.status(), "Open")) return;
  db_ = options_.wrap ? options_.wrap(std::move(*db)) : std::move(*db);
  std::string report;
  if (!db_->GetProperty("mergedb.recovery", &report)) Fail("no property mergedb.recovery");
  if (!report.empty()) Fail("recovery reports " + report);
  if (options_.is_traced && mode != OpenMode::kReadOnly) MustBeEmpty(traces_.Begin(*db_, *home_), "trace");
}

// `iterator` belongs to a closed database.
void OpRunner::CheckOrphan(Iterator& iterator) {
  iterator.Next();
  iterator.SeekToFirst();
  if (iterator.Valid()) Fail("an iterator of a closed database stands at a key");
  MustBe(Code::kShuttingDown, iterator.status(), "an iterator of a closed database");
}

// Closes the database while iterators and snapshots are held. Every second of them outlives the database for a while.
void OpRunner::CloseAndLetGo() {
  MustBeEmpty(traces_.BeforeClose(*db_), "trace");
  MadeDurable(db_->Close(), "Close");
  MustBeOk(db_->Close(), "a second Close");
  std::string value;
  MustBe(Code::kShuttingDown, db_->Get({}, "k0000", &value), "Get after Close");
  MustBe(Code::kShuttingDown, db_->Put({}, "k0000", "v"), "Put after Close");
  if (orphans_.size() + orphan_snapshots_.size() > 20 || former_homes_.size() > 4) {
    orphans_.clear();
    orphan_snapshots_.clear();
    former_homes_.clear();
  }
  for (auto& held : iterators_) {
    if (held == nullptr) continue;
    CheckOrphan(held->iterator());
    if (std::exchange(is_next_kept_, !is_next_kept_)) orphans_.push_back(std::move(*held).Take());
    held = nullptr;
  }
  for (HeldSnapshot& held : snapshots_) {
    if (held.snapshot != nullptr && std::exchange(is_next_kept_, !is_next_kept_))
      orphan_snapshots_.push_back(held.snapshot);
    held = {};
  }
  db_ = nullptr;
  for (const auto& orphan : orphans_) CheckOrphan(*orphan);
  MustBeEmpty(traces_.AfterClose(*home_), "trace");
}

void OpRunner::Reopen(const Op&) {
  CloseAndLetGo();
  Open(OpenMode::kMustExist);
  if (!failed()) CheckWhole({nullptr, model_.commits()});
}

void OpRunner::Kill(const Op& op) {
  if (has_unlogged_) Flush(op);
  if (failed()) return;
  auto next_home = home_->AfterKill(options_.seed * 1000 + ++kills_);
  CloseAndLetGo();
  if (next_home != nullptr) {
    MustBeEmpty(traces_.CheckCut(*next_home), "trace");
    former_homes_.push_back(std::move(home_));
    home_ = std::move(next_home);
  }
  Open(OpenMode::kMustExist);
  if (!failed()) CheckWhole({nullptr, model_.commits()});
}

void OpRunner::ReadOnly(const Op&) {
  CloseAndLetGo();
  const uint64_t before = home_->Fingerprint();
  Open(OpenMode::kReadOnly);
  if (failed()) return;
  CheckWhole({nullptr, model_.commits()});
  MustBe(Code::kNotSupported, db_->Put({}, "k", "v"), "Put on a read-only database");
  MustBe(Code::kNotSupported, db_->Flush(), "Flush of a read-only database");
  db_ = nullptr;
  if (home_->Fingerprint() != before) Fail("a read-only open changed files");
  Open(OpenMode::kMustExist);
}

// Reads as another process would, while this process has the database open. No acknowledged write may be missing. The
// writer's threads may remove a file that the reader needs, also after WaitForCompaction: then the reader opens again
// (docs/PROMISES.md, read-only opens). A file that is missing each time is a failure.
void OpRunner::ReadBeside(const Op& op) {
  if (has_unlogged_) Flush(op);
  if (failed()) return;
  if (set_.place != Place::kSimulated) MustBeOk(db_->WaitForCompaction(), "WaitForCompaction");
  if (failed()) return;
  auto writer = std::move(db_);
  const int attempts = set_.place == Place::kSimulated ? 1 : 20;
  for (int i = 0; i < attempts; ++i) {
    problem_.clear();
    Open(OpenMode::kReadOnly);
    if (!failed()) CheckWhole({nullptr, model_.commits()});
    if (problem_.find("and it does not exist") == std::string::npos) break;
  }
  db_ = std::move(writer);
}

void OpRunner::Destroy(const Op&) {
  CloseAndLetGo();
  traces_.ForgetWrites();
  if (!MustBeOk(home_->Destroy(), "Destroy")) return;
  MustBe(Code::kNotFound, home_->Open(OpenMode::kMustExist).status(), "Open after Destroy");
  MustBe(Code::kNotFound, home_->Destroy(), "a second Destroy");
  std::vector<ModelDb::Change> changes;
  for (const std::string& key : model_.KeysEverUsed()) changes.push_back({.key = key});
  model_.Commit(changes);
  has_unlogged_ = false;
  Open(OpenMode::kMustNotExist);
}

void OpRunner::OpenTwice(const Op&) {
  MustBe(Code::kBusy, home_->Open(OpenMode::kMustExist).status(), "a second Open");
  MustBe(Code::kBusy, home_->Destroy(), "Destroy of an open database");
}

// Head: two keys.
void OpRunner::Sizes(const Op& op) {
  std::string lower = KeyOf(Number(op, 0)), upper = KeyOf(Number(op, 1));
  if (set_.comparator->Compare(lower, upper) > 0) std::swap(lower, upper);
  std::string tables, values;
  if (!db_->GetProperty("mergedb.table_bytes_live", &tables)) return Fail("no property mergedb.table_bytes_live");
  if (!db_->GetProperty("mergedb.blob_bytes_live", &values)) return Fail("no property mergedb.blob_bytes_live");
  const uint64_t live = std::stoull(tables) + std::stoull(values);
  const auto sizes = db_->ApproximateSizes({{lower, upper}, {lower, lower}});
  if (sizes.size() != 2) return Fail("ApproximateSizes answered another number of ranges");
  // With real threads the tables may change between the two calls.
  if (set_.place == Place::kSimulated && sizes[0] > live) Fail("a range larger than all tables and values");
  if (set_.place == Place::kSimulated && sizes[1] > sizes[0])
    Fail("an empty range larger than another from the same key on");
}

void OpRunner::Properties(const Op&) {
  std::string text;
  for (const char* name : {"stats", "runs", "recovery", "errors", "snapshots", "counters"}) {
    if (!db_->GetProperty("mergedb." + std::string(name), &text)) Fail("no property mergedb." + std::string(name));
    if (text.size() > 0 && std::string_view(name) == "errors") Fail("background error: " + text);
  }
  std::istringstream counters(text);
  const Result<std::vector<Metric>> metrics = db_->Metrics();
  if (!metrics) return Fail("Metrics: " + metrics.status().ToString());
  auto metric = metrics->begin();
  std::string name, number, alone;
  while (counters >> name >> number) {
    if (metric == metrics->end() || metric++->name != name) Fail("Metrics does not have " + name + " at its place");
    if (!db_->GetProperty("mergedb." + name, &alone)) Fail("no property mergedb." + name);
    if (number.find_first_not_of("0123456789") != std::string::npos) Fail("counter " + name + " is " + number);
  }
  if (metric != metrics->end()) Fail("Metrics has more than the property mergedb.counters");
  if (db_->GetProperty("mergedb.nonsense", &text) || db_->GetProperty("counters", &text))
    Fail("an unknown property is known");
}

// Head: which.
void OpRunner::Misuse(const Op& op) {
  const uint64_t which = Number(op, 0) % 4;
  if (which == 0) {
    MustBe(Code::kInvalidArgument, db_->Put({}, std::string(kKeyBytesMax + 1, 'k'), "v"), "Put of too large a key");
  } else if (which == 1) {
    MustBeOk(db_->Write({.durability = Durability::kSynced}, WriteBatch()), "an empty batch");
  } else if (which == 2 && !orphan_snapshots_.empty()) {
    const ReadOptions read{.snapshot = orphan_snapshots_.back().get()};
    std::string value;
    if (db_->Get(read, "k0000", &value).ok()) Fail("Get through a snapshot of a closed database");
    if (db_->NewIterator({.read = read})->status().ok()) Fail("an iterator through a snapshot of a closed database");
  } else if (which == 3) {
    auto iterator = db_->NewIterator();
    iterator->Next();
    iterator->Prev();
    if (iterator->Valid()) Fail("Next made a new iterator valid");
    MustBeOk(iterator->status(), "Next of a new iterator");
  }
}

// ---- the table --------------------------------------------------------------------------------------------

struct RunnableOp {
  OpKind kind;
  void (OpRunner::*run)(const Op&);
};

const std::vector<RunnableOp>& RunnableOps() {
  // clang-format off
  static const std::vector<RunnableOp> ops = {
      {{.name = "put", .weight = 3000, .head = {DrawKey, DrawValue, DrawDurability}}, &OpRunner::Put},
      {{.name = "merge", .weight = 1500, .head = {DrawKey, DrawValue, DrawDurability}}, &OpRunner::Merge},
      {{.name = "delete", .weight = 700, .head = {DrawKey, DrawDurability}}, &OpRunner::Delete},
      {{.name = "delete_range", .weight = 150, .head = {DrawKey, DrawValue, DrawDurability}}, &OpRunner::DeleteRange},
      {{.name = "delete_prefix", .weight = 20, .head = {DrawKey, Draw<9>, DrawDurability}}, &OpRunner::DeletePrefix},
      {{.name = "batch", .weight = 250, .head = {DrawDurability, Draw<8>}, .each = {Draw<Change::kKinds>, DrawKey, DrawValue}, .groups_max = 12},
       &OpRunner::Batch},
      {{.name = "transaction", .weight = 60, .head = {Draw<2>, DrawDurability, Draw<4>}, .each = {Draw<10>, DrawKey, DrawValue}, .groups_max = 12},
       &OpRunner::InTransaction},
      {{.name = "get", .weight = 2000, .head = {DrawSight, DrawKey, Draw<4>}}, &OpRunner::Get},
      {{.name = "multi_get", .weight = 150, .head = {DrawSight, Draw<4>}, .each = {DrawKey}, .groups_max = 20}, &OpRunner::MultiGet},
      {{.name = "scan", .weight = 25, .head = {DrawSight}}, &OpRunner::Scan},
      {{.name = "open_iterator", .weight = 100, .head = {Draw<kIterators>, DrawSight, DrawMaybeKey, DrawMaybeKey, DrawMaybeKey, Draw<4>}},
       &OpRunner::OpenIterator},
      {{.name = "move", .weight = 600, .head = {Draw<kIterators>}, .each = {Draw<kMoves>, DrawKey}, .groups_max = 12}, &OpRunner::Move},
      {{.name = "close_iterator", .weight = 60, .head = {Draw<kIterators>}}, &OpRunner::CloseIterator},
      {{.name = "take", .weight = 25, .head = {Draw<kSnapshots>}}, &OpRunner::TakeSnapshot},
      {{.name = "drop", .weight = 30, .head = {Draw<kSnapshots>}}, &OpRunner::DropSnapshot},
      {{.name = "steps", .weight = 1200, .head = {DrawSteps}, .is_maintenance = true}, &OpRunner::Steps},
      {{.name = "seconds", .weight = 40, .head = {Draw<8>}, .is_maintenance = true}, &OpRunner::Seconds},
      {{.name = "flush", .weight = 25, .is_maintenance = true}, &OpRunner::Flush},
      {{.name = "sync_wal", .weight = 20, .is_maintenance = true}, &OpRunner::SyncWal},
      {{.name = "compact", .weight = 6, .head = {DrawMaybeKey, DrawMaybeKey}, .is_maintenance = true}, &OpRunner::CompactRange},
      {{.name = "wait_for_compaction", .weight = 8, .is_maintenance = true}, &OpRunner::WaitForCompaction},
      {{.name = "reopen", .weight = 6}, &OpRunner::Reopen},
      {{.name = "kill", .weight = 6}, &OpRunner::Kill},
      // Reopen and kill at moments when no answer can change: the test holds no snapshot and no iterator.
      {{.name = "rest", .weight = 2, .is_maintenance = true}, &OpRunner::Rest},
      {{.name = "relapse", .weight = 2, .is_maintenance = true}, &OpRunner::Relapse},
      {{.name = "read_only", .weight = 3}, &OpRunner::ReadOnly},
      {{.name = "read_beside", .weight = 3, .is_maintenance = true}, &OpRunner::ReadBeside},
      {{.name = "destroy", .weight = 1}, &OpRunner::Destroy},
      {{.name = "open_twice", .weight = 2, .is_maintenance = true}, &OpRunner::OpenTwice},
      {{.name = "sizes", .weight = 10, .head = {DrawKey, DrawKey}, .is_maintenance = true}, &OpRunner::Sizes},
      {{.name = "properties", .weight = 5, .is_maintenance = true}, &OpRunner::Properties},
      {{.name = "check", .weight = 5, .is_maintenance = true}, &OpRunner::Check},
      {{.name = "misuse", .weight = 4, .head = {Draw<4>}, .is_maintenance = true}, &OpRunner::Misuse},
  };
  // clang-format on
  return ops;
}

Verdict OpRunner::Run(const OpList& list) {
  Open(OpenMode::kCreateIfMissing);
  for (size_t i = 0; i < list.size() && !failed(); ++i) {
    (this->*RunnableOps()[list[i].kind].run)(list[i]);
    if (failed()) {
      return {
          .problem = "operation " + std::to_string(i) + ", " + PrintOps(ModelOpTable(), {list[i]}) + ": " + problem_,
          .op = i,
          .answers = answers_};
    }
  }
  // Checks the final state: as it is, after all compactions without snapshots, and at close.
  const auto finish = [&](const auto& step) {
    if (!failed()) step();
  };
  finish([&] { CheckWhole({nullptr, model_.commits()}); });
  finish([&] { Check({}); });
  finish([&] {
    snapshots_ = {};
    WaitForCompaction({});
  });
  finish([&] { CheckWhole({nullptr, model_.commits()}); });
  finish([&] { CloseAndLetGo(); });
  finish([&] {
    if (!options_.is_traced) return;
    MustBeEmpty(traces_.Replay(set_, options_.seed, model_.Scan(model_.commits())), "replay of the traces");
  });
  if (failed()) problem_ = "after the last operation: " + problem_;
  return {.problem = problem_, .op = list.size(), .answers = answers_};
}

}  // namespace

const OpTable& ModelOpTable() {
  static const OpTable table = [] {
    OpTable kinds;
    for (const RunnableOp& op : RunnableOps()) kinds.push_back(op.kind);
    return kinds;
  }();
  return table;
}

Verdict RunOps(const OpList& list, const OptionSet& set, const RunOptions& options) {
  return OpRunner(set, options).Run(list);
}

}  // namespace mergedb::testing
