#include "read/lookup.h"

#include <array>
#include <list>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "base/hash.h"
#include "base/perf.h"
#include "iterator/user_iterator.h"
#include "read/blob_values.h"
#include "read/tree_iterator.h"

namespace mergedb::read {
namespace {

using env::Progress;

// The value of a key, as far as the versions that a lookup has met decide it. The lookup meets them newest first.
class PendingValue {
 public:
  PendingValue(const LookupContext& context, const SuperVersion& super_version, const table::ReadControl& control,
               std::string_view key, std::string* value, InPlace* in_place)
      : context_(context),
        super_version_(super_version),
        control_(control),
        key_(key),
        value_(value),
        in_place_(in_place) {}

  // Takes the operands above all stored versions. True: they decide the value, since they are an error.
  bool TakeUncommitted(std::span<const std::string_view> operands) {
    if (operands.empty()) [[likely]]
      return false;
    chain_.emplace(context_.operators, context_.operands_max);
    for (const std::string_view operand : operands) {
      if (TakeBelow(kv::MakeTag(kv::kSequenceMax, kv::Kind::kMerge), operand)) return true;
    }
    return false;
  }

  // Takes the next older version. True: it decides the value. `lasts`: the version lies in a memtable or in a mapped
  // table.
  bool Take(kv::Tag tag, std::string_view stored, bool lasts = false) {
    if (chain_) [[unlikely]]
      return TakeBelow(tag, stored);
    switch (kv::KindOf(tag)) {
      case kv::Kind::kPut: TakeValue(stored, lasts); return Decide({});
      case kv::Kind::kPutBlobIndex: return Decide(TakeBlobIndex(tag, stored));
      case kv::Kind::kDelete: return Decide(Status::NotFound(""));
      default: chain_.emplace(context_.operators, context_.operands_max); return TakeBelow(tag, stored);
    }
  }
  // No older version exists.
  void TakeEnd() { Decide(chain_ ? kv::FoldAndShow(key_, {}, *chain_, value_) : Status::NotFound("")); }

  bool is_decided() const { return is_decided_; }
  // The chain is full, and the base was not met. Finish then gives no value.
  bool is_too_long() const { return is_too_long_; }
  // `source` is the table or the memtable of the version that decided. Keeps it if the value is shown in place in it.
  template <class... Source>
  void KeepSource(const Source&... source) {
    if (in_place_ != nullptr && in_place_->value) in_place_->tables.Keep(source...);
  }

  // The decided value, which may be in a blob file: then its read may wait.
  env::ReadResult Finish(env::Deferral* deferral) {
    if (blob_file_ != nullptr) [[unlikely]]
      return ReadBlob(deferral);
    if (!status_.ok()) return std::move(status_);
    return Progress::kDone;
  }

 private:
  bool Decide(Status status) {
    status_ = std::move(status);
    return is_decided_ = true;
  }

  void TakeValue(std::string_view stored, bool lasts) {
    if (lasts && in_place_ != nullptr) {
      in_place_->value = stored;
    } else {
      value_->assign(stored.data(), stored.size());
    }
  }

  bool TakeBelow(kv::Tag tag, std::string_view stored) {
    const kv::Kind kind = kv::KindOf(tag);
    switch (kind) {
      case kv::Kind::kMerge:
        is_too_long_ = chain_->is_full();
        if (is_too_long_) return Decide({});
        chain_->AddOlder(key_, tag, stored);
        return false;
      case kv::Kind::kPut:
      case kv::Kind::kDelete:
      case kv::Kind::kMerged: return Decide(kv::FoldAndShow(key_, {kind, stored}, *chain_, value_));
      case kv::Kind::kPutBlobIndex: return Decide(TakeBlobIndex(tag, stored));
      default:
        return Decide(Status::NotSupported("a value of kind " + std::to_string(static_cast<int>(kind)) +
                                           " needs a newer mergedb"));
    }
  }

  Status TakeBlobIndex(kv::Tag tag, std::string_view stored) {
    const kv::Entry entry{.key = key_, .tag = tag, .value = stored};
    ASSIGN_OR_RETURN(blob_file_, BlobFileOf(*super_version_.version, entry, &blob_index_));
    return {};
  }

