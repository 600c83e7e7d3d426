#include "read/lookup.h"

#include <array>
#include <list>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/perf.h"
#include "iterator/user_iterator.h"
#include "read/blob_values.h"
#include "read/tree_iterator.h"

namespace mergedb::read {
namespace {

// What a search has met so far: the answer, or the operands above it.
class Answer {
 public:
  Answer(const LookupContext& context, const SuperVersion& super_version, const table::ReadControl& control,
         std::string_view key, std::string* value, InPlace* in_place)
      : context_(context),
        super_version_(super_version),
        control_(control),
        key_(key),
        value_(value),
        in_place_(in_place) {}

  // Takes the operands above all stored versions. False: they are an error already.
  bool Start(std::span<const std::string_view> newer) {
    if (newer.empty()) [[likely]]
      return true;
    chain_.emplace(context_.operators, context_.operands_max);
    for (const std::string_view operand : newer) {
      if (TakeBelow(kv::MakeTag(kv::kSequenceMax, kv::Kind::kMerge), operand)) return false;
    }
    return true;
  }

  // Takes the next older version. True: the answer is final. `lasts`: the version lies in a memtable or in a mapped
  // table.
  bool Take(kv::Tag tag, std::string_view stored, bool lasts = false) {
    if (chain_) [[unlikely]]
      return TakeBelow(tag, stored);
    switch (kv::KindOf(tag)) {
      case kv::Kind::kPut: TakeValue(stored, lasts); return true;
      case kv::Kind::kPutBlobIndex: status_ = TakeBlobIndex(tag, stored); return true;
      case kv::Kind::kDelete: status_ = Status::NotFound(""); return true;
      default: chain_.emplace(context_.operators, context_.operands_max); return TakeBelow(tag, stored);
    }
  }
  Status Finish() { return std::move(status_); }
  // `source` is the table or the memtable of the final answer. Keeps it if the value is shown in place in it.
  template <class... Source>
  void KeepSource(const Source&... source) {
    if (in_place_ != nullptr && in_place_->value && !is_blob_) in_place_->tables.Keep(source...);
  }
  // The chain is full, and the base was not met.
  bool is_too_long() const { return is_too_long_; }

  // After a wait for a blob value: reads it.
  bool waits_for_blob() const { return blob_file_ != nullptr; }
  Status ReadBlob() {
    ASSIGN_OR_RETURN(const auto reader, context_.values.Open(*blob_file_));
    blob::Found found;
    Status status =
        reader->Get(blob_index_, key_, {control_.verify_checksums, control_.fill_cache, control_.deferral}, &found);
    if (control_.deferral != nullptr && control_.deferral->is_waiting()) return {};
    blob_file_ = nullptr;
    RETURN_IF_ERROR(std::move(status));
    if (chain_) return kv::FoldAndShow(key_, {kv::Kind::kPut, found.value}, *chain_, value_);
    TakeValue(found.value, !found.pin);
    is_blob_ = true;
    if (in_place_ != nullptr && in_place_->value)
      in_place_->tables.Keep(super_version_.version->FindBlobFile(blob_index_.file), reader);
    return {};
  }

  // No older version exists.
  Status FinishAtTheEnd() {
    if (!chain_) return Status::NotFound("");
    return kv::FoldAndShow(key_, {}, *chain_, value_);
  }

 private:
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
        if (chain_->is_full()) break;
        chain_->AddOlder(key_, tag, stored);
        return false;
      case kv::Kind::kPut:
      case kv::Kind::kDelete:
      case kv::Kind::kMerged: status_ = kv::FoldAndShow(key_, {kind, stored}, *chain_, value_); return true;
      case kv::Kind::kPutBlobIndex: status_ = TakeBlobIndex(tag, stored); return true;
      default:
        status_ = Status::NotSupported("a value of kind " + std::to_string(static_cast<int>(kind)) +
                                       " needs a newer mergedb");
        return true;
    }
    is_too_long_ = true;
    return true;
  }

