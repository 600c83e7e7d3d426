// What a writer asks the writer queue to commit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/assert.h"
#include "format/batch.h"
#include "kv/key.h"
#include "kv/key_map.h"
#include "mergedb/options.h"

namespace mergedb::write {

class ReadCheck;  // write/recent_writes.h

// The keyspaces that a change creates or drops, beside its records.
struct KeyspaceChanges {
  std::vector<kv::KeyspaceId> created;
  std::vector<std::string> created_names;  // of each created keyspace
  std::vector<kv::KeyspaceId> dropped;
  bool empty() const { return created.empty() && dropped.empty(); }
};

struct Record {
  kv::Kind kind = kv::Kind::kPut;
  std::string_view key = {};
  std::string_view value = {};  // of a RANGE_DELETE: the end of the range
};
struct Batch {
  std::string_view bytes = {};  // encoded records (format/batch.h), checked
  uint64_t records = 0;
};

// One call of a writer.
struct Change {
  std::variant<Record, Batch> what = {};
  Durability durability = Durability::kProcessCrash;
  const void* owner = nullptr;                        // the owner of the writers' lock; null: none
  ReadCheck* reads = nullptr;                         // the reads of an optimistic transaction; null: nothing to check
  const kv::KeyMap* key_map = nullptr;                // that made its keys
  std::span<const kv::KeyspaceId> keyspaces = {};     // the named keyspaces that it writes to
  const KeyspaceChanges* keyspace_changes = nullptr;  // null: none

  const Record* record() const { return std::get_if<Record>(&what); }  // null: a batch
  const Batch* batch() const { return std::get_if<Batch>(&what); }     // null: a record
  uint64_t records() const { return batch() == nullptr ? 1 : batch()->records; }
  size_t payload_bytes() const {
    if (const Batch* const all = batch()) return all->bytes.size();
    return format::RecordBytes(record()->kind, record()->key.size(), record()->value.size());
  }
  // Calls act(kind, key, value) for each record, in order.
  template <typename Act>
  void ForEachRecord(Act&& act) const {
    if (const Record* const one = record()) return act(one->kind, one->key, one->value);
    format::BatchReader reader(batch()->bytes);
    while (reader.Next()) act(reader.kind(), reader.key(), reader.value());
    ASSERT(reader.status().ok(), "the batch was checked before it was committed");
  }
};

// The records of a change as they are in the payload of its WAL frame, in pieces. REQUIRES: the change outlives it.
class EncodedRecords {
 public:
  explicit EncodedRecords(const Change& change) {
    if (const Batch* const batch = change.batch()) {
      pieces_[count_++] = batch->bytes;
      return;
    }
    const Record& record = *change.record();
    header_.emplace(record.kind, record.key.size(), record.value.size());
    pieces_[count_++] = header_->view();
    pieces_[count_++] = record.key;
    if (record.kind != kv::Kind::kDelete) pieces_[count_++] = record.value;
  }
  EncodedRecords(const EncodedRecords&) = delete;
  EncodedRecords& operator=(const EncodedRecords&) = delete;

  std::span<const std::string_view> pieces() const { return {pieces_, count_}; }

 private:
  std::optional<format::RecordHeader> header_;
  std::string_view pieces_[3];
  size_t count_ = 0;
};

}  // namespace mergedb::write