  // Reads the value from its blob file, and folds the operands above it onto it.
  env::ReadResult ReadBlob(env::Deferral* deferral) {
    {
      const blob::OpenBlobFiles::Finder finder(context_.values.now_open());
      if (const auto* const reader = finder.Find(kv::ToInt(blob_file_->number))) [[likely]]
        return ReadBlobFrom(*reader, deferral);
    }
    ASSIGN_OR_RETURN(const auto reader, context_.values.Open(*blob_file_));
    return ReadBlobFrom(reader, deferral);
  }
  env::ReadResult ReadBlobFrom(const std::shared_ptr<blob::Reader>& reader, env::Deferral* deferral) {
    blob::Found found;
    ASSIGN_OR_RETURN(
        const Progress progress,
        reader->GetOrWait(blob_index_, key_, {control_.verify_checksums, control_.fill_cache}, deferral, &found));
    if (progress == Progress::kWaits) return progress;
    if (chain_) {
      RETURN_IF_ERROR(kv::FoldAndShow(key_, {kv::Kind::kPut, found.value}, *chain_, value_));
      return Progress::kDone;
    }
    TakeValue(found.value, !found.pin);
    KeepSource(super_version_.version->FindBlobFile(blob_index_.file), reader);
    return Progress::kDone;
  }

  const LookupContext& context_;
  const SuperVersion& super_version_;
  const table::ReadControl& control_;
  const std::string_view key_;
  std::string* const value_;
  InPlace* const in_place_;
  std::optional<kv::Chain> chain_;                   // set once an operand was met
  const format::BlobFileMeta* blob_file_ = nullptr;  // of the version that decided; null: it has no blob index
  format::BlobIndex blob_index_{};
  bool is_decided_ = false;
  bool is_too_long_ = false;
  Status status_;
};

// Stands for the versions that a range tombstone masks.
constexpr kv::Tag kDeleted = kv::MakeTag(0, kv::Kind::kDelete);

// True: the value is decided.
bool FindInMemtables(const SuperVersion& super_version, bool is_hashed, std::string_view key, uint64_t hash,
                     kv::Sequence sequence, PendingValue* value) {
  const auto finds = [&](const std::shared_ptr<memtable::Memtable>& memtable) {
    const memtable::Memtable& table = *memtable;
    if (PerfContext* const perf = base::thread_perf) [[unlikely]]
      ++perf->memtables_searched;
    const auto& range_deletes = table.range_deletes();
    const kv::Sequence masking_sequence = range_deletes.empty() ? 0 : range_deletes.MaskingSequence(key, sequence);
    memtable::Memtable::Found found;
    bool is_found = is_hashed ? table.GetHashed(key, hash, sequence, &found) : table.Get(key, sequence, &found);
    for (; is_found && kv::SequenceOf(found.tag) >= masking_sequence; is_found = table.GetOlder(key, &found)) {
      if (!value->Take(found.tag, found.value, true)) continue;
      value->KeepSource(memtable);
      return true;
    }
    return masking_sequence > 0 && value->Take(kDeleted, {});
  };
  if (finds(super_version.active)) return true;
  for (const auto& table : super_version.immutable) {
    if (finds(table)) return true;
  }
  return false;
}

// Takes the versions below the operand *found, down to `oldest`.
// WHY no read waits for its turn here: a lookup that goes on after a wait begins at the table's newest version again.
Status TakeOlder(const table::Reader& reader, std::string_view key, kv::Sequence oldest,
                 const table::ReadControl& control, table::Found* found, PendingValue* value) {
  for (kv::Sequence taken = kv::SequenceOf(found->tag);;) {
    Status status = reader.GetOlder(key, control, found);
    if (status.IsNotFound()) return {};
    if (!status.ok()) return status;
    const kv::Sequence sequence = kv::SequenceOf(found->tag);
    if (sequence < oldest) return {};
    if (sequence == taken) continue;  // the same write, replayed twice
    if (value->Take(found->tag, found->value, !found->pin)) return {};
    taken = sequence;
  }
}

// Tables whose key range contains the key, a batch at a time, newest first.
constexpr size_t kBatch = 16;
class Candidates {
 public:
  // Looks from the run *next on, and sets *next behind the last run that it looked at.
  void Gather(const LookupContext& context, const std::vector<version::RunPtr>& runs, std::string_view key,
              size_t* next) {
    for (; *next < runs.size() && count_ < kBatch; ++*next) {
      const version::VirtualTable* const virtual_table = runs[*next]->Find(context.order, key);
      if (virtual_table == nullptr) continue;
      tables_[count_] = virtual_table;
      runs_[count_++] = *next;
    }
  }
  Status Open(table::Cache& cache) {
    finder_.emplace(cache.now_open());
    for (size_t i = 0; i < count_; ++i) {
      readers_[i] = finder_->Find(kv::ToInt(file(i)->number));
      if (readers_[i] == nullptr) [[unlikely]]
        return OpenAll(cache);
    }
    return {};
  }