  // Reads the value from its blob file, and folds the operands above it onto it.
  Status TakeBlobIndex(kv::Tag tag, std::string_view stored) {
    const kv::Entry entry{.key = key_, .tag = tag, .value = stored};
    ASSIGN_OR_RETURN(blob_file_, BlobFileOf(*super_version_.version, entry, &blob_index_));
    return ReadBlob();
  }

  const LookupContext& context_;
  const SuperVersion& super_version_;
  const table::ReadControl& control_;
  const std::string_view key_;
  std::string* const value_;
  InPlace* const in_place_;
  std::optional<kv::Chain> chain_;                   // set once an operand was met
  const format::BlobFileMeta* blob_file_ = nullptr;  // of the value that is read now
  format::BlobIndex blob_index_{};
  bool is_blob_ = false;  // the value was read from a blob file
  bool is_too_long_ = false;
  Status status_;
};

// Stands for the versions that a range tombstone masks.
constexpr kv::Tag kDeleted = kv::MakeTag(0, kv::Kind::kDelete);

// True: the answer is final.
bool FindInMemtables(const SuperVersion& super_version, bool is_hashed, std::string_view key, uint64_t hash,
                     kv::Sequence sequence, Answer* answer) {
  const auto finds = [&](const std::shared_ptr<memtable::Memtable>& memtable) {
    const memtable::Memtable& table = *memtable;
    if (PerfContext* const perf = base::thread_perf) [[unlikely]]
      ++perf->memtables_searched;
    const auto& range_deletes = table.range_deletes();
    const kv::Sequence masking_sequence = range_deletes.empty() ? 0 : range_deletes.MaskingSequence(key, sequence);
    memtable::Memtable::Found found;
    bool is_found = is_hashed ? table.GetHashed(key, hash, sequence, &found) : table.Get(key, sequence, &found);
    for (; is_found && kv::SequenceOf(found.tag) >= masking_sequence; is_found = table.GetOlder(key, &found)) {
      if (!answer->Take(found.tag, found.value, true)) continue;
      answer->KeepSource(memtable);
      return true;
    }
    return masking_sequence > 0 && answer->Take(kDeleted, {});
  };
  if (finds(super_version.active)) return true;
  for (const auto& table : super_version.immutable) {
    if (finds(table)) return true;
  }
  return false;
}

// Takes the versions below the operand *found, down to `oldest`.
Result<bool> TakeOlder(const table::Reader& reader, std::string_view key, kv::Sequence oldest,
                       table::ReadControl control, table::Found* found, Answer* answer) {
  // WHY no read waits for its turn here: a search that goes on after a wait begins at the newest version again.
  control.deferral = nullptr;
  for (kv::Sequence taken = kv::SequenceOf(found->tag);;) {
    Status status = reader.GetOlder(key, control, found);
    if (status.IsNotFound()) return false;
    if (!status.ok()) return status;
    const kv::Sequence sequence = kv::SequenceOf(found->tag);
    if (sequence < oldest) return false;
    if (sequence == taken) continue;  // the same write, replayed twice
    if (answer->Take(found->tag, found->value, !found->pin)) return true;
    taken = sequence;
  }
}

// The same for one table, for versions from `newest` down to `oldest`, both inclusive. If the deferral waits, the
// result says nothing.
Result<bool> FindInTable(const table::Reader& reader, std::string_view key, kv::Sequence newest, kv::Sequence oldest,
                         const table::ReadControl& control, Answer* answer) {
  table::Found found;
  Status status = reader.Get(key, newest, control, &found);
  if (control.deferral != nullptr) [[unlikely]] {
    if (control.deferral->is_waiting()) return true;
    control.deferral->Pass();
  }
  if (status.IsNotFound()) return false;
  if (!status.ok()) return status;
  if (kv::SequenceOf(found.tag) < oldest) return false;
  if (answer->Take(found.tag, found.value, !found.pin)) return true;
  return TakeOlder(reader, key, oldest, control, &found, answer);
}

// Tables whose key range contains the key, a batch at a time, newest first.
constexpr size_t kBatch = 16;
struct Candidates {
  std::array<std::shared_ptr<table::Reader>, kBatch> readers;
  std::array<const version::VirtualTable*, kBatch> virtual_tables;
  std::array<size_t, kBatch> runs;
  size_t count = 0;
};

