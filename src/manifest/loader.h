// CURRENT -> MANIFEST -> Version: what the tree was when the database was last heard of. Reads only.
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
  kv::Sequence flushed_sequence = 0;         // what the log holds up to this one is in tables already
  std::vector<std::string> merge_operators;  // names
  std::optional<std::string> key_marker;     // there are keyspaces: kv/key_map.h
  std::string report;                   // for property mergedb.recovery: what was repaired or dropped; empty if nothing
  std::vector<MirrorFlaw> flaws, tail;  // of the MANIFEST's bytes: see mirror_file.h
  bool has_dropped() const { return !tail.empty(); }  // a record behind the last whole one: unfinished, or damaged
};

// NotFound: the directory holds no database (no CURRENT, and at most the LOCK and MANIFEST of an interrupted creation). Corruption: damaged.
// InvalidArgument: made with another comparator.
Result<Loaded> Load(FileSystem* file_system, const std::string& directory, const kv::Order& order);

// What CURRENT says: which MANIFEST is valid, and a point that its records surely pass. A CURRENT of an older build names no point.
struct Current {
  kv::FileNumber manifest{};
  std::optional<MirrorEnd> reached = {};

  friend bool operator==(const Current&, const Current&) = default;
};
Result<Current> ReadCurrent(FileSystem* file_system, const std::string& directory);

// Does the file begin as a MANIFEST of mergedb's does, in either copy of its header? LevelDB's has the same name.
Result<bool> HoldsManifest(FileSystem* file_system, const std::string& path);

// Load, from this MANIFEST, whatever CURRENT says.
Result<Loaded> LoadManifest(FileSystem* file_system, const std::string& directory, const Current& current,
                            const kv::Order& order);

std::string EncodeCurrent(const Current& current);
Result<Current> DecodeCurrent(std::string_view bytes, const std::string& path);

}  // namespace mergedb::manifest
