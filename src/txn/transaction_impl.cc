#include "txn/transaction_impl.h"

#include <algorithm>
#include <new>
#include <set>
#include <utility>

#include "base/assert.h"
#include "db/access/write_checks.h"
#include "db/db_impl.h"
#include "kv/fold.h"

namespace mergedb {

Transaction::~Transaction() = default;

Result<std::unique_ptr<Transaction>> Transaction::Begin(DB& db, const TransactionOptions& options) {
  auto* const database = dynamic_cast<db::DbImpl*>(&db);
  if (database == nullptr) return Status::NotSupported("transactions need a database that was opened by DB::Open");
  ASSIGN_OR_RETURN(auto begun, txn::TransactionImpl::Begin(db, database->transactions(), options));
  return std::unique_ptr<Transaction>(std::move(begun));
}

namespace txn {
namespace {

Status CheckOptions(const TransactionOptions& options) {
  if (options.bytes_max > kBatchBytesMax) {
    return Status::InvalidArgument("bytes_max of " + std::to_string(options.bytes_max) + "; the maximum is " +
                                   std::to_string(kBatchBytesMax));
  }
  if (options.snapshot != nullptr && options.kind != TransactionKind::kReadOnly) {
    return Status::InvalidArgument("a snapshot is allowed only in transactions of kind kReadOnly");
  }
  return {};
}

}  // namespace

// ---- Begin and end ----------------------------------------------------------------------------------------

TransactionImpl::TransactionImpl(DB& db, db::TransactionAccess& host, const TransactionOptions& options)
    : db_(db), host_(host), options_(options), writes_(host.order()), reads_(host.order()) {}

Result<std::unique_ptr<TransactionImpl>> TransactionImpl::Begin(DB& db, db::TransactionAccess& host,
                                                                const TransactionOptions& options) {
  RETURN_IF_ERROR(CheckOptions(options));
  RETURN_IF_ERROR(host.CheckUsable(options.kind != TransactionKind::kReadOnly));
  std::unique_ptr<TransactionImpl> transaction(new TransactionImpl(db, host, options));
  RETURN_IF_ERROR(transaction->Start());
  return transaction;
}

Status TransactionImpl::BeginAgain() {
  ASSERT(!is_open_ && options_.kind == TransactionKind::kReadOnly && options_.snapshot == nullptr,
         "only a read-only transaction without a snapshot that has ended begins again");
  RETURN_IF_ERROR(host_.CheckUsable(false));
  try {
    return Start();
  } catch (...) {  // out of memory
    Rollback();
    throw;
  }
}

// WHY the snapshot last: a commit after the snapshot must already wait for this transaction, or be recorded for it.
Status TransactionImpl::Start() {
  if (options_.kind == TransactionKind::kSingleWriter) {
    // A wait of more than 100 years has no limit: signed 64-bit nanoseconds end after 292 years.
    constexpr uint64_t kWaitUsMax = uint64_t{100} * 365 * 86'400 * 1'000'000;
    const uint64_t wait = options_.wait_us_max > kWaitUsMax ? UINT64_MAX : options_.wait_us_max * 1000;
    RETURN_IF_ERROR(host_.LockWriters(this, wait));
    thread_ = base::ThreadNumber();
  }
  if (options_.kind == TransactionKind::kOptimistic) host_.EnterWindow();
  is_open_ = true;
  key_map_ = host_.key_map();
  snapshot_ = options_.snapshot != nullptr ? options_.snapshot : db_.GetSnapshot();
  sequence_ = snapshot_->sequence();
  reads_.checked_to = sequence_;
  if (entry_ != nullptr) {
    host_.RegisterAgain(*entry_, sequence_);
  } else {
    entry_ = host_.Register(options_.name, options_.kind, sequence_);
  }
  return {};
}

TransactionImpl::~TransactionImpl() { Rollback(); }

void TransactionImpl::End() {
  for (CursorImpl* cursor : cursors_) cursor->Detach();
  cursors_.clear();
  savepoints_.clear();
  is_open_ = false;
  if (options_.kind == TransactionKind::kSingleWriter) host_.UnlockWriters(this);
  if (options_.kind == TransactionKind::kOptimistic) host_.LeaveWindow();
  snapshot_ = nullptr;
  if (entry_ != nullptr) entry_->Rest();
  kept_.Clear();
}

void TransactionImpl::Rollback() {
  if (is_open_) End();
}

Status TransactionImpl::Commit() {
  if (!is_open_) return Status::Aborted("the transaction has ended");
  NoteThread();
  Status status = host_.CheckUsable(options_.kind != TransactionKind::kReadOnly);
  if (status.ok()) status = CommitWrites();
  if (status.IsAborted() && host_.key_map() != key_map_) status = Status::Conflict(kOtherKeyMap);
  if (status.IsConflict() && reads_.conflict()) {
    const kv::KeyMap::Place place =
        key_map_ == nullptr ? kv::KeyMap::Place{.key = *reads_.conflict()} : key_map_->FromTree(*reads_.conflict());
    if (!place.is_keyspace_record) {
      conflict_ = TransactionConflict{
          .keyspace = Keyspace(place.keyspace), .key = std::string(place.key), .sequence = sequence_};
    }
  }
  End();
  return status;
}

Status TransactionImpl::CommitWrites() {
  if (writes_.count() == 0) {
    const bool is_owed = options_.durability == Durability::kSynced && options_.kind != TransactionKind::kReadOnly;
    return is_owed ? db_.SyncWal() : Status();
  }
  // The range deletes from before the key map may mask the next-id record, so the commit writes that record again.
  // WHY at the end: the record must be newer than these range deletes, and ids may be allocated until here.
  if (const auto next_id = has_whole_ranges_ ? host_.keyspaces().NextIdRecord() : std::nullopt) {
    writes_.Add(kv::Kind::kPut, next_id->key, next_id->value);
  }
  const std::set<kv::KeyspaceId> created(changes_.created.begin(), changes_.created.end());
  std::erase_if(used_, [&created](kv::KeyspaceId id) { return created.contains(id); });
  return host_.Commit({.what = write::Batch{.bytes = writes_.batch(), .records = writes_.count()},
                       .durability = options_.durability,
                       .owner = this,
                       .reads = reads_.empty() ? nullptr : &reads_,
                       .key_map = key_map_,
                       .keyspaces = used_,
                       .keyspace_changes = changes_.empty() ? nullptr : &changes_});
}

// ---- Reading ----------------------------------------------------------------------------------------------

Status TransactionImpl::CheckReadable(Keyspace keyspace) {
  if (!is_open_) return Status::Aborted("the transaction has ended");
  NoteThread();
  RETURN_IF_ERROR(host_.CheckUsable(false));
  RETURN_IF_ERROR(KeepKeyMap());
  return host_.keyspaces().CheckMade(keyspace);
}

// WHY a change of the map is a conflict: the tree keys of all writes and reads so far were made by the old map.
Status TransactionImpl::KeepKeyMap() {
  const kv::KeyMap* const now = host_.key_map();
  if (now == key_map_) [[likely]]
    return {};
  if (has_writes() || !reads_.empty()) return Status::Conflict(kOtherKeyMap);
  key_map_ = now;
  return {};
}

std::string_view TransactionImpl::InTree(Keyspace keyspace, std::string_view key) {
  return key_map_ == nullptr ? key : key_map_->ToTree(keyspace.id(), key, &tree_key_);
}

Status TransactionImpl::RememberKey(Keyspace keyspace, std::string_view key) {
  return RememberTreeKey(InTree(keyspace, key));
}

Status TransactionImpl::RememberTreeKey(std::string_view key) {
  RETURN_IF_ERROR(CheckRoom(ReadSet::BytesOf(key.size())));
  reads_.AddKey(key);
  CountBytes();
  return {};
}

// ReadSet includes both limits; a limit that is no key of the keyspace does no harm. The ranges of the
// default keyspace leave out the region of the named keyspaces.
Status TransactionImpl::RememberStretch(Keyspace keyspace, ReadSet::OptionalKey lower, ReadSet::OptionalKey upper) {
  if (key_map_ == nullptr) [[likely]]
    return RememberTreeStretch(lower, upper);
  kv::KeyMap::Range range;
  if (lower) range.lower = std::string(*lower);
  if (upper) range.upper = std::string(*upper);
  for (const auto& stretch : key_map_->ToTreeRanges(keyspace.id(), range)) {
    RETURN_IF_ERROR(RememberTreeStretch(stretch.lower ? ReadSet::OptionalKey(*stretch.lower) : std::nullopt,
                                        stretch.upper ? ReadSet::OptionalKey(*stretch.upper) : std::nullopt));
  }
  return {};
}

Status TransactionImpl::RememberTreeStretch(ReadSet::OptionalKey lower, ReadSet::OptionalKey upper) {
  RETURN_IF_ERROR(CheckRoom(ReadSet::BytesOf((lower ? lower->size() : 0) + (upper ? upper->size() : 0))));
  reads_.AddStretch(lower, upper);
  CountBytes();
  return {};
}

// Without a trace, a call costs one relaxed load and one branch more. `value_bytes()` of the value that `act` found.
template <typename Act, typename ValueBytes>
Status TransactionImpl::TracedGet(Keyspace keyspace, std::string_view key, const Act& act,
                                  const ValueBytes& value_bytes) {
  if (!host_.recorder().is_on()) [[likely]]
    return act();
  const std::string traced_key(key);  // WHY a copy: `key` may be a view of the caller's value
  const trace::Recorder::Call call = host_.recorder().Begin();
  Status status = act();
  host_.recorder().Add(call, {.kind = trace::OpKind::kGet,
                              .in_transaction = true,
                              .code = status.code(),
                              .keyspace = keyspace.id(),
                              .key = traced_key,
                              .value_bytes = status.ok() ? value_bytes() : 0});
  return status;
}

Status TransactionImpl::Get(Keyspace keyspace, std::string_view key, std::string* value) {
  return TracedGet(
      keyspace, key, [&] { return DoGet(keyspace, key, value); }, [value] { return value->size(); });
}

Status TransactionImpl::GetView(Keyspace keyspace, std::string_view key, std::string* scratch,
                                std::string_view* value) {
  return TracedGet(
      keyspace, key, [&] { return DoGetView(keyspace, key, scratch, value); }, [value] { return value->size(); });
}

Status TransactionImpl::DoGet(Keyspace keyspace, std::string_view key, std::string* value) {
  RETURN_IF_ERROR(CheckReadable(keyspace));
  return GetInTree(InTree(keyspace, key), value);
}

Status TransactionImpl::DoGetView(Keyspace keyspace, std::string_view key, std::string* scratch,
                                  std::string_view* value) {
  RETURN_IF_ERROR(CheckReadable(keyspace));
  read::InPlace in_place{.tables = kept_};
  RETURN_IF_ERROR(GetInTree(InTree(keyspace, key), scratch, &in_place));
  *value = in_place.value.value_or(*scratch);
  return {};
}

Status TransactionImpl::GetInTree(std::string_view key, std::string* value, read::InPlace* in_place) {
  auto says = OwnWrites::Says::kNothing;
  operands_.clear();
  if (has_writes()) {
    std::string_view own;
    says = writes_.Find(key, &own, &operands_);
    if (says == OwnWrites::Says::kDeleted) return Status::NotFound("");
    if (says == OwnWrites::Says::kValue) {
      value->assign(own);
      return {};
    }
    if (says == OwnWrites::Says::kOperandsOnValue || says == OwnWrites::Says::kOperandsAlone) {
      return FoldOwn(says, key, own, value);
    }
  }
  if (remembers_reads()) RETURN_IF_ERROR(RememberTreeKey(key));
  ReadOptions read = options_.read;
  read.snapshot = snapshot_.get();
  return host_.GetUnder(read, key, operands_, value, in_place);
}

// Folds the operands of a Get onto a value that this transaction put, or onto nothing.
Status TransactionImpl::FoldOwn(OwnWrites::Says says, std::string_view key, std::string_view base,
                                std::string* value) const {
  const bool is_on_value = says == OwnWrites::Says::kOperandsOnValue;
  return kv::FoldAndShow(&host_.operators(), key, {is_on_value ? kv::Kind::kPut : kv::Kind::kDelete, base}, operands_,
                         value);
}

read::Overlay TransactionImpl::NewOverlay() {
  if (!has_writes()) return {};
  return {.versions = writes_.NewIterator(),
          .masks = writes_.NewMaskSource(),
          .is_shared = options_.kind == TransactionKind::kOptimistic};
}

IteratorOptions TransactionImpl::OptionsOfReads() const {
  IteratorOptions options{.read = options_.read};
  options.read.snapshot = snapshot_.get();
  return options;
}

std::unique_ptr<Iterator> TransactionImpl::NewIterator(Keyspace keyspace) {
  IteratorOptions options = OptionsOfReads();
  options.keyspace = keyspace;
  return host_.NewIteratorUnder(options, NewOverlay(), &kept_);
}

std::unique_ptr<Cursor> TransactionImpl::OpenCursor(Keyspace keyspace) { return NewCursor(keyspace); }

std::unique_ptr<CursorImpl> TransactionImpl::NewCursor(Keyspace keyspace) {
  auto cursor = std::make_unique<CursorImpl>(this, keyspace);
  if (is_open_) {
    cursors_.push_back(cursor.get());
  } else {
    cursor->Detach();
  }
  return cursor;
}

void TransactionImpl::Forget(CursorImpl* cursor) { std::erase(cursors_, cursor); }

// Called before a write to `keyspace`; nullopt: before a write to any key. A cursor on another keyspace does
// not meet the write, and its views into the batch stay valid as long as the batch has room.
void TransactionImpl::ParkCursors(std::optional<Keyspace> keyspace, size_t bytes_more) {
  const bool parks_all = !keyspace || writes_.MovesFor(bytes_more);
  for (CursorImpl* cursor : cursors_) {
    if (parks_all || cursor->keyspace() == *keyspace) cursor->Park();
  }
}

// ---- Writing ----------------------------------------------------------------------------------------------

Status TransactionImpl::CheckWritable(Keyspace keyspace) {
  if (!is_open_) return Status::Aborted("the transaction has ended");
  NoteThread();
  if (options_.kind == TransactionKind::kReadOnly) return Status::NotSupported("the transaction is read-only");
  RETURN_IF_ERROR(host_.CheckUsable(true));
  RETURN_IF_ERROR(KeepKeyMap());
  if (keyspace.is_default()) [[likely]]
    return {};
  RETURN_IF_ERROR(host_.keyspaces().CheckMade(keyspace));
  const auto holds = [id = keyspace.id()](const std::vector<kv::KeyspaceId>& ids) {
    return std::ranges::find(ids, id) != ids.end();
  };
  if (!holds(changes_.dropped) && (holds(used_) || holds(changes_.created) || host_.keyspaces().IsLive(keyspace.id())))
    return {};
  return Status::InvalidArgument("keyspace " + std::to_string(keyspace.id()) + " was dropped");
}

void TransactionImpl::NoteUse(Keyspace keyspace) {
  if (keyspace.is_default() || (!used_.empty() && used_.back() == keyspace.id())) [[likely]]
    return;
  if (std::ranges::find(used_, keyspace.id()) == used_.end()) used_.push_back(keyspace.id());
}

Status TransactionImpl::CheckRoom(size_t bytes_more) const {
  if (bytes_more <= options_.bytes_max && bytes() <= options_.bytes_max - bytes_more) [[likely]]
    return {};
  return Status::NoSpace("transaction of " + std::to_string(bytes()) + " bytes: " + std::to_string(bytes_more) +
                         " more would exceed its bytes_max of " + std::to_string(options_.bytes_max));
}

// Updates the numbers of property "mergedb.transactions".
void TransactionImpl::CountBytes() {
  entry_->writes.store(writes_.count(), std::memory_order_relaxed);
  entry_->bytes.store(bytes(), std::memory_order_relaxed);
}

// `keyspace`: the keyspace of the key, if the write changes nothing else; nullopt: the write may change any key.
Status TransactionImpl::Write(std::optional<Keyspace> keyspace, kv::Kind kind, std::string_view key,
                              std::string_view value) {
  const size_t bytes_more = OwnWrites::BytesOf(key.size(), value.size());
  RETURN_IF_ERROR(CheckRoom(bytes_more));
  ParkCursors(keyspace, bytes_more);
  writes_.Add(kind, key, value);
  // WHY after the write: `key` and `value` may be views into the writes. WHY not with savepoints: they are marks there.
  if (writes_.WantsCompaction() && savepoints_.empty()) [[unlikely]]
    CompactWrites();
  CountBytes();
  return {};
}

// WHY a lack of memory is ignored: the transaction is as it was, only larger.
void TransactionImpl::CompactWrites() {
  try {
    ParkCursors(std::nullopt, 0);
    writes_.Compact();
  } catch (const std::bad_alloc&) {}
}

Status TransactionImpl::WriteTo(Keyspace keyspace, kv::Kind kind, std::string_view key, std::string_view value) {
  NoteUse(keyspace);
  return Write(keyspace, kind, InTree(keyspace, key), value);
}

Status TransactionImpl::Put(Keyspace keyspace, std::string_view key, std::string_view value) {
  RETURN_IF_ERROR(CheckWritable(keyspace));
  RETURN_IF_ERROR(db::CheckKey(key));
  RETURN_IF_ERROR(db::CheckValue(value));
  return WriteTo(keyspace, kv::Kind::kPut, key, value);
}

Status TransactionImpl::Delete(Keyspace keyspace, std::string_view key) {
  RETURN_IF_ERROR(CheckWritable(keyspace));
  RETURN_IF_ERROR(db::CheckKey(key));
  return WriteTo(keyspace, kv::Kind::kDelete, key, {});
}

Status TransactionImpl::DeleteRange(Keyspace keyspace, std::string_view begin, std::string_view end) {
  RETURN_IF_ERROR(CheckWritable(keyspace));
  RETURN_IF_ERROR(db::CheckRange(order(), begin, end));
  if (order().SameKey(begin, end)) return {};
  if (key_map_ == nullptr) [[likely]]
    return Write(std::nullopt, kv::Kind::kRangeDelete, begin, end);
  const auto stretches =
      key_map_->ToTreeRanges(keyspace.id(), {.lower = std::string(begin), .upper = std::string(end)});
  RETURN_IF_ERROR(CheckRoom(stretches.size() * OwnWrites::BytesOf(begin.size() + kv::kReservedPrefixBytesMax,
                                                                  end.size() + kv::kReservedPrefixBytesMax)));
  NoteUse(keyspace);
  for (const auto& stretch : stretches)
    RETURN_IF_ERROR(Write(std::nullopt, kv::Kind::kRangeDelete, *stretch.lower, *stretch.upper));
  return {};
}

Status TransactionImpl::Merge(Keyspace keyspace, std::string_view key, std::string_view operand) {
  RETURN_IF_ERROR(CheckWritable(keyspace));
  RETURN_IF_ERROR(db::CheckKey(key));
  RETURN_IF_ERROR(db::CheckValue(operand));
  RETURN_IF_ERROR(db::CheckMerge(operand));
  host_.operator_names().AddOf(operand);
  return WriteTo(keyspace, kv::Kind::kMerge, key, operand);
}

Status TransactionImpl::Reserve(Keyspace keyspace, std::string_view key, size_t value_bytes, char** value) {
  *value = nullptr;
  RETURN_IF_ERROR(CheckWritable(keyspace));
  RETURN_IF_ERROR(db::CheckKey(key));
  if (value_bytes > kValueBytesMax) {
    return Status::InvalidArgument("value of " + std::to_string(value_bytes) + " bytes; the maximum is " +
                                   std::to_string(kValueBytesMax));
  }
  NoteUse(keyspace);
  key = InTree(keyspace, key);
  const size_t bytes_more = OwnWrites::BytesOf(key.size(), value_bytes);
  RETURN_IF_ERROR(CheckRoom(bytes_more));
  ParkCursors(keyspace, bytes_more);
  *value = writes_.AddReserved(key, value_bytes);
  CountBytes();
  return {};
}

// ---- Savepoints -------------------------------------------------------------------------------------------

Status TransactionImpl::SetSavepoint() {
  RETURN_IF_ERROR(CheckWritable(Keyspace()));
  savepoints_.push_back({.mark = writes_.mark(),
                         .created = changes_.created.size(),
                         .dropped = changes_.dropped.size(),
                         .used = used_.size()});
  return {};
}

Status TransactionImpl::RollbackToSavepoint() {
  RETURN_IF_ERROR(CheckWritable(Keyspace()));
  if (savepoints_.empty()) return Status::InvalidArgument("the transaction has no savepoint");
  ParkCursors(std::nullopt, 0);
  writes_.RollBack(savepoints_.back().mark);
  changes_.created.resize(savepoints_.back().created);
  changes_.created_names.resize(savepoints_.back().created);
  changes_.dropped.resize(savepoints_.back().dropped);
  used_.resize(savepoints_.back().used);
  savepoints_.pop_back();
  CountBytes();
  return {};
}

Status TransactionImpl::ReleaseSavepoint() {
  RETURN_IF_ERROR(CheckWritable(Keyspace()));
  if (savepoints_.empty()) return Status::InvalidArgument("the transaction has no savepoint");
  savepoints_.pop_back();
  return {};
}

}  // namespace txn
}  // namespace mergedb
