#include "read/lookup.h"

#include <array>

#include "base/hash.h"
#include "read/view_values.h"

namespace mergedb::read {
namespace {

Status AnswerReference(const LookupContext& context, const View& view, const kv::Entry& entry,
                       const table::ReadControl& control, std::string* value) {
  format::ValueReference reference;
  ASSIGN_OR_RETURN(const auto file, ValueFileOf(*view.version, entry, &reference));
  ASSIGN_OR_RETURN(const auto reader, context.values.Open(*file));
  values::Found found;
  RETURN_IF_ERROR(reader->Get(reference, entry.key, {control.verify_checksums, control.fill_cache}, &found));
  value->assign(found.value);
  return {};
}

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

bool FindInMemtables(const View& view, bool is_hashed, std::string_view key, uint64_t hash, kv::Sequence sequence,
                     memtable::Memtable::Found* found) {
  const auto get = [&](const memtable::Memtable& table) {
    return is_hashed ? table.GetHashed(key, hash, sequence, found) : table.Get(key, sequence, found);
  };
  if (get(*view.active)) return true;
  for (const auto& table : view.sealed) {
    if (get(*table)) return true;
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
      if (is_hashed && !reader.MayContain(hash)) continue;
      table::Found found;
      Status status = reader.Get(key, sequence, control, &found);
      if (status.ok() && kv::KindOf(found.tag) == kv::Kind::kPutRef) {
        return AnswerReference(context, view, {.key = key, .tag = found.tag, .value = found.value}, control, value);
      }
      if (status.ok()) return Answer(found.tag, found.value, value);
      if (!status.IsNotFound()) return status;
    }
  }
  return Status::NotFound("");
}

}  // namespace mergedb::read
