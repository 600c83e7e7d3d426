// What a writer asks the writer queue to commit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// One call of a writer: a single change, or the records of a batch.
struct Change {
  kv::Kind kind = kv::Kind::kPut;  // of a single change
  std::string_view key = {};
  std::string_view value = {};
  std::string_view batch = {};  // encoded records (format/batch.h); used if `is_batch`
  bool is_batch = false;
  uint64_t records = 1;
  Durability durability = Durability::kProcessCrash;
  const void* owner = nullptr;                        // the owner of the writers' lock; null: none
  ReadCheck* reads = nullptr;                         // the reads of an optimistic transaction; null: nothing to check
  const kv::KeyMap* key_map = nullptr;                // that made its keys
  std::span<const kv::KeyspaceId> keyspaces = {};     // the named keyspaces that it writes to
  const KeyspaceChanges* keyspace_changes = nullptr;  // null: none
};

}  // namespace mergedb::write