  size_t count() const { return count_; }
  size_t run(size_t i) const { return runs_[i]; }
  const format::FileMetaPtr& file(size_t i) const { return tables_[i]->file; }
  const std::shared_ptr<table::Reader>& reader(size_t i) const { return *readers_[i]; }

 private:
  [[gnu::noinline, gnu::cold]] Status OpenAll(table::Cache& cache) {
    finder_.reset();
    opened_.resize(count_);
    for (size_t i = 0; i < count_; ++i) {
      ASSIGN_OR_RETURN(opened_[i], cache.Open(file(i)));
      readers_[i] = &opened_[i];
    }
    return {};
  }

  std::array<const version::VirtualTable*, kBatch> tables_;
  std::array<size_t, kBatch> runs_;
  std::array<const std::shared_ptr<table::Reader>*, kBatch> readers_;
  size_t count_ = 0;
  std::optional<table::OpenTables::Finder> finder_;     // keeps the readers, or
  std::vector<std::shared_ptr<table::Reader>> opened_;  // keeps them
};

// A lookup of one key. With a deferral, Begin and Continue may wait; the owner then calls Continue later.
class KeyLookup {
 public:
  // `control` and all that the arguments point to outlive the lookup. A null `deferral` never waits.
  KeyLookup(const LookupContext& context, const SuperVersion& super_version, const table::ReadControl& control,
            env::Deferral* deferral, std::string_view key, kv::Sequence sequence, std::string* value, InPlace* in_place)
      : context_(context),
        super_version_(super_version),
        control_(control),
        deferral_(deferral),
        key_(key),
        sequence_(sequence),
        is_hashed_(context.order.is_bytewise()),
        hash_(is_hashed_ ? base::Hash64(key) : 0),
        value_(context, super_version, control, key, value, in_place) {}

  env::ReadResult Begin(std::span<const std::string_view> newer) {
    if (value_.TakeUncommitted(newer) || FindInMemtables(super_version_, is_hashed_, key_, hash_, sequence_, &value_)) {
      return value_.Finish(deferral_);
    }
    return SearchRuns();
  }
  // REQUIRES: the last step waits, and the deferral continues.
  env::ReadResult Continue() { return SearchRuns(); }
  // The key has more operands than a chain takes, and Begin or Continue found no value: ReadLongChain finds it.
  bool is_too_long() const { return value_.is_too_long(); }

 private:
  env::ReadResult SearchRuns();
  env::ReadResult SearchNextRuns();
  env::ReadResult SearchTable(const table::Reader& reader, kv::Sequence oldest);
  void CountRun(size_t run, const table::Reader& reader, PerfContext* perf);

