#include "read/lookup.h"

#include <array>
#include <optional>

#include "base/hash.h"
#include "base/perf.h"
#include "read/blob_values.h"

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
    chain_.emplace(context_.operators);
    for (const std::string_view operand : newer) {
      if (TakeBelow(kv::MakeTag(kv::kSequenceMax, kv::Kind::kMerge), operand)) return false;
    }
    return true;
  }

  // Takes the next older version. True: the answer is final. `is_mapped`: the version lies in a mapped table.
  bool Take(kv::Tag tag, std::string_view stored, bool is_mapped = false) {
    if (chain_) [[unlikely]]
      return TakeBelow(tag, stored);
    switch (kv::KindOf(tag)) {
      case kv::Kind::kPut: TakeValue(stored, is_mapped); return true;
      case kv::Kind::kPutBlobIndex: status_ = TakeBlobIndex(tag, stored); return true;
      case kv::Kind::kDelete: status_ = Status::NotFound(""); return true;
      default: chain_.emplace(context_.operators); return TakeBelow(tag, stored);
    }
  }
  Status Finish() { return std::move(status_); }
  // `file` and `reader` are the table of the final answer. Keeps the table if the value is shown in place.
  void KeepTable(const format::FileMetaPtr& file, const std::shared_ptr<table::Reader>& reader) {
    if (in_place_ != nullptr && in_place_->value) in_place_->tables.Keep(file, reader);
  }

  // No older version exists.
  Status FinishAtTheEnd() {
    if (!chain_) return Status::NotFound("");
    return kv::FoldAndShow(key_, {}, *chain_, value_);
  }

 private:
  void TakeValue(std::string_view stored, bool is_mapped) {
    if (is_mapped && in_place_ != nullptr) {
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
    status_ = chain_->CheckBounds();
    return true;
  }

  // Reads the value from its blob file, and folds the operands above it onto it.
  Status TakeBlobIndex(kv::Tag tag, std::string_view stored) {
    format::BlobIndex reference;
    ASSIGN_OR_RETURN(const auto file,
                     BlobFileOf(*super_version_.version, {.key = key_, .tag = tag, .value = stored}, &reference));
    ASSIGN_OR_RETURN(const auto reader, context_.values.Open(*file));
    blob::Found found;
    RETURN_IF_ERROR(reader->Get(reference, key_, {control_.verify_checksums, control_.fill_cache}, &found));
    if (chain_) return kv::FoldAndShow(key_, {kv::Kind::kPut, found.value}, *chain_, value_);
    value_->assign(found.value);
    return {};
  }

  const LookupContext& context_;
  const SuperVersion& super_version_;
  const table::ReadControl& control_;
  const std::string_view key_;
  std::string* const value_;
  InPlace* const in_place_;
  std::optional<kv::Chain> chain_;  // set once an operand was met
  Status status_;
};

// Stands for the versions that a range tombstone masks.
constexpr kv::Tag kDeleted = kv::MakeTag(0, kv::Kind::kDelete);

// True: the answer is final.
bool FindInMemtables(const SuperVersion& super_version, bool is_hashed, std::string_view key, uint64_t hash,
                     kv::Sequence sequence, Answer* answer) {
  const auto finds = [&](const memtable::Memtable& table) {
    if (PerfContext* const perf = base::thread_perf) [[unlikely]]
      ++perf->memtables_searched;
    const auto& range_deletes = table.range_deletes();
    const kv::Sequence masking_sequence = range_deletes.empty() ? 0 : range_deletes.MaskingSequence(key, sequence);
    memtable::Memtable::Found found;
    bool is_found = is_hashed ? table.GetHashed(key, hash, sequence, &found) : table.Get(key, sequence, &found);
    for (; is_found && kv::SequenceOf(found.tag) >= masking_sequence; is_found = table.GetOlder(key, &found)) {
      if (answer->Take(found.tag, found.value)) return true;
    }
    return masking_sequence > 0 && answer->Take(kDeleted, {});
  };
  if (finds(*super_version.active)) return true;
  for (const auto& table : super_version.immutable) {
    if (finds(*table)) return true;
  }
  return false;
}

struct Span {  // of sequences, both inclusive
  kv::Sequence newest;
  kv::Sequence oldest;
};

// The same for one table, for versions within `span`.
Result<bool> FindInTable(const table::Reader& reader, std::string_view key, Span span,
                         const table::ReadControl& control, Answer* answer) {
  for (;;) {
    table::Found found;
    Status status = reader.Get(key, span.newest, control, &found);
    if (status.IsNotFound()) return false;
    if (!status.ok()) return status;
    const kv::Sequence sequence = kv::SequenceOf(found.tag);
    if (sequence < span.oldest) return false;
    if (answer->Take(found.tag, found.value, !found.pin)) return true;
    if (sequence == 0) return false;
    span.newest = sequence - 1;
  }
}

// Tables whose key range contains the key, a batch at a time, newest first.
constexpr size_t kBatch = 16;
struct Candidates {
  std::array<std::shared_ptr<table::Reader>, kBatch> readers;
  std::array<const version::VirtualTable*, kBatch> virtual_tables;
  size_t count = 0;
};

void CountRun(const table::Reader& reader, bool is_hashed, uint64_t hash, PerfContext* perf) {
  ++perf->runs_visited;
  if (!is_hashed) return;
  ++perf->filters_checked;
  if (!reader.MayContain(hash)) ++perf->filters_useful;
}

}  // namespace

Status Lookup(const LookupContext& context, const SuperVersion& super_version, std::string_view key,
              kv::Sequence sequence, const table::ReadControl& control, std::string* value,
              std::span<const std::string_view> newer, InPlace* in_place) {
  const bool is_hashed = context.order.is_bytewise();
  const uint64_t hash = is_hashed ? base::Hash64(key) : 0;

  Answer answer(context, super_version, control, key, value, in_place);
  if (!answer.Start(newer)) return answer.Finish();
  if (FindInMemtables(super_version, is_hashed, key, hash, sequence, &answer)) return answer.Finish();

  const auto& runs = super_version.version->runs();
  for (size_t next = 0; next < runs.size();) {
    Candidates batch;
    for (; next < runs.size() && batch.count < kBatch; ++next) {
      const version::VirtualTable* virtual_table = runs[next]->Find(context.order, key);
      if (virtual_table == nullptr) continue;
      ASSIGN_OR_RETURN(batch.readers[batch.count], context.tables.Open(virtual_table->file));
      batch.virtual_tables[batch.count] = virtual_table;
      if (is_hashed) batch.readers[batch.count]->PrefetchFilter(hash);
      ++batch.count;
    }
    for (size_t i = 0; i < batch.count; ++i) {
      const table::Reader& reader = *batch.readers[i];
      const kv::Sequence masking_sequence = reader.range_tombstones().MaskingSequence(context.order, key, sequence);
      if (PerfContext* const perf = base::thread_perf) [[unlikely]]
        CountRun(reader, is_hashed, hash, perf);
      if (!is_hashed || reader.MayContain(hash)) {
        ASSIGN_OR_RETURN(const bool is_decided,
                         FindInTable(reader, key, {.newest = sequence, .oldest = masking_sequence}, control, &answer));
        if (is_decided) {
          answer.KeepTable(batch.virtual_tables[i]->file, batch.readers[i]);
          return answer.Finish();
        }
      }
      if (masking_sequence > 0 && answer.Take(kDeleted, {})) return answer.Finish();
    }
  }
  return answer.FinishAtTheEnd();
}

}  // namespace mergedb::read
