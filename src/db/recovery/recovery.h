// Recovery: from the files on disk to the state of the database, that is the tree of the MANIFEST plus the
// WAL. It writes tables if the caller flushes full memtables, and changes nothing else.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "db/state/store.h"
#include "format/batch.h"
#include "format/version_edit.h"
#include "manifest/loader.h"
#include "memtable/memtable.h"
#include "wal/replay.h"

namespace mergedb::db {

// The files of the directory, by kind.
struct Inventory {
  std::vector<kv::FileNumber> tables;
  std::vector<kv::FileNumber> recycled_files;
  std::vector<kv::FileNumber> blob_files;
  std::vector<kv::FileNumber> segments;
  std::vector<kv::FileNumber> manifests;
  std::vector<std::string> other_names;  // names that mergedb does not give
  bool has_staging = false;
  bool has_repair_marker = false;
  bool has_import_marker = false;
  bool has_keep_marker = false;
  bool has_live_file = false;
  kv::FileNumber largest{};
};
Result<Inventory> TakeInventory(FileSystem* file_system, const std::string& directory);

// NotFound, or InvalidArgument for a file.
Status CheckIsDirectory(FileSystem* file_system, const std::string& path);

// Checks that every table and blob file of the tree exists with its recorded size. Corruption lists all that
// do not.
Status CheckFiles(FileSystem* file_system, const std::string& directory, const version::Version& version);

// The Corruption error for a directory with the marker of an unfinished repair.
Status InterruptedRepair(const std::string& directory);

// The point where an epoch begins whose first change has this sequence.
format::VersionEdit::WalStart FirstOfEpoch(uint64_t epoch, uint64_t salt, kv::Sequence sequence);

// What the MANIFEST says about the WAL.
wal::Expected ExpectedOf(const manifest::Loaded& loaded);

// Corruption if the record at `sequence` is a range delete whose end lies before its begin.
Status CheckRangeDelete(const kv::Order& order, const format::BatchReader& record, kv::Sequence sequence);

struct Replayed {
  std::vector<std::shared_ptr<memtable::Memtable>> memtables;  // oldest first
  kv::Sequence last_sequence = 0;                              // of the last record replayed; 0 if there is none
  wal::Replayed wal;
};
// May flush a full memtable and take it away by resetting the pointer. Null: all memtables stay. WHY a function: an
// open writes tables, and a repair writes others; both are above.
using OnFull = std::function<Status(std::shared_ptr<memtable::Memtable>*)>;
// Replays the WAL into memtables.
Result<Replayed> ReplayWal(Store& store, const manifest::Loaded& loaded, const OnFull& on_full);

// ReplayWal for a WAL that may be damaged: replays all frames that the chain proves. `on_loaded`: wal::Salvage.
struct SalvagedWal {
  Replayed replayed;
  wal::Salvaged wal;
};
Result<SalvagedWal> SalvageWal(Store& store, const wal::Origin& origin, const manifest::Loaded* loaded,
                               const OnFull& on_full, const std::function<void()>& on_loaded = {});

}  // namespace mergedb::db
