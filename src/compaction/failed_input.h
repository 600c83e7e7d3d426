// The input that a compaction could not read: a table, and the keys of it that are concerned, or a blob file. Of a
// damaged block these are the keys of the block; of a table that cannot be opened, all keys.
#pragma once

#include "format/version_edit.h"
#include "kv/key.h"

namespace mergedb::compaction {

struct FailedInput {
  kv::FileNumber file{};
  bool is_blob_file = false;
  format::Bounds keys;  // {}: all keys of the file
};

}  // namespace mergedb::compaction
