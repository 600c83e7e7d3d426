// Inspects a directory: its files, its damage, and which MANIFEST describes the tree. The inspection only
// reads. Verify reports its result, Repair acts on it.
//
//  CURRENT ──► MANIFEST ──► blob files, tables (each byte, each blob index) + WAL (each frame that replay needs)
//     any other MANIFEST, if that one is damaged
//        without a MANIFEST: every table in the directory, and the WAL as far as segment headers describe it
//
// WHY another MANIFEST is used only if all of its tables exist and its WAL replays to the end of the newest
// epoch: then it leads to the newest state, as after a crash. Any other MANIFEST is an older state that would
// lose all later changes.
//
// A new kind of file is inspected in Inspect, before the files that refer to it. Its Damage says what its loss means.
// THREADS: one at a time. Tests: tests/unit/repair/, tests/flips/.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "db/recovery/recovery.h"
#include "format/file_name.h"
#include "kv/order.h"
#include "kv/range_tombstones.h"
#include "manifest/loader.h"
#include "mergedb/repair.h"
#include "repair/blob_files.h"
#include "table/salvage.h"
#include "wal/replay.h"

namespace mergedb::repair {

struct TableFinding {
  format::FileMetaPtr meta;  // from the MANIFEST; without a MANIFEST from the file; null: unknown
  std::vector<format::CompactedRange> compacted_ranges;
  bool is_there = true;
  uint64_t entries = 0;                  // of its intact blocks
  kv::RangeTombstones range_tombstones;  // set if the table is damaged and its range tombstones are not
  std::vector<table::Flaw> flaws;        // empty, and is_there: the file is intact
  std::vector<Damage> lost_values;       // in the blob files to which it refers
  bool refers_to_damaged = false;        // a blob file to which it refers is damaged
  bool is_whole() const { return is_there && flaws.empty() && !refers_to_damaged && lost_values.empty(); }
  bool loses_entries() const {
    return !lost_values.empty() ||
           std::any_of(flaws.begin(), flaws.end(), [](const auto& flaw) { return flaw.loses_entries; });
  }
  // True if some entries or range tombstones can be saved.
  bool is_of_use() const { return is_there && (entries > 0 || !range_tombstones.empty()); }
};

struct Inspection {
  explicit Inspection(BlobFiles none_yet) : blob_files(std::move(none_yet)) {}

  std::vector<std::string> names;  // all names in the directory
  db::Inventory inventory;
  bool has_marker = false;  // the file REPAIR exists

  std::optional<manifest::Current> current;       // the content of CURRENT; without a value: missing or damaged
  std::optional<manifest::Loaded> loaded;         // the MANIFEST in use; without a value: no MANIFEST is usable
  bool is_current_right = false;                  // CURRENT names that MANIFEST
  std::map<kv::FileNumber, TableFinding> tables;  // tables that the MANIFEST names; without a MANIFEST all tables
  BlobFiles blob_files;                           // blob files that the MANIFEST names; without a MANIFEST all
  // operators of the program that operands in tables need; only without a MANIFEST
  std::set<std::string> merge_operators;

  std::optional<wal::Origin> origin;  // without a value: the WAL cannot be read
  wal::Salvaged wal;
  bool is_wal_whole() const { return origin && wal.verdict.ok() && wal.flaws.empty(); }

  VerifyReport report;
  std::vector<size_t> damages_of_blob_files;  // in report.damages: of the files, beside their values that tables lose
};

struct InspectionInput {
  FileSystem* file_system = nullptr;
  std::string directory;
  kv::Order order;
  const Progress& progress;
};
Result<Inspection> Inspect(const InspectionInput& input);

// NotFound unless the directory exists and holds a file of a database. InvalidArgument or NotSupported if
// it is a database of another kind (db/recovery/import.h).
Status CheckIsDatabase(FileSystem* file_system, const std::string& directory);
// Locks the database as long as the result lives. The result is null if may_create is false and LOCK does not
// exist or cannot be locked for another reason than Busy.
Result<std::unique_ptr<FileLock>> LockForRepair(FileSystem* file_system, const std::string& directory, bool may_create);

}  // namespace mergedb::repair