  const LookupContext& context_;
  const SuperVersion& super_version_;
  const table::ReadControl& control_;
  env::Deferral* const deferral_;
  const std::string_view key_;
  const kv::Sequence sequence_;
  const bool is_hashed_;
  const uint64_t hash_;
  size_t next_run_ = 0;      // the runs above it are searched
  size_t runs_counted_ = 0;  // the visits of the runs above it are counted
  PendingValue value_;
};

// A run is visited twice if the lookup waits in it, and counted once.
void KeyLookup::CountRun(size_t run, const table::Reader& reader, PerfContext* perf) {
  if (run < runs_counted_) return;
  runs_counted_ = run + 1;
  ++perf->runs_visited;
  if (!is_hashed_) return;
  ++perf->filters_checked;
  if (!reader.MayContain(hash_)) ++perf->filters_useful;
}

// Takes the versions of one table, down to `oldest`, until they decide the value.
env::ReadResult KeyLookup::SearchTable(const table::Reader& reader, kv::Sequence oldest) {
  table::Found found;
  env::ReadResult progress = reader.GetOrWait(key_, sequence_, control_, deferral_, &found);
  if (deferral_ != nullptr) [[unlikely]] {
    if (progress.waits()) return progress;
    deferral_->Pass();
  }
  if (!progress) {
    if (!progress.error().IsNotFound()) return progress;
  } else if (kv::SequenceOf(found.tag) >= oldest && !value_.Take(found.tag, found.value, !found.pin)) {
    RETURN_IF_ERROR(TakeOlder(reader, key_, oldest, control_, &found, &value_));
  }
  return Progress::kDone;
}

env::ReadResult KeyLookup::SearchRuns() {
  while (!value_.is_decided() && next_run_ < super_version_.version->runs().size()) {
    ASSIGN_OR_RETURN(const Progress progress, SearchNextRuns());
    if (progress == Progress::kWaits) [[unlikely]]
      return progress;
  }
  if (!value_.is_decided()) value_.TakeEnd();
  return value_.Finish(deferral_);
}

env::ReadResult KeyLookup::SearchNextRuns() {
  Candidates batch;
  size_t end = next_run_;
  batch.Gather(context_, super_version_.version->runs(), key_, &end);
  RETURN_IF_ERROR(batch.Open(context_.tables));
  if (is_hashed_) {
    for (size_t i = 0; i < batch.count(); ++i) batch.reader(i)->PrefetchFilter(hash_);
  }
  for (size_t i = 0; i < batch.count(); ++i) {
    const table::Reader& reader = *batch.reader(i);
    const kv::Sequence masking_sequence = reader.range_tombstones().MaskingSequence(context_.order, key_, sequence_);
    if (PerfContext* const perf = base::thread_perf) [[unlikely]]
      CountRun(batch.run(i), reader, perf);
    if (!is_hashed_ || reader.MayContain(hash_)) {
      ASSIGN_OR_RETURN(const Progress progress, SearchTable(reader, masking_sequence));
      if (progress == Progress::kWaits) [[unlikely]] {
        next_run_ = batch.run(i);
        return progress;
      }
      if (value_.is_decided()) {
        value_.KeepSource(batch.file(i), batch.reader(i));
        return Progress::kDone;
      }
    }
    if (masking_sequence > 0 && value_.Take(kDeleted, {})) return Progress::kDone;
  }
  next_run_ = end;
  return Progress::kDone;
}

// The value of a key that has more operands than a chain takes. An iterator folds them from the oldest on.
[[gnu::noinline, gnu::cold]] Status ReadLongChain(const LookupContext& context, const SuperVersion& super_version,
                                                  std::string_view key, kv::Sequence sequence,
                                                  const table::ReadControl& control, std::string* value,
                                                  std::span<const std::string_view> newer) {
  BlobValues values(*super_version.version, context.values, control.verify_checksums);
  const auto iterator =
      iterator::NewUserIterator(context.order,
                                {.sequence = sequence,
                                 .lower = std::string(key),
                                 .operators = context.operators,
                                 .values = &values,
                                 .operands_max = context.operands_max},
                                NewTreeIterator({.order = context.order, .tables = context.tables}, super_version,
                                                sequence, {.lower = std::string(key), .upper = std::nullopt}, control));
  iterator->Seek(key, kv::kTagMax);
  if (!iterator->Valid() && !iterator->status().ok()) return iterator->status();
  const bool is_found = iterator->Valid() && context.order.SameKey(iterator->entry().key, key);
  if (newer.empty()) {
    if (!is_found) return Status::NotFound("");
    value->assign(iterator->entry().value);
    return {};
  }
  const kv::Base base = is_found ? kv::Base{kv::Kind::kPut, iterator->entry().value} : kv::Base{};
  return kv::FoldAndShow(context.operators, key, base, newer, value);
}

// Calls `read` until it meets no fault of a mapped file: a file with a fault is read by calls from then on.
template <class Read>
auto WithoutFaults(const base::MappedFaults& faults, const Read& read) {
  constexpr int kTriesMax = 1 << 18;  // many times the files that a process maps
  for (int tries = 0;; ++tries) {
    ASSERT(tries < kTriesMax, "a file with a fault is not read in place again");
    const uint64_t before = faults.count();
    const base::MappedRead scope;
    auto found = read();
    if (faults.count() == before) [[likely]]
      return found;
  }
}

Status LookupOnce(const LookupContext& context, const SuperVersion& super_version, std::string_view key,
                  kv::Sequence sequence, const table::ReadControl& control, std::string* value,
                  std::span<const std::string_view> newer, InPlace* in_place) {
  KeyLookup lookup(context, super_version, control, nullptr, key, sequence, value, in_place);
  Status status = lookup.Begin(newer).status();
  if (!lookup.is_too_long()) [[likely]]
    return status;
  return ReadLongChain(context, super_version, key, sequence, control, value, newer);
}

}  // namespace

Status Lookup(const LookupContext& context, const SuperVersion& super_version, std::string_view key,
              kv::Sequence sequence, const table::ReadControl& control, std::string* value,
              std::span<const std::string_view> newer, InPlace* in_place) {
  return WithoutFaults(*context.faults, [&] {
    if (in_place != nullptr) in_place->value.reset();
    Status status = LookupOnce(context, super_version, key, sequence, control, value, newer, in_place);
    if (in_place != nullptr && in_place->value) base::TouchPages(*in_place->value);
    return status;
  });
}

namespace {

// Lookups that wait at the same time. MEASURED: 64 reads of 4 KiB in flight take 0.2 to 0.25 times the time of reads
// one after the other (docs/decisions/0059-multiget.md).
constexpr size_t kWaitingMax = 64;
constexpr uint64_t kWaitingBytesMax = uint64_t{4} << 20;

// The lookups of a MultiLookup, in the order of their hints. WHY a list of places that are used again: a lookup cannot
// move, and keys that need no device need a single allocation.
class LookupsInFlight {
 public:
  // All references outlive the object.
  LookupsInFlight(const LookupContext& context, const SuperVersion& super_version, const table::ReadControl& control,
                  const ManyKeys& many)
      : context_(context), super_version_(super_version), control_(control), many_(many) {}

