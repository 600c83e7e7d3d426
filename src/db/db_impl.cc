#include "db/db_impl.h"

#include <new>
#include <utility>

#include "base/bytes.h"
#include "base/out_of_memory.h"
#include "base/schedule_point.h"
#include "db/access/traced_iterator.h"
#include "db/access/write_checks.h"
#include "db/background/reads_to_background.h"
#include "db/state/integrity.h"
#include "read/next_step.h"

namespace mergedb {

DB::~DB() = default;

Result<std::unique_ptr<DB>> DB::Open(const Options& options, const std::string& path) {
  ASSIGN_OR_RETURN(auto database, db::DbImpl::Open(options, path));
  return std::unique_ptr<DB>(std::move(database));
}

Status DB::Destroy(const Options& options, const std::string& path) { return db::DbImpl::Destroy(options, path); }

namespace db {

DbImpl::DbImpl(std::shared_ptr<Store> store, std::unique_ptr<FileLock> file_lock, RecoveredTree recovered)
    : store_(std::move(store)),
      file_lock_(std::move(file_lock)),
      tree_(std::move(recovered.tree)),
      recovery_report_(std::move(recovered.report)),
      epochs_(*store_, *tree_),
      checks_(*store_),
      writers_(*store_, *tree_, checks_, epochs_),
      reader_(store_, tree_->version_set),
      keyspaces_(*store_, reader_, writers_, checks_.keyspace_ids()),
      access_(*store_, reader_, writers_, keyspaces_),
      transactions_({.store = store_,
                     .reader = reader_,
                     .checks = checks_,
                     .writers = writers_,
                     .keyspaces = keyspaces_,
                     .access = access_}) {}

// ---- Traces and slow calls ---------------------------------------------------------------------------------
//
// Without a trace and without Options::slow_call_us, a call costs two loads and two branches more.

Status DbImpl::StartTrace(const std::string& path, const TraceOptions& options) {
  RETURN_IF_ERROR(store_->CheckOpen());
  return store_->recorder.Start(path, options);
}

Status DbImpl::EndTrace(TraceReport* report) { return store_->recorder.End(trace::EndReason::kEnded, report); }

template <typename Act>
Status DbImpl::Watched(std::string_view call, trace::Operation operation, const Act& act) {
  const env::SlowCall slow(store_->slow_calls, call);
  const trace::Recorder::Call recorded = store_->recorder.Begin();
  Status status = act();
  operation.code = status.code();
  store_->recorder.Add(recorded, operation);
  return status;
}

Status DbImpl::Put(const WriteOptions& options, Keyspace keyspace, std::string_view key, std::string_view value) {
  if (!store_->WatchesCalls()) [[likely]]
    return DoPut(options, keyspace, key, value);
  return Watched(
      "put",
      {.kind = trace::OpKind::kPut, .keyspace = keyspace.id(), .key = key, .value_bytes = value.size(), .value = value},
      [&] { return DoPut(options, keyspace, key, value); });
}

Status DbImpl::Delete(const WriteOptions& options, Keyspace keyspace, std::string_view key) {
  if (!store_->WatchesCalls()) [[likely]]
    return DoDelete(options, keyspace, key);
  return Watched("delete", {.kind = trace::OpKind::kDelete, .keyspace = keyspace.id(), .key = key},
                 [&] { return DoDelete(options, keyspace, key); });
}

Status DbImpl::DeleteRange(const WriteOptions& options, Keyspace keyspace, std::string_view begin,
                           std::string_view end) {
  if (!store_->WatchesCalls()) [[likely]]
    return DoDeleteRange(options, keyspace, begin, end);
  return Watched("delete_range",
                 {.kind = trace::OpKind::kDeleteRange, .keyspace = keyspace.id(), .key = begin, .end = end},
                 [&] { return DoDeleteRange(options, keyspace, begin, end); });
}

Status DbImpl::Merge(const WriteOptions& options, Keyspace keyspace, std::string_view key, std::string_view operand) {
  if (!store_->WatchesCalls()) [[likely]]
    return DoMerge(options, keyspace, key, operand);
  return Watched("merge",
                 {.kind = trace::OpKind::kMerge,
                  .keyspace = keyspace.id(),
                  .key = key,
                  .value_bytes = operand.size(),
                  .value = operand},
                 [&] { return DoMerge(options, keyspace, key, operand); });
}

Status DbImpl::Write(const WriteOptions& options, const WriteBatch& batch) {
  if (!store_->WatchesCalls()) [[likely]]
    return DoWrite(options, batch);
  const env::SlowCall slow(store_->slow_calls, "write");
  const trace::Recorder::Call call = store_->recorder.Begin();
  Status status = DoWrite(options, batch);
  store_->recorder.AddBatch(call, {.code = status.code(), .records = batch.rep()});
  return status;
}

Status DbImpl::Get(const ReadOptions& options, Keyspace keyspace, std::string_view key, std::string* value) {
  if (!store_->WatchesCalls()) [[likely]]
    return DoGet(options, keyspace, key, value);
  const std::string traced_key(key);  // WHY a copy: `key` may be a view of *value
  const env::SlowCall slow(store_->slow_calls, "get");
  const trace::Recorder::Call call = store_->recorder.Begin();
  Status status = DoGet(options, keyspace, key, value);
  store_->recorder.Add(call, {.kind = trace::OpKind::kGet,
                              .code = status.code(),
                              .keyspace = keyspace.id(),
                              .key = traced_key,
                              .value_bytes = status.ok() ? value->size() : 0});
  return status;
}

std::vector<Status> DbImpl::MultiGet(const ReadOptions& options, Keyspace keyspace,
                                     const std::vector<std::string_view>& keys, std::vector<std::string>* values) {
  const env::SlowCall slow(store_->slow_calls, "multi_get");
  const env::LatencyTimer timer(store_->latencies, env::Operation::kMultiGet, [&] { NoteReads(keyspace, keys); });
  const trace::Recorder::Call call = store_->recorder.Begin();
  std::vector<Status> statuses = access_.MultiGet(options, keyspace, keys, values);
  if (call.session != 0) [[unlikely]]
    store_->recorder.AddMultiGet(call, keyspace.id(), keys, statuses, *values);
  return statuses;
}

std::unique_ptr<Iterator> DbImpl::NewIterator(const IteratorOptions& options) {
  const trace::Recorder::Call call = store_->recorder.Begin();
  std::unique_ptr<Iterator> iterator = access_.NewIterator(options);
  if (call.session == 0) [[likely]]
    return iterator;
  return TraceIterator(store_, call, options, false, std::move(iterator));
}

// ---- Writing ----------------------------------------------------------------------------------------------

Status DbImpl::DoPut(const WriteOptions& options, Keyspace keyspace, std::string_view key, std::string_view value) {
  RETURN_IF_ERROR(CheckKey(key));
  RETURN_IF_ERROR(CheckValue(value));
  RETURN_IF_ERROR(writers_.CheckWritable(options));
  return access_.Commit(keyspace, {.what = write::Record{.kind = kv::Kind::kPut, .key = key, .value = value},
                                   .durability = options.durability});
}

Status DbImpl::DoDelete(const WriteOptions& options, Keyspace keyspace, std::string_view key) {
  RETURN_IF_ERROR(CheckKey(key));
  RETURN_IF_ERROR(writers_.CheckWritable(options));
  return access_.Commit(keyspace, {.what = write::Record{.kind = kv::Kind::kDelete, .key = key, .value = {}},
                                   .durability = options.durability});
}

// WHY copies: replay refuses a range that begins after its end, and the bytes of a program may change during the call.
Status DbImpl::DoDeleteRange(const WriteOptions& options, Keyspace keyspace, std::string_view program_begin,
                             std::string_view program_end) {
  RETURN_IF_ERROR(CheckKey(program_begin));
  RETURN_IF_ERROR(CheckKey(program_end));
  const std::string begin(program_begin), end(program_end);
  RETURN_IF_ERROR(CheckRange(store_->order, begin, end));
  RETURN_IF_ERROR(writers_.CheckWritable(options));
  RETURN_IF_ERROR(keyspaces_.CheckMade(keyspace));
  if (store_->order.SameKey(begin, end)) return options.durability == Durability::kSynced ? SyncWal() : Status();
  return access_.Commit(keyspace, {.what = write::Record{.kind = kv::Kind::kRangeDelete, .key = begin, .value = end},
                                   .durability = options.durability});
}

Status DbImpl::DeletePrefix(const WriteOptions& options, Keyspace keyspace, std::string_view prefix) {
  if (!store_->order.is_bytewise()) {
    return Status::InvalidArgument("a prefix needs the bytewise comparator; use DeleteRange");
  }
  const std::optional<std::string> end = base::PrefixEnd(std::string(prefix));
  if (!end) return Status::InvalidArgument("a prefix that is empty or all 0xff has no upper bound; use DeleteRange");
  return DeleteRange(options, keyspace, prefix, *end);
}

// WHY a copy: what was checked must be what is stored, and the bytes of a program may change during the call.
Status DbImpl::DoMerge(const WriteOptions& options, Keyspace keyspace, std::string_view key,
                       std::string_view program_operand) {
  RETURN_IF_ERROR(CheckKey(key));
  RETURN_IF_ERROR(CheckValue(program_operand));
  const std::string operand(program_operand);
  RETURN_IF_ERROR(CheckMerge(operand));
  RETURN_IF_ERROR(writers_.CheckWritable(options));
  store_->operator_names.AddOf(operand);
  return access_.Commit(keyspace, {.what = write::Record{.kind = kv::Kind::kMerge, .key = key, .value = operand},
                                   .durability = options.durability});
}

Status DbImpl::DoWrite(const WriteOptions& options, const WriteBatch& batch) {
  bool has_keyspaces = false;
  RETURN_IF_ERROR(CheckBatch(store_->order, batch, &store_->operator_names, &has_keyspaces));
  RETURN_IF_ERROR(writers_.CheckWritable(options));
  if (batch.count() == 0) return options.durability == Durability::kSynced ? SyncWal() : Status();
  if (has_keyspaces) return access_.CommitBatch(options.durability, batch.rep());
  return access_.Commit(Keyspace(), {.what = write::Batch{.bytes = batch.rep(), .records = batch.count()},
                                     .durability = options.durability});
}

// ---- Reading ----------------------------------------------------------------------------------------------

[[gnu::noinline, gnu::cold]] void DbImpl::NoteReads(Keyspace keyspace,
                                                    std::span<const std::string_view> keys) noexcept {
  try {
    std::string scratch;
    store_->heat.NoteOneOf(read::Heat::Kind::kRead, keys.size(), keys.size(), [&](uint64_t i) {
      const kv::KeyMap* const map = store_->key_map();
      return map == nullptr ? keys[i] : map->ToTree(keyspace.id(), keys[i], &scratch);
    });
  } catch (const std::bad_alloc&) {  // the sample is lost
  }
}

Status DbImpl::DoGet(const ReadOptions& options, Keyspace keyspace, std::string_view key, std::string* value) {
  const env::LatencyTimer timer(store_->latencies, env::Operation::kGet, [&] { NoteReads(keyspace, {&key, 1}); });
  return access_.Get(options, keyspace, key, value);
}

std::shared_ptr<const Snapshot> DbImpl::GetSnapshot() {
  return store_->snapshots->Get(store_->options.env.clock->NowNanos());
}

std::vector<uint64_t> DbImpl::ApproximateSizes(Keyspace keyspace, const std::vector<KeyRange>& ranges) {
  return access_.ApproximateSizes(keyspace, ranges);
}

PropertySources DbImpl::Sources() const {
  return {.store = *store_,
          .tree = *tree_,
          .writers = writers_,
          .background = background_.get(),
          .recovery_report = recovery_report_};
}

bool DbImpl::GetProperty(std::string_view name, std::string* value) { return PrintProperty(Sources(), name, value); }

Result<std::vector<Metric>> DbImpl::Metrics() { return ListMetrics(Sources()); }

Result<std::vector<LatencyHistogram>> DbImpl::Histograms() { return ListHistograms(Sources()); }

Status DbImpl::CheckIntegrity() {
  RETURN_IF_ERROR(store_->CheckOpen());
  Status status = db::CheckIntegrity(*store_, *reader_.Current()->version);
  if (store_->explain) status = store_->explain(std::move(status));
  return read::OfWrite(std::move(status), store_->directory);
}

// ---- Keyspaces --------------------------------------------------------------------------------------------

Result<Keyspace> DbImpl::CreateKeyspace(std::string_view name, const KeyspaceOptions& options) {
  return keyspaces_.Create(name, options);
}
Result<Keyspace> DbImpl::OpenKeyspace(std::string_view name, const ReadOptions& options) {
  return keyspaces_.Open(name, options);
}
Result<std::vector<KeyspaceEntry>> DbImpl::ListKeyspaces(const ReadOptions& options) {
  return keyspaces_.List(options);
}
Status DbImpl::DropKeyspace(const WriteOptions& options, Keyspace keyspace) {
  return keyspaces_.Drop(options, keyspace);
}
Status DbImpl::ClearKeyspace(const WriteOptions& options, Keyspace keyspace) {
  return keyspaces_.Clear(options, keyspace);
}

// ---- Maintenance ------------------------------------------------------------------------------------------

Status DbImpl::Flush() noexcept {
  RETURN_IF_ERROR(store_->CheckWritable());
  return base::OrStop([this]() -> Status {
    RETURN_IF_ERROR(writers_.BeginFlush());
    return writers_.WaitWithFreedSpace([&] { return background_->WaitForFlush(); });
  });
}

Status DbImpl::SyncWal() noexcept {
  RETURN_IF_ERROR(store_->CheckWritable());
  return writers_.SyncWal();
}

Status DbImpl::CompactRange(Keyspace keyspace, const std::string_view* lower, const std::string_view* upper) noexcept {
  RETURN_IF_ERROR(Flush());
  RETURN_IF_ERROR(keyspaces_.CheckMade(keyspace));
  const format::Bounds bounds = access_.BoundsOf(keyspace, lower, upper);
  // WHY: PickManual would find a table around an empty range again after each compaction. The check uses tree
  // keys, because a range without lower bound up to a keyspace's empty key is empty too.
  if (bounds.lower && bounds.upper && store_->order.CompareKeys(*bounds.lower, *bounds.upper) >= 0) return {};
  return writers_.WaitWithFreedSpace([&] { return background_->CompactRange(bounds); });
}

Status DbImpl::WaitForCompaction() noexcept {
  RETURN_IF_ERROR(store_->CheckWritable());
  RETURN_IF_ERROR(writers_.BeginFlushForRest());
  // WHY during the compactions, too: this thread has nothing else to do, and the file system takes long.
  RETURN_IF_ERROR(writers_.WaitWithFreedSpace(
      [&] { return background_->WaitForCompactions(picker::Urgency::kQuiet, [this] { writers_.GiveBackWal(); }); }));
  writers_.GiveBackWal();
  return {};
}

Status DbImpl::Close() noexcept {
  if (is_stopped_.exchange(true)) return {};
  store_->events.Emit(EventKind::kClose, [] { return EventFields(); });
  store_->events.StopListener();  // while the database is open, since the listener may call it
  (void)store_->recorder.End(trace::EndReason::kClosed, nullptr);  // an error is that of the trace, not of the database
  SCHEDULE_POINT("publish that the database is closed");
  store_->is_closed->store(true, std::memory_order_release);
  if (background_ == nullptr) return {};
  reads_->Stop();
  if (live_ != nullptr) live_->Stop();

  writers_.queue().Stop();
  write::WriterQueue::ExclusiveSection section(writers_.queue());
  // WHY: options.h promises that a write with kNoWal is durable after Close.
  Status unlogged = writers_.FlushForClose();
  background_->Stop(store_->options.finish_compactions_on_close);
  Status status = epochs_.Finish();
  if (status.IsNoSpace() && writers_.FreeSpace()) status = epochs_.Finish();
  if (!store_->options.keep_space_at_rest)
    (void)tree_->recycled_files.RemoveAll();  // if this fails, the next open adopts the files
  epochs_.wal().Stop();
  store_->events.StopLog();
  file_lock_ = nullptr;
  return read::OfWrite(status.ok() ? std::move(unlogged) : std::move(status), store_->directory);
}

DbImpl::~DbImpl() { (void)Close(); }

}  // namespace db
}  // namespace mergedb
