// Reads a table that may be damaged: every entry of every intact block, the range tombstones if they are
// intact, and a list of all damage.
//
//  Reader      the first damage fails the whole table
//  Salvage     continues after damage: it names each damaged part and the keys that the part may have held
//
//  [block][block][ XX ][block][filter][index][properties] 0 0 0 [footer]
//                 lost: the entries of this block, keys from fence 1 to fence 2; all other entries are shown
//
// Filter, index, properties and padding can be rebuilt, so damage to them loses no entry. Range tombstones
// are either all read or all lost.
// Without an index, Salvage finds the blocks by their checksums. From the end of a block it tries every
// length until the next four bytes are the checksum of the bytes before them, at this offset in this file,
// and those bytes are an intact block. This costs about 15 ns a byte. It ends at the first block that is
// damaged, too, since the start of the next block is unknown then. Without a footer it finds the range
// tombstones in the same way.
//
// A block is intact if its checksum, salted with the table's identity and its offset, matches, if it decodes, and if
// its entries follow the entries before it. So Salvage shows only entries that were written to this table.
//
// MEMORY: one block, raw and stored; 16 MiB if the index is lost. Tests: tests/unit/table/salvage_test.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "format/table_layout.h"
#include "format/version_edit.h"
#include "kv/key.h"
#include "kv/order.h"
#include "kv/range_tombstones.h"
#include "mergedb/env.h"

namespace mergedb::table {

struct Flaw {
  uint64_t offset = 0;
  uint64_t bytes = 0;  // 0: unknown
  std::string what;    // expected and found
  // Entries or range tombstones with keys from `smallest` to `largest`, both inclusive, may be lost. Without
  // a value: no bound.
  bool loses_entries = false;
  std::optional<std::string> smallest = {};
  std::optional<std::string> largest = {};
};

struct SalvageInput {
  FileSystem* file_system = nullptr;
  std::string path;
  kv::FileNumber number{};
  format::FileMetaPtr meta = nullptr;  // the table as in the MANIFEST; null: trust the file
  kv::Order order;
};

struct Salvaged {
  std::vector<Flaw> flaws;  // in the order in which they are found; empty: the table is intact
  format::FileMeta found;   // identity of the table; counts and bounds of the entries and range tombstones shown
  kv::RangeTombstones range_tombstones;
  std::vector<format::CompactedRange> compacted_ranges;
};

// Calls `visit`, unless it is null, for every entry of every intact block, in order. The views are valid
// until it returns. If it returns an error, the call ends with that error.
// InvalidArgument: the table has another comparator. NotSupported: a newer version wrote it. Busy: no file
// descriptor is left. Damage and read errors are flaws, not errors.
Result<Salvaged> Salvage(const SalvageInput& input, const std::function<Status(const kv::Entry&)>& visit);

}  // namespace mergedb::table
