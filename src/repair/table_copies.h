// Makes new tables from intact entries: of a damaged table, and of the WAL if there is no MANIFEST.
//
//  000012.tbl   [a b][XX][e f]  ──►  000031.tbl   a b f        c and d are lost, and the value of e in 000013.val is
//
// Without a MANIFEST, obsolete entries are not copied (repair/compacted_inputs.h). So if the repair is
// interrupted, no later repair counts an entry of the copy and of its original twice.
//
// THREADS: one at a time. Tests: tests/flips/repair_test.cc.
#pragma once

#include "compaction/outputs.h"
#include "memtable/memtable.h"
#include "repair/blob_files.h"
#include "repair/compacted_inputs.h"

namespace mergedb::repair {

struct CopyContext {
  const compaction::TableFactory& factory;  // writes no blob files
  CompressionByTier compression;
  const BlobFiles& blob_files;
  const CompactedInputs* compacted_inputs = nullptr;  // null: a MANIFEST names the live tables
};

// Copies every intact entry of a damaged table (`entries` of them) and its range tombstones. A value in a
// damaged blob file is copied into the table. Null if no entry or tombstone is left. IOError: the number of
// entries differs from the inspection, or a value is lost that the inspection could read.
Result<format::FileMetaPtr> CopyTable(const CopyContext& context, const LooseTable& damaged,
                                      const kv::RangeTombstones& ranges, uint64_t entries);

// Copies the changes of the WAL one by one. WHY operands are not folded, as a flush would do: tables may have
// some operands of a key already, and a folded operand cannot be taken out again. Null if tables have all
// changes. REQUIRES: context.compacted_inputs.
Result<format::FileMetaPtr> CopyLogged(const CopyContext& context, memtable::Memtable& logged);

}  // namespace mergedb::repair