void CountRun(const table::Reader& reader, bool is_hashed, uint64_t hash, PerfContext* perf) {
  ++perf->runs_visited;
  if (!is_hashed) return;
  ++perf->filters_checked;
  if (!reader.MayContain(hash)) ++perf->filters_useful;
}

// A search for one key. With a deferral, Begin and Continue may end while it waits; the status then says nothing, and
// the owner calls Continue later.
class Search {
 public:
  // `control` and all that the arguments point to outlive the search.
  Search(const LookupContext& context, const SuperVersion& super_version, const table::ReadControl& control,
         std::string_view key, kv::Sequence sequence, std::string* value, InPlace* in_place)
      : context_(context),
        super_version_(super_version),
        control_(control),
        key_(key),
        sequence_(sequence),
        is_hashed_(context.order.is_bytewise()),
        hash_(is_hashed_ ? base::Hash64(key) : 0),
        answer_(context, super_version, control, key, value, in_place) {}

  Status Begin(std::span<const std::string_view> newer) {
    if (!answer_.Start(newer)) return answer_.Finish();
    if (FindInMemtables(super_version_, is_hashed_, key_, hash_, sequence_, &answer_)) return answer_.Finish();
    return SearchRuns();
  }
  // REQUIRES: the deferral was waiting, and continues.
  Status Continue() { return answer_.waits_for_blob() ? answer_.ReadBlob() : SearchRuns(); }
  // The last call found more operands than a chain takes, and its status says nothing: ReadLongChain finds the value.
  bool is_too_long() const { return answer_.is_too_long(); }

 private:
  bool is_waiting() const { return control_.deferral != nullptr && control_.deferral->is_waiting(); }
  Status SearchRuns();

  const LookupContext& context_;
  const SuperVersion& super_version_;
  const table::ReadControl& control_;
  const std::string_view key_;
  const kv::Sequence sequence_;
  const bool is_hashed_;
  const uint64_t hash_;
  size_t next_run_ = 0;      // the runs above it are searched
  bool is_counted_ = false;  // the run's visit is counted
  Answer answer_;
};

Status Search::SearchRuns() {
  const auto& runs = super_version_.version->runs();
  while (next_run_ < runs.size()) {
    Candidates batch;
    size_t end = next_run_;
    for (; end < runs.size() && batch.count < kBatch; ++end) {
      const version::VirtualTable* virtual_table = runs[end]->Find(context_.order, key_);
      if (virtual_table == nullptr) continue;
      ASSIGN_OR_RETURN(batch.readers[batch.count], context_.tables.Open(virtual_table->file));
      batch.virtual_tables[batch.count] = virtual_table;
      batch.runs[batch.count] = end;
      if (is_hashed_) batch.readers[batch.count]->PrefetchFilter(hash_);
      ++batch.count;
    }
    for (size_t i = 0; i < batch.count; ++i) {
      const table::Reader& reader = *batch.readers[i];
      const kv::Sequence masking_sequence = reader.range_tombstones().MaskingSequence(context_.order, key_, sequence_);
      if (PerfContext* const perf = base::thread_perf; perf != nullptr && !std::exchange(is_counted_, false))
          [[unlikely]]
        CountRun(reader, is_hashed_, hash_, perf);
      if (!is_hashed_ || reader.MayContain(hash_)) {
        ASSIGN_OR_RETURN(const bool is_decided,
                         FindInTable(reader, key_, sequence_, masking_sequence, control_, &answer_));
        if (is_waiting()) [[unlikely]] {
          next_run_ = batch.runs[i];
          is_counted_ = true;
          return {};
        }
        if (is_decided) {
          answer_.KeepSource(batch.virtual_tables[i]->file, batch.readers[i]);
          return answer_.Finish();
        }
      }
      if (masking_sequence > 0 && answer_.Take(kDeleted, {})) return answer_.Finish();
    }
    next_run_ = end;
  }
  return answer_.FinishAtTheEnd();
}