  bool has_room() const { return waiting_.size() < kWaitingMax && waiting_bytes_ < kWaitingBytesMax; }
  bool empty() const { return waiting_.empty(); }

  void Begin(size_t index) {
    if (idle_.empty()) idle_.emplace_back();
    InFlight& begun = idle_.front().emplace(*this, index);
    Place(idle_, begun.lookup.Begin({}));
  }
  void ContinueOldest() {
    InFlight& oldest = *waiting_.front();
    waiting_bytes_ -= oldest.deferral.hinted_bytes();
    oldest.deferral.Continue();
    Place(waiting_, oldest.lookup.Continue());
  }

 private:
  struct InFlight {
    InFlight(const LookupsInFlight& all, size_t at)
        : index(at),
          lookup(all.context_, all.super_version_, all.control_, &deferral, all.many_.keys[at], all.many_.sequence,
                 &all.many_.values[at], nullptr) {}

    const size_t index;
    env::Deferral deferral;
    KeyLookup lookup;
  };
  using Places = std::list<std::optional<InFlight>>;

  // After a step of the first lookup of `places`.
  void Place(Places& places, env::ReadResult progress) {
    if (progress.waits()) {
      waiting_bytes_ += places.front()->deferral.hinted_bytes();
      waiting_.splice(waiting_.end(), places, places.begin());
      return;
    }
    const InFlight& ended = *places.front();
    many_.statuses[ended.index] = ended.lookup.is_too_long() ? ReadLong(ended.index) : std::move(progress).status();
    places.front().reset();
    idle_.splice(idle_.begin(), places, places.begin());
  }

  Status ReadLong(size_t index) const {
    return ReadLongChain(context_, super_version_, many_.keys[index], many_.sequence, control_, &many_.values[index],
                         {});
  }

  const LookupContext& context_;
  const SuperVersion& super_version_;
  const table::ReadControl& control_;
  const ManyKeys& many_;
  Places idle_;     // empty places
  Places waiting_;  // oldest first
  uint64_t waiting_bytes_ = 0;
};

}  // namespace

void MultiLookup(const LookupContext& context, const SuperVersion& super_version, const table::ReadControl& control,
                 const ManyKeys& many) {
  if (many.keys.size() == 1) {
    many.statuses[0] = Lookup(context, super_version, many.keys[0], many.sequence, control, &many.values[0]);
    return;
  }
  WithoutFaults(*context.faults, [&] {
    LookupsInFlight lookups(context, super_version, control, many);
    for (size_t next = 0; next < many.keys.size() || !lookups.empty();) {
      while (next < many.keys.size() && lookups.has_room()) lookups.Begin(next++);
      if (!lookups.empty()) lookups.ContinueOldest();
    }
    return true;
  });
}

}  // namespace mergedb::read
