#include "db/db_impl.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/zoo.h"
#include "db/write_checks.h"
#include "format/file_name.h"
#include "format/value_file.h"
#include "read/db_iterator.h"
#include "read/keyspace_iterator.h"
#include "read/view_values.h"

namespace mergedb {

DB::~DB() = default;

Result<std::unique_ptr<DB>> DB::Open(const Options& options, const std::string& path) {
  ASSIGN_OR_RETURN(auto database, db::DbImpl::Open(options, path));
  return std::unique_ptr<DB>(std::move(database));
}

Status DB::Destroy(const Options& options, const std::string& path) { return db::DbImpl::Destroy(options, path); }

namespace db {
namespace {

constexpr uint64_t kResumePauseNanos = 100'000'000;
// The pace rises steeply near the end of a debt: a look at a sixteenth of the way would jump over that.
constexpr size_t kLooksWhenPaced = 16;
// MEASURED: full_size_test Queue: a move passes over the 4,000 keys deleted in so much in 0.4 ms.
constexpr size_t kSweptMemtableBytes = size_t{1} << 20;
// Space bound that WaitForCompaction waits for: see policy::Pressure.
constexpr policy::Pressure kDrained = policy::Pressure::kQuiet;

}  // namespace

// ---- Writing -----------------------------------------------------------------------------------------------------------

Status DbImpl::Put(const WriteOptions& options, std::string_view key, std::string_view value) {
  RETURN_IF_ERROR(CheckKey(key));
  RETURN_IF_ERROR(CheckValue(value));
  RETURN_IF_ERROR(CheckWritable(options));
  return CommitDefault({.kind = kv::Kind::kPut, .key = key, .value = value, .durability = options.durability});
}

Status DbImpl::Delete(const WriteOptions& options, std::string_view key) {
  RETURN_IF_ERROR(CheckKey(key));
  RETURN_IF_ERROR(CheckWritable(options));
  return CommitDefault({.kind = kv::Kind::kDelete, .key = key, .value = {}, .durability = options.durability});
}

Status DbImpl::DeleteRange(const WriteOptions& options, std::string_view begin, std::string_view end) {
  RETURN_IF_ERROR(CheckRange(store_->order, begin, end));
  RETURN_IF_ERROR(CheckWritable(options));
  if (store_->order.SameKey(begin, end)) return options.durability == Durability::kSynced ? SyncLog() : Status();
  return CommitDefault({.kind = kv::Kind::kRangeDelete, .key = begin, .value = end, .durability = options.durability});
}

Status DbImpl::DeletePrefix(const WriteOptions& options, std::string_view prefix) {
  if (!store_->order.is_bytewise()) {
    return Status::InvalidArgument("a prefix needs the bytewise comparator; use DeleteRange");
  }
  const std::optional<std::string> end = base::PrefixEnd(std::string(prefix));
  if (!end) return Status::InvalidArgument("no key ends the range of a prefix that is empty or all 0xff; use DeleteRange");
  return DeleteRange(options, prefix, *end);
}

Status DbImpl::Merge(const WriteOptions& options, std::string_view key, std::string_view operand) {
  RETURN_IF_ERROR(CheckKey(key));
  RETURN_IF_ERROR(CheckValue(operand));
  RETURN_IF_ERROR(CheckMerge(operand));
  RETURN_IF_ERROR(CheckWritable(options));
  store_->operator_names.AddOf(operand);
  return CommitDefault({.kind = kv::Kind::kMerge, .key = key, .value = operand, .durability = options.durability});
}

Status DbImpl::Write(const WriteOptions& options, const WriteBatch& batch) {
  bool has_keyspaces = false;
  RETURN_IF_ERROR(CheckBatch(store_->order, batch, &store_->operator_names, &has_keyspaces));
  RETURN_IF_ERROR(CheckWritable(options));
  if (batch.count() == 0) return options.durability == Durability::kSynced ? SyncLog() : Status();
  if (has_keyspaces) return CommitBatch(options, batch.rep());
  return CommitDefault(
      {.batch = batch.rep(), .is_batch = true, .records = batch.count(), .durability = options.durability});
}

Status DbImpl::BeforeGroup(size_t bytes) {
  RETURN_IF_ERROR(CheckOpen());
  RETURN_IF_ERROR(ReviveLog());
  recent_writes_.Discard();  // of a group that failed
  if (store_->key_map() != nullptr) keyspace_ids_.Discard();
  background_->WriteHappened();
  paced_bytes_ += bytes;
  if (paced_bytes_ >= (gate_.rate() == 0 ? pace_look_bytes_ : pace_look_bytes_ / kLooksWhenPaced)) {
    paced_bytes_ = 0;
    background_->UpdatePace();
  }
  gate_.Enter(bytes);
  return {};
}

bool DbImpl::FitsOneMemtable(const write::Room& room) const {
  return memtable::Memtable::MemoryHolds(store_->memory.memtable_bytes, room.records, room.bytes);
}

Status DbImpl::MakeRoom(const write::Room& room) {
  const bool is_full = !active_->Reserve(room.records, room.bytes);
  if (!is_full && !(background_->seal_is_wanted() && IsWorthSealing())) [[likely]] return {};
  RETURN_IF_ERROR(WaitForSealedSlot());
  MakeRoomAnyway(room);
  return {};
}

// A reader waded through what the active memtable deletes: no merge can take that away before it is flushed.
bool DbImpl::IsWorthSealing() {
  background_->SealIsConsidered();
  return active_->bytes_used() >= std::min(kSweptMemtableBytes, store_->memory.memtable_bytes / 2) &&
         shape_->sealed_count() + 2 < store_->memory.memtables_max;
}

void DbImpl::MakeRoomAnyway(const write::Room& room) {
  Seal(FitsOneMemtable(room) ? TakeStandby()
                             : write::MemoryPool::NewLargeMemtable(
                                   store_->order, memtable::Memtable::BytesNeeded(room.bytes, 0)));
  (void)active_->Reserve(room.records, room.bytes);  // else operands leave no folds, that is all
}

// The active memtable may be sealed when those sealed, itself and the next one together are within the memory for unflushed
// writes.
Status DbImpl::WaitForSealedSlot() {
  const size_t sealed_max = store_->memory.memtables_max - 2;
  if (shape_->sealed_count() <= sealed_max) return {};
  const uint64_t start = store_->options.env.clock->NowNanos();
  Status status = background_->WaitUntil(Background::Needs::kFlushes, [&] { return shape_->sealed_count() <= sealed_max; });
  memory_waits_.Add(store_->options.env.clock->NowNanos() - start);
  return status;
}

Shape::LogStart DbImpl::At(const log::Mark& mark) const {
  return {.epoch = epoch_, .salt = salt_, .position = mark.position, .chain = mark.chain, .sequence = mark.sequence};
}

void DbImpl::Seal(std::shared_ptr<memtable::Memtable> next) {
  active_ = next;
  shape_->Seal(std::move(next), At(pieces_from_ ? *pieces_from_ : log_->end()));
  background_->UpdatePace();
  background_->SealHappened();
}

Status DbImpl::SealIfUsed() {
  if (active_->empty()) return {};
  RETURN_IF_ERROR(WaitForSealedSlot());
  Seal(TakeStandby());
  return {};
}

void DbImpl::BeginPieces(const log::Mark& replay_from) {
  pieces_from_ = replay_from;
  shape_->BeginPieces(store_->snapshots->published());
}

void DbImpl::EndPieces() {
  pieces_from_ = std::nullopt;
  shape_->EndPieces();
}

void DbImpl::LogFailed(const Status& status) {
  errors_.fetch_add(1, std::memory_order_relaxed);
  if (status.IsNoSpace()) (void)spares_.RemoveAll();  // the log needs their space more
  if (log_->failure().ok()) return;  // the log can go on by itself
  log_failure_ = Status::Make(status.code(), status.message());  // of those who come later the outcome is known: absent
}

// OK if the log can be written. It may have failed behind everyone's back, when the background synced it.
Status DbImpl::ReviveLog() {
  if (!log_->is_in_trouble() && !epoch_is_owed_) [[likely]] return {};
  if (log_failure_.ok()) {
    const Status failure = log_->failure();
    if (failure.ok()) return {};
    LogFailed(failure);
  }
  return Resume();
}

// A log whose sync failed is given up, never synced again (row B1): everything applied goes into tables, a new epoch begins, and
// what the failed log holds beyond them is void. Writers hear the old failure until that worked.
Status DbImpl::Resume() {
  const uint64_t now = store_->options.env.clock->NowNanos();
  if (now < resume_not_before_nanos_) return log_failure_;
  resume_not_before_nanos_ = now + kResumePauseNanos;

  if (!FlushAll().ok()) return log_failure_;
  if (!StartNewEpoch().ok()) return log_failure_;
  log_failure_ = {};
  resumes_.fetch_add(1, std::memory_order_relaxed);
  return {};
}

// What is in memory is in tables when this returns OK.
Status DbImpl::FlushAll() {
  RETURN_IF_ERROR(SealIfUsed());
  return background_->WaitUntil(Background::Needs::kFlushes, [&] { return shape_->sealed_count() == 0; });
}

// REQUIRES: all is in tables. Once the log's new epoch was begun in the View there is no way back to the old one: if the MANIFEST or the
// new log cannot be written, writers hear why until Resume could do it.
Status DbImpl::StartNewEpoch() {
  const kv::Sequence sequence = log_->next_sequence();
  epoch_is_owed_ = true;
  const uint64_t salt = store_->options.env.entropy();
  const log::Mark first = log::FirstMark(salt, sequence);
  shape_->StartEpoch({.epoch = epoch_ + 1, .salt = salt, .position = first.position, .chain = first.chain, .sequence = sequence});
  Shape::LogStart released;
  RETURN_IF_ERROR(shape_->Commit([](const Shape::LogStart&) { return Shape::LogFacts{}; }, std::nullopt, &released));

  const auto failed_segments = log_->segments();
  log_->Stop();
  RETURN_IF_ERROR(StartLog(epoch_ + 1, salt, sequence, {}));
  for (const kv::FileNumber number : failed_segments) {
    (void)store_->options.env.file_system->Remove(format::SegmentPath(store_->directory, number));  // else an orphan
  }
  epoch_is_owed_ = false;
  if (marker_to_come_) store_->SetKeyMap(std::make_unique<kv::KeyMap>(*std::exchange(marker_to_come_, std::nullopt)));
  return {};
}

Status DbImpl::StartLog(uint64_t epoch, uint64_t salt, kv::Sequence sequence,
                        std::vector<kv::FileNumber> reusable_segments) {
  const Env& env = store_->options.env;
  const log::Options options{.file_system = env.file_system,
                       .clock = env.clock,
                       .executor = env.executor,
                       .directory = store_->directory,
                       .database_id = database_id_,
                       .epoch = epoch,
                       .salt = salt,
                       .first_sequence = sequence,
                       .staging_bytes = store_->memory.staging_bytes,
                       .undrained_bytes_max = store_->memory.undrained_bytes_max,
                       .segment_bytes = store_->memory.segment_bytes,
                       .spare_bytes = store_->memory.log_quota_bytes,
                       .use_mapping = store_->options.use_mapped_staging,
                       .allocate_number = [this] { return shape_->AllocateNumber(); },
                       .reusable_segments = std::move(reusable_segments)};
  ASSIGN_OR_RETURN(std::shared_ptr<log::Log> log, log::Log::Create(options));
  (void)log->Prepare();  // a full disk is the first writer's error, not the open's
  salt_ = salt;
  {
    base::Lock lock(mutex_);
    epoch_ = epoch;
    log_ = log;
  }
  if (!log->staging_file_bytes()) return {};
  Shape::LogStart released;
  Status status = shape_->Commit([this](const Shape::LogStart& from) { return FactsOf(from); }, std::nullopt, &released);
  if (!status.ok()) log->Stop();  // nothing is staged that the MANIFEST does not know of
  return status;
}

Shape::LogFacts DbImpl::FactsOf(const Shape::LogStart& from) const {
  const auto log = LogOf(from.epoch);
  if (log == nullptr) return {};
  return {.durable = log->durable_position(),
          .segments = log->segments_from(from.position),
          .staging_bytes = log->staging_file_bytes()};
}

std::shared_ptr<log::Log> DbImpl::CurrentLog() const {
  base::Lock lock(mutex_);
  return log_;
}

std::shared_ptr<log::Log> DbImpl::LogOf(uint64_t epoch) const {
  base::Lock lock(mutex_);
  return epoch == epoch_ ? log_ : nullptr;
}

std::shared_ptr<memtable::Memtable> DbImpl::TakeStandby() {
  {
    base::Lock lock(mutex_);
    if (standby_ != nullptr) return std::move(standby_);
  }
  return store_->memtables->NewMemtable(store_->order);
}

// Clearing an index and touching fresh pages is work for the background. One standby at most, and only while it keeps within
// the memory for unflushed writes.
void DbImpl::MakeStandby() {
  {
    base::Lock lock(mutex_);
    if (standby_ != nullptr || shape_->sealed_count() + 2 > store_->memory.memtables_max) return;
  }
  auto memtable = store_->memtables->NewMemtable(store_->order);
  base::Lock lock(mutex_);
  if (standby_ == nullptr) standby_ = std::move(memtable);
}

// ---- Reading -----------------------------------------------------------------------------------------------------------

Status DbImpl::CheckOpen() const {
  if (!store_->is_closed->load(std::memory_order_acquire)) [[likely]] return {};
  return Status::ShuttingDown(store_->directory + ": the database is closed");
}

Status DbImpl::CheckWritable() const {
  RETURN_IF_ERROR(CheckOpen());
  if (store_->options.mode != OpenMode::kReadOnly) [[likely]] return {};
  return Status::NotSupported(store_->directory + ": opened read-only");
}

Status DbImpl::CheckWritable(const WriteOptions& options) {
  RETURN_IF_ERROR(CheckWritable());
  if (options.durability == Durability::kNoLog) has_unlogged_.store(true, std::memory_order_relaxed);
  return {};
}

Result<kv::Sequence> DbImpl::SequenceFor(const ReadOptions& options, const read::View& view) const {
  if (options.snapshot == nullptr) return std::min(store_->snapshots->published(), view.sequence_max);
  if (!store_->snapshots->Owns(options.snapshot)) return Status::InvalidArgument("the snapshot is of another database");
  return options.snapshot->sequence();
}

Status DbImpl::Get(const ReadOptions& options, std::string_view key, std::string* value) {
  const kv::KeyMap* const map = store_->key_map();
  if (map == nullptr) [[likely]] return GetUnder(options, key, {}, value);
  std::string scratch;
  return GetUnder(options, map->ToTree(kv::kDefaultKeyspace, key, &scratch), {}, value);
}

Status DbImpl::GetUnder(const ReadOptions& options, std::string_view key, std::span<const std::string_view> newer,
                        std::string* value) {
  RETURN_IF_ERROR(CheckOpen());
  const read::ViewPin view = shape_->Pinned();
  ASSIGN_OR_RETURN(const kv::Sequence sequence, SequenceFor(options, *view));
  return read::Lookup(LookupIn(), *view, key, sequence,
                      {options.verify_checksums, options.fill_cache}, value, newer);
}

std::vector<Status> DbImpl::MultiGet(const ReadOptions& options, Keyspace keyspace, const std::vector<std::string_view>& keys,
                                     std::vector<std::string>* values) {
  values->assign(keys.size(), {});
  std::vector<Status> statuses(keys.size());
  Status status = CheckOpen();
  if (status.ok()) status = CheckMade(keyspace);
  const kv::KeyMap* const map = store_->key_map();
  std::string scratch;
  const read::ViewPin view = shape_->Pinned();
  Result<kv::Sequence> sequence = SequenceFor(options, *view);
  if (status.ok()) status = sequence.status();
  for (size_t i = 0; i < keys.size(); ++i) {
    statuses[i] = !status.ok() ? status
                               : read::Lookup(LookupIn(), *view, map == nullptr ? keys[i] : map->ToTree(keyspace.id(), keys[i], &scratch), *sequence,
                                              {options.verify_checksums, options.fill_cache}, &(*values)[i]);
  }
  return statuses;
}

std::unique_ptr<read::WalkableIterator> DbImpl::NewCursor(const IteratorOptions& options) {
  if (store_->key_map() == nullptr) [[likely]] return NewTreeIterator(options, {});
  return read::NewErrorIterator(Status::NotSupported("the database has keyspaces: cursors over it are DB::NewIterator's"));
}

std::unique_ptr<Iterator> DbImpl::NewIterator(const IteratorOptions& options) { return NewIteratorUnder(options, {}); }

std::unique_ptr<Iterator> DbImpl::NewIteratorUnder(const IteratorOptions& options, read::Overlay overlay) {
  if (!options.keyspace.is_default()) {
    if (Status status = CheckMade(options.keyspace); !status.ok()) return read::NewErrorIterator(std::move(status));
  }
  const kv::KeyMap* const map = store_->key_map();
  if (map == nullptr) [[likely]] return NewTreeIterator(options, std::move(overlay));
  return read::NewKeyspaceIterator(*map, options, NewTreeIterator(read::ToTreeOptions(*map, options), std::move(overlay)));
}

std::unique_ptr<read::WalkableIterator> DbImpl::NewTreeIterator(const IteratorOptions& options, read::Overlay overlay) {
  if (Status status = CheckOpen(); !status.ok()) return read::NewErrorIterator(std::move(status));
  read::ViewPtr view = shape_->Current();
  const Result<kv::Sequence> sequence = SequenceFor(options.read, *view);
  if (!sequence) return read::NewErrorIterator(sequence.error());
  read::DbIteratorContext context{.order = store_->order,
                                  .tables = *store_->tables,
                                  .values = store_->values,
                                  .is_closed = store_->is_closed,
                                  .keep = store_,
                                  .operators = &store_->operators};
  if (background_ != nullptr) {
    context.on_wade = [background = std::weak_ptr(background_)](stream::Wade wade) {
      if (auto alive = background.lock()) alive->Sweep({.lower = std::move(wade.lower), .upper = std::move(wade.upper)});
    };
  }
  return read::NewDbIterator(context, std::move(view), *sequence, options, std::move(overlay));
}

std::shared_ptr<const Snapshot> DbImpl::GetSnapshot() {
  return store_->snapshots->Get(shape_->Current()->sequence_max, store_->options.env.clock->NowNanos());
}

uint64_t DbImpl::SizeOfRange(const tree::Version& version, const format::Bounds& bounds) {
  uint64_t bytes = 0, referred_bytes = 0;
  for (const auto& run : version.runs()) {
    const auto [first, last] = run->Overlap(store_->order, bounds);
    for (size_t i = first; i < last; ++i) {
      const tree::Slice& slice = run->slices()[i];
      const format::Bounds shown = tree::Intersection(store_->order, slice.bounds, bounds);
      const uint64_t value_bytes = slice.file->value_bytes();
      if (tree::Slice{slice.file, shown}.is_whole()) {
        bytes += slice.file->bytes;
        referred_bytes += value_bytes;
        continue;
      }
      auto reader = store_->tables->Open(slice.file);
      if (!reader) continue;
      const uint64_t from = shown.lower ? (*reader)->ApproximateOffset(*shown.lower) : 0;
      const uint64_t to = shown.upper ? (*reader)->ApproximateOffset(*shown.upper) : slice.file->bytes;
      if (to <= from) continue;
      // References are about evenly spread over the blocks of their table.
      const uint64_t blocks = std::max<uint64_t>((*reader)->ApproximateOffset(slice.file->largest), 1);
      const double share = static_cast<double>(std::min(to, blocks) - std::min(from, blocks)) / static_cast<double>(blocks);
      bytes += to - from;
      referred_bytes += static_cast<uint64_t>(share * static_cast<double>(value_bytes));
    }
  }
  // A table that shows in part refers to values of keys that another one shows, too.
  return bytes + std::min(referred_bytes, version.value_bytes());
}

std::vector<uint64_t> DbImpl::ApproximateSizes(Keyspace keyspace, const std::vector<KeyRange>& ranges) {
  std::vector<uint64_t> sizes;
  const read::ViewPtr view = shape_->Current();
  const kv::KeyMap* const map = store_->key_map();
  if (!CheckMade(keyspace).ok()) return std::vector<uint64_t>(ranges.size(), 0);
  for (const KeyRange& range : ranges) {
    kv::KeyMap::Range asked{.lower = std::string(range.lower), .upper = std::string(range.upper)};
    if (map == nullptr) {
      sizes.push_back(SizeOfRange(*view->version, {.lower = std::move(asked.lower), .upper = std::move(asked.upper)}));
      continue;
    }
    sizes.push_back(0);
    for (auto& stretch : map->ToTreeRanges(keyspace.id(), asked)) {
      sizes.back() += SizeOfRange(*view->version, {.lower = std::move(stretch.lower), .upper = std::move(stretch.upper)});
    }
  }
  return sizes;
}

Status DbImpl::CheckIntegrity() {
  RETURN_IF_ERROR(CheckOpen());
  const read::ViewPtr view = shape_->Current();
  for (const auto& meta : view->version->file_metas()) {
    ASSIGN_OR_RETURN(auto reader, store_->tables->Open(meta));
    RETURN_IF_ERROR(reader->CheckIntegrity());
  }
  for (const tree::ValueFile& each : view->version->value_files()) {
    ASSIGN_OR_RETURN(auto reader, store_->values.Open(*each.file));
    RETURN_IF_ERROR(reader->CheckIntegrity());
  }
  for (const auto& meta : view->version->file_metas()) RETURN_IF_ERROR(CheckReferences(*view->version, meta));
  return {};
}

// Every reference of a table leads to a value of its key, and they add up to what the table's description says.
Status DbImpl::CheckReferences(const tree::Version& version, const format::FileMetaPtr& meta) {
  ASSIGN_OR_RETURN(auto table, store_->tables->Open(meta));
  read::ViewValues values(version, store_->values, true);
  std::map<kv::FileNumber, uint64_t> found;
  const auto entries = table->NewScanIterator();
  for (entries->SeekToFirst(); entries->Valid(); entries->Next()) {
    if (kv::KindOf(entries->entry().tag) != kv::Kind::kPutRef) continue;
    std::string_view value;
    RETURN_IF_ERROR(values.Resolve(entries->entry(), &value));
    format::ValueReference reference;
    RETURN_IF_ERROR(format::ParseReference(entries->entry().value, &reference));
    found[reference.file] += reference.bytes;
  }
  RETURN_IF_ERROR(entries->status());
  std::map<kv::FileNumber, uint64_t> expected;
  for (const format::ValueShare& share : meta->values) expected[share.file] = share.bytes;
  if (found == expected) return {};
  return Status::Corruption(format::TablePath(store_->directory, meta->number) +
                            ": refers to other bytes of value files than the MANIFEST says");
}

// ---- Care --------------------------------------------------------------------------------------------------------------

Status DbImpl::Flush() noexcept {
  RETURN_IF_ERROR(CheckWritable());
  {
    write::CommitQueue::Turn turn(queue_);
    RETURN_IF_ERROR(ReviveLog());
    RETURN_IF_ERROR(SealIfUsed());
  }
  return background_->WaitForFlush();
}

Status DbImpl::SyncLog() noexcept {
  RETURN_IF_ERROR(CheckWritable());
  write::CommitQueue::Turn turn(queue_);
  RETURN_IF_ERROR(ReviveLog());
  Status status = log_->MakeDurable();
  if (!status.ok()) LogFailed(status);
  return status;
}

Status DbImpl::CompactRange(Keyspace keyspace, const std::string_view* lower, const std::string_view* upper) noexcept {
  RETURN_IF_ERROR(Flush());
  RETURN_IF_ERROR(CheckMade(keyspace));
  format::Bounds bounds;
  if (lower != nullptr) bounds.lower = std::string(*lower);
  if (upper != nullptr) bounds.upper = std::string(*upper);
  if (const kv::KeyMap* const map = store_->key_map(); map != nullptr) {
    auto stretches = map->ToTreeRanges(keyspace.id(), {.lower = std::move(bounds.lower), .upper = std::move(bounds.upper)});
    bounds = {.lower = std::move(stretches.front().lower), .upper = std::move(stretches.back().upper)};
  }
  // An empty range owes nothing. Inside a table it would look as if it did, after every merge of it anew.
  if (lower != nullptr && upper != nullptr && store_->order.CompareKeys(*lower, *upper) >= 0) return {};
  return background_->CompactRange(bounds);
}

Status DbImpl::WaitForCompaction() noexcept {
  RETURN_IF_ERROR(CheckWritable());
  return background_->WaitForSettled(kDrained);
}

Status DbImpl::Close() noexcept {
  {
    base::Lock lock(mutex_);
    if (is_stopped_) return {};
    is_stopped_ = true;
  }
  store_->is_closed->store(true, std::memory_order_release);
  if (store_->options.mode == OpenMode::kReadOnly || background_ == nullptr) return {};

  queue_.Stop();
  write::CommitQueue::Turn turn(queue_);
  Status unlogged;
  if (has_unlogged_ && !ZOO(kNoLogForgottenByClose)) {  // durable after Close, as options.h promises
    unlogged = SealIfUsed();
    if (unlogged.ok()) unlogged = background_->WaitForFlush();
    if (!unlogged.ok()) unlogged = background_->WaitForFlush();  // a fault may have passed, and there is no later
  }
  background_->Stop(store_->options.finish_merges_on_close);
  Status status = log_failure_;
  if (status.ok()) status = log_->MakeDurable();
  if (status.ok()) {
    // From here on the log's end is known: damage to it will be noticed whatever it looks like.
    const log::Mark end = log_->end();
    Shape::LogStart released;
    status = shape_->Commit([&](const Shape::LogStart& from) { return Shape::LogFacts{end.position, log_->segments_from(from.position)}; }, end.position, &released);
  }
  (void)spares_.RemoveAll();  // else at the next open
  log_->Stop();
  lock_ = nullptr;
  return status.ok() ? unlogged : status;
}

DbImpl::~DbImpl() { (void)Close(); }

}  // namespace db
}  // namespace mergedb
