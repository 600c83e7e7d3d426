// Tables made of what is left: of a damaged table, and of the log where no MANIFEST says what of it tables have.
//
//   000012.tbl   [a b][XX][e f]  ──►  000031.tbl   a b f        c and d are lost; e's value in 000013.val is, too
//
// Without a MANIFEST, what some other table took in stays behind (repair/compacted_inputs.h): should the repair be interrupted, nobody counts a
// copy's entries beside those they are copies of.
//
// THREADS: one at a time. Tests: tests/flips/repair_test.cc.
#pragma once

#include "compaction/outputs.h"
#include "memtable/memtable.h"
#include "repair/blob_files.h"
#include "repair/compacted_inputs.h"

namespace mergedb::repair {

struct CopyContext {
  const compaction::TableFactory& factory;  // separates no values
  CompressionByTier compression;
  const BlobFiles& blob_files;
  const CompactedInputs* compacted_inputs = nullptr;  // null: a MANIFEST says what counts
};

// Every whole entry of a damaged table, `entries` in all, and its range tombstones. A value in a file that is damaged comes into the table. Null if
// nothing of it is of use any more. IOError: fewer or more are found than the diagnosis found, or a value is lost that was not then.
Result<format::FileMetaPtr> CopyTable(const CopyContext& context, const LooseTable& damaged,
                                      const kv::RangeTombstones& ranges, uint64_t entries);

// Every change by itself. WHY not folded, as a flush does: of the operands of a key some may be in tables already, and nobody could
// take them out of a fold again. Null if tables have it all. REQUIRES: context.claims.
Result<format::FileMetaPtr> CopyLogged(const CopyContext& context, memtable::Memtable& logged);

}  // namespace mergedb::repair
