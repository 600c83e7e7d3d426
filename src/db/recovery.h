// From what is on disk to what the database was: the MANIFEST's tree, then the log on top of it. Writes nothing but tables, and
// those only if the caller wants what the log held to be flushed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "db/store.h"
#include "format/batch.h"
#include "format/version_edit.h"
#include "manifest/loader.h"
#include "memtable/memtable.h"
#include "wal/wal.h"

namespace mergedb::db {

// What the directory holds, by kind.
struct Inventory {
  std::vector<kv::FileNumber> tables;
  std::vector<kv::FileNumber> recycled_files;
  std::vector<kv::FileNumber> blob_files;
  std::vector<kv::FileNumber> segments;
  std::vector<kv::FileNumber> manifests;
  std::vector<kv::FileNumber> ldb_files;  // with LevelDB's endings: of LevelDB, or ours from under an Env of LevelDB's
  std::vector<kv::FileNumber> log_files;
  bool has_staging = false;
  bool has_repair_marker = false;
  bool has_import_marker = false;
  bool has_keep_marker = false;
  kv::FileNumber largest{};
};
Result<Inventory> TakeInventory(FileSystem* file_system, const std::string& directory);

// Tables and log segments that are ours under LevelDB's names (docs/decisions/0020-leveldb-face.md) get ours. True: some did. NotSupported if some
// had to and may not. `loaded` says which are ours; where nothing could be loaded (null) their own bytes do.
Result<bool> AdoptFiles(FileSystem* file_system, const std::string& directory, const Inventory& inventory,
                        const manifest::Loaded* loaded, bool may_rename);

// Every table and value file that the tree names is there, with the size it had. Corruption lists all that are not.
Status CheckFiles(FileSystem* file_system, const std::string& directory, const version::Version& version);

// Corruption, for a directory with the marker of a repair that did not end.
Status InterruptedRepair(const std::string& directory);

// What the MANIFEST says of the log.
wal::Expected ExpectedOf(const manifest::Loaded& loaded);

// Corruption if the record at `sequence` is a range delete that begins after its end.
Status CheckRange(const kv::Order& order, const format::BatchReader& record, kv::Sequence sequence);

struct Replayed {
  std::vector<std::shared_ptr<memtable::Memtable>> memtables;  // oldest first
  kv::Sequence last_sequence = 0;                              // of the last record replayed; 0 if none
  wal::Replayed log;
};
// Replay the log into memtables; `on_full` may take a full one away (flush it) by resetting the pointer.
Result<Replayed> ReplayLog(Store& store, const manifest::Loaded& loaded,
                           const std::function<Status(std::shared_ptr<memtable::Memtable>*)>& on_full);

// The same from a log that may be damaged: all that its chain proves.
struct SalvagedLog {
  Replayed replayed;
  wal::Salvaged log;
};
Result<SalvagedLog> SalvageLog(Store& store, const wal::Origin& origin, const manifest::Loaded* loaded,
                               const std::function<Status(std::shared_ptr<memtable::Memtable>*)>& on_full);

}  // namespace mergedb::db
