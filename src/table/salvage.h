// What is left of a table that may be damaged: every entry of every whole block, its range tombstones if they are whole, and a
// list of all that is not.
//
//   Reader      all or nothing: the first damage fails it
//   Salvage     goes on: names each damaged part and the keys that it may have held
//
//   [block][block][ XX ][block][filter][index][properties] 0 0 0 [footer]
//                  lost: the entries of this block, keys from fence 1 to fence 2; all others are shown
//
// Filter, index, properties and padding hold nothing that cannot be made anew: their damage loses no entry. Range tombstones are
// all there or all lost. Without an index the
// blocks are found by their checksums: from where one ends, every length is tried until the four bytes there are the
// checksum of what lies before them, at this place in this file, and those bytes are a whole block. That costs some 15 ns
// a byte, and ends at the first block that is damaged too, since nothing says then where the next one begins. Without a
// footer the range tombstones are found likewise.
//
// A block counts as whole if its checksum, salted with the table's identity and its place, fits, if it decodes, and if its
// entries follow those before it. So nothing is shown that was not written to this table.
//
// Memory: a block, raw and stored; 16 MiB where the index is lost. Tests: tests/unit/table/salvage_test.cc.
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
  uint64_t bytes = 0;  // 0: not known
  std::string what;    // what was expected and what was found
  // Entries or range tombstones may be lost, of keys from `smallest` to `largest`, both included; without a value: open.
  bool loses_entries = false;
  std::optional<std::string> smallest = {};
  std::optional<std::string> largest = {};
};

struct SalvageInput {
  FileSystem* file_system = nullptr;
  std::string path;
  kv::FileNumber number{};
  format::FileMetaPtr meta = nullptr;  // what the MANIFEST says of it; null: the file is believed
  kv::Order order;
};

struct Salvaged {
  std::vector<Flaw> flaws;  // none: the table is whole. In the order of their finding
  format::FileMeta found;   // the table's identity; counts and bounds of the entries shown and of the range tombstones
  kv::RangeTombstones range_tombstones;
  std::vector<format::CompactedRange> compacted_ranges;
};

// Calls `visit`, unless it is null, for every entry of every whole block, in order. The views live until it returns; its error ends the call.
// InvalidArgument: the table is of another comparator. NotSupported: a newer version wrote it. Busy: no file descriptor
// is left. Damage and errors of reading are flaws.
Result<Salvaged> Salvage(const SalvageInput& input, const std::function<Status(const kv::Entry&)>& visit);

}  // namespace mergedb::table
