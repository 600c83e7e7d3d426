// Reads CURRENT and the MANIFEST, and builds the Version and the facts that they describe. Never writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/version_edit.h"
#include "kv/order.h"
#include "manifest/mirror_file.h"
#include "mergedb/env.h"
#include "version/version.h"

namespace mergedb::manifest {

struct Loaded {
  version::VersionPtr version;
  kv::FileNumber manifest{};
  uint64_t database_id = 0;
  kv::FileNumber next_file{};
  kv::Position next_position{};
  kv::Sequence last_sequence = 0;
  format::VersionEdit::WalStart wal_start;
  uint64_t wal_durable = 0;
  std::vector<kv::FileNumber> wal_segments;
  std::optional<uint64_t> clean_wal_end;
  std::optional<uint64_t> staging_bytes;
  kv::Sequence flushed_sequence = 0;                  // the tables contain the WAL's changes up to this sequence
  std::vector<std::string> merge_operators;           // the names
  std::optional<std::string> key_marker;              // set if there are keyspaces: see kv/key_map.h
  std::string report;                                 // for property mergedb.recovery: what was repaired or dropped
  std::vector<MirrorFlaw> flaws, tail;                // damaged bytes of the MANIFEST: see mirror_file.h
  bool has_dropped() const { return !tail.empty(); }  // bytes after the last whole record were dropped
};

// Recognizes a file that holds entries of a database of another kind: returns what is there and what the user can do.
// Empty: the file is no such file.
using ForeignFile = Result<std::string> (*)(FileSystem* file_system, const std::string& directory,
                                            const std::string& name);

// NotFound: the directory holds no database: it has no CURRENT, and no table, blob file, WAL file, REPAIR or
// foreign file. Corruption: the database is damaged. InvalidArgument: the database has another comparator. If
// `foreign_file` is null, no file is foreign.
Result<Loaded> Load(FileSystem* file_system, const std::string& directory, const kv::Order& order,
                    ForeignFile foreign_file = nullptr);

// As Load, again a few times while the result is Corruption or Busy: a process that has the database open may be
// writing to the MANIFEST, or replacing it.
Result<Loaded> LoadBesideWriter(FileSystem* file_system, const std::string& directory, const kv::Order& order,
                                ForeignFile foreign_file = nullptr);

// The contents of CURRENT: the number of the valid MANIFEST, and a point that its records are known to pass. A
// CURRENT that an older build wrote has no such point.
struct Current {
  kv::FileNumber manifest{};
  std::optional<MirrorEnd> reached = {};

  friend bool operator==(const Current&, const Current&) = default;
};
Result<Current> ReadCurrent(FileSystem* file_system, const std::string& directory);

// The file begins as a MANIFEST of mergedb in either copy of its header. Other databases use the same name.
Result<bool> HoldsManifest(FileSystem* file_system, const std::string& path);

// Like Load, but reads the MANIFEST that `current` names instead of the one that the file CURRENT names.
Result<Loaded> LoadManifest(FileSystem* file_system, const std::string& directory, const Current& current,
                            const kv::Order& order);

std::string EncodeCurrent(const Current& current);
Result<Current> DecodeCurrent(std::string_view bytes, const std::string& path);

}  // namespace mergedb::manifest
