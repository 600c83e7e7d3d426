#include "read/lookup.h"

#include <array>

#include "base/hash.h"

namespace mergedb::read {
namespace {

Status Answer(kv::Tag tag, std::string_view stored, std::string* value) {
  switch (kv::KindOf(tag)) {
    case kv::Kind::kPut:
      value->assign(stored.data(), stored.size());
      return {};
    case kv::Kind::kDelete:
      return Status::NotFound("");
    default:
      return Status::NotSupported("a value of kind " + std::to_string(static_cast<int>(kv::KindOf(tag))) +
                                  " needs a newer mergedb");
  }
}

constexpr kv::Tag kDeleted = kv::MakeTag(0, kv::Kind::kDelete);

// True if the search ends here: *found is the version that the reader sees, or a DELETE in the place of one that a range
// tombstone covers.
bool FindInMemtable(const memtable::Memtable& table, bool is_hashed, std::string_view key, uint64_t hash,
                    kv::Sequence sequence, memtable::Memtable::Found* found) {
  const bool is_found = is_hashed ? table.GetHashed(key, hash, sequence, found) : table.Get(key, sequence, found);
  if (table.range_deletes().empty()) [[likely]] return is_found;
  const kv::Sequence covering = table.range_deletes().Covering(key, sequence);
  if (is_found && kv::SequenceOf(found->tag) >= covering) return true;
  *found = {.tag = kDeleted, .value = {}};
  return covering > 0;
}

bool FindInMemtables(const View& view, bool is_hashed, std::string_view key, uint64_t hash, kv::Sequence sequence,
                     memtable::Memtable::Found* found) {
  if (FindInMemtable(*view.active, is_hashed, key, hash, sequence, found)) return true;
  for (const auto& table : view.sealed) {
    if (FindInMemtable(*table, is_hashed, key, hash, sequence, found)) return true;
  }
  return false;
}

// Tables whose key range holds the key, a batch at a time, newest first.
constexpr size_t kBatch = 16;
struct Candidates {
  std::array<std::shared_ptr<table::Reader>, kBatch> readers;
  size_t count = 0;
};

}  // namespace

Status Lookup(const LookupContext& context, const View& view, std::string_view key, kv::Sequence sequence,
              const table::ReadControl& control, std::string* value) {
  const bool is_hashed = context.order.is_bytewise();
  const uint64_t hash = is_hashed ? base::Hash64(key) : 0;

  memtable::Memtable::Found in_memory;
  if (FindInMemtables(view, is_hashed, key, hash, sequence, &in_memory)) {
    return Answer(in_memory.tag, in_memory.value, value);
  }

  const auto& runs = view.version->runs();
  for (size_t next = 0; next < runs.size();) {
    Candidates batch;
    for (; next < runs.size() && batch.count < kBatch; ++next) {
      const tree::Slice* slice = runs[next]->Find(context.order, key);
      if (slice == nullptr) continue;
      ASSIGN_OR_RETURN(batch.readers[batch.count], context.tables.Open(slice->file));
      if (is_hashed) batch.readers[batch.count]->PrefetchFilter(hash);
      ++batch.count;
    }
    for (size_t i = 0; i < batch.count; ++i) {
      const table::Reader& reader = *batch.readers[i];
      const kv::Sequence covering = reader.range_tombstones().Covering(context.order, key, sequence);
      if (!is_hashed || reader.MayContain(hash)) {
        table::Found found;
        Status status = reader.Get(key, sequence, control, &found);
        if (status.ok() && kv::SequenceOf(found.tag) >= covering) return Answer(found.tag, found.value, value);
        if (!status.ok() && !status.IsNotFound()) return status;
      }
      if (covering > 0) return Status::NotFound("");
    }
  }
  return Status::NotFound("");
}

}  // namespace mergedb::read