// The value of a key that has more operands than a chain takes. An iterator folds them from the oldest on.
[[gnu::noinline, gnu::cold]] Status ReadLongChain(const LookupContext& context, const SuperVersion& super_version,
                                                  std::string_view key, kv::Sequence sequence,
                                                  table::ReadControl control, std::string* value,
                                                  std::span<const std::string_view> newer) {
  control.deferral = nullptr;
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

}  // namespace

Status Lookup(const LookupContext& context, const SuperVersion& super_version, std::string_view key,
              kv::Sequence sequence, const table::ReadControl& control, std::string* value,
              std::span<const std::string_view> newer, InPlace* in_place) {
  Search search(context, super_version, control, key, sequence, value, in_place);
  Status status = search.Begin(newer);
  if (!search.is_too_long()) [[likely]]
    return status;
  return ReadLongChain(context, super_version, key, sequence, control, value, newer);
}

namespace {

// Searches that wait at the same time. MEASURED: 64 reads of 4 KiB in flight take 0.2 to 0.25 times the time of reads
// one after the other (docs/decisions/0059-multiget.md).
constexpr size_t kWaitingMax = 64;
constexpr uint64_t kWaitingBytesMax = uint64_t{4} << 20;

// One key of a MultiLookup.
struct OneSearch {
  OneSearch(const LookupContext& context, const SuperVersion& super_version, const table::ReadControl& control_given,
            const ManyKeys& many, size_t at)
      : control(control_given),
        search(context, super_version, control, many.keys[at], many.sequence, &many.values[at], nullptr),
        index(at) {
    control.deferral = &deferral;
  }

  Status ReadLong(const LookupContext& context, const SuperVersion& super_version, const ManyKeys& many) const {
    return ReadLongChain(context, super_version, many.keys[index], many.sequence, control, &many.values[index], {});
  }

  env::Deferral deferral;
  table::ReadControl control;
  Search search;
  const size_t index;
};

// The searches of a MultiLookup, in the order of their hints. WHY a list of places that are used again: a search cannot
// move, and keys that need no device need a single allocation.
class Searches {
 public:
  // All references outlive the object.
  Searches(const LookupContext& context, const SuperVersion& super_version, const table::ReadControl& control,
           const ManyKeys& many)
      : context_(context), super_version_(super_version), control_(control), many_(many) {}

  bool has_room() const { return waiting_.size() < kWaitingMax && waiting_bytes_ < kWaitingBytesMax; }
  bool empty() const { return waiting_.empty(); }

  void Begin(size_t index) {
    if (idle_.empty()) idle_.emplace_back();
    OneSearch& one = idle_.front().emplace(context_, super_version_, control_, many_, index);
    Status status = one.search.Begin({});
    if (one.deferral.is_waiting()) {
      Wait(idle_);
    } else {
      End(idle_, std::move(status));
    }
  }
  void ContinueOldest() {
    OneSearch& one = *waiting_.front();
    waiting_bytes_ -= one.deferral.hinted_bytes();
    one.deferral.Continue();
    Status status = one.search.Continue();
    if (one.deferral.is_waiting()) {
      Wait(waiting_);
    } else {
      End(waiting_, std::move(status));
    }
  }

 private:
  using Places = std::list<std::optional<OneSearch>>;

  // For the first search of `places`.
  void Wait(Places& places) {
    waiting_bytes_ += places.front()->deferral.hinted_bytes();
    waiting_.splice(waiting_.end(), places, places.begin());
  }
  void End(Places& places, Status status) {
    const OneSearch& one = *places.front();
    if (one.search.is_too_long()) [[unlikely]]
      status = one.ReadLong(context_, super_version_, many_);
    many_.statuses[one.index] = std::move(status);
    places.front().reset();
    idle_.splice(idle_.begin(), places, places.begin());
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
  Searches searches(context, super_version, control, many);
  for (size_t next = 0; next < many.keys.size() || !searches.empty();) {
    while (next < many.keys.size() && searches.has_room()) searches.Begin(next++);
    if (!searches.empty()) searches.ContinueOldest();
  }
}

}  // namespace mergedb::read
