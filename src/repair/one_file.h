// Reads one file of a database on its own: a table, a blob file, a file of the WAL or a MANIFEST. Reports what the file
// holds and every damage that can be found without the rest of the database.
//
//     auto table = InspectTable(file_system, "/srv/data/000012.tbl", [](const kv::Entry& entry) { ... });
//     table->file.damages       empty: each byte of the file is as it was written
//
// The file may belong to an open database, since the calls only read and take no lock, or may be a copy elsewhere.
//
//   table, blob file, MANIFEST   know all that their checksums need
//   WAL segment                  knows its epoch; a frame that began in the segment before it cannot be checked
//   STAGING                      needs CURRENT, the MANIFEST and the segments in its directory; with them the call
//                                reads the WAL as a replay does
//
// Damage is part of the result. Errors: NotFound; InvalidArgument (not a regular file, or a file of another kind: the
// message names the verb of `mergedb` that reads it); NotSupported (a newer version wrote the file, or it has a
// comparator of the program); IOError; Busy (a program that has the database open replaced the file meanwhile); the
// error that `visit` returns.
// THREADS: any. Tests: tests/unit/repair/one_file_test.cc, tests/db/file_commands_test.cc,
// fuzz/directory_fuzz.cc.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/blob_file.h"
#include "format/table_layout.h"
#include "format/version_edit.h"
#include "kv/key.h"
#include "kv/range_tombstones.h"
#include "manifest/mirror_file.h"
#include "mergedb/env.h"
#include "mergedb/repair.h"
#include "mergedb/result.h"
#include "version/version.h"
#include "wal/frame.h"

namespace mergedb::repair {

enum class OneFileKind : uint8_t { kTable, kBlobFile, kWal, kManifest };

// OK if the file is of this kind by its content, or by its name if its content is of no known kind. Else an error that
// says what the file is.
Status CheckKind(FileSystem* file_system, const std::string& path, OneFileKind kind);

// What the reports of all kinds have.
struct OneFile {
  std::string name;                      // without the directory
  std::optional<kv::FileNumber> number;  // from the content, else from the name
  uint64_t bytes = 0;
  std::vector<Damage> damages;
  std::vector<std::string> notes;  // not damage: what the file alone cannot show, and unfinished writes
};

// Entries or records of each kv::Kind.
using KindCounts = std::array<uint64_t, static_cast<size_t>(kv::kKindMax) + 1>;

// ---- tables -----------------------------------------------------------------------------------------------------

struct TableBlock {
  uint64_t offset = 0;
  uint64_t bytes = 0;  // with its trailer
  bool is_whole = true;
  Compression codec = Compression::kNone;  // of a whole block
  uint64_t raw_bytes = 0;                  // of a whole block
  std::string fence;                       // format/index.h
};

struct BlobUse {
  uint64_t references = 0;
  uint64_t bytes = 0;  // of the records
};

struct TableReport {
  OneFile file;
  std::optional<format::Footer> footer;          // without a value: damaged
  std::optional<format::Properties> properties;  // without a value: damaged
  std::vector<TableBlock> blocks;                // empty if the index is damaged
  // Of the intact blocks:
  format::FileMeta found;
  KindCounts kinds{};
  uint64_t key_bytes = 0;
  uint64_t value_bytes = 0;
  kv::RangeTombstones range_tombstones;
  std::map<kv::FileNumber, BlobUse> blob_files;
};
using VisitEntry = std::function<Status(const kv::Entry&)>;
// `visit` sees each entry of each intact block, in order; it may be null.
Result<TableReport> InspectTable(FileSystem* file_system, const std::string& path, const VisitEntry& visit);

// ---- blob files -------------------------------------------------------------------------------------------------

struct BlobValue {
  uint64_t offset = 0;
  uint64_t bytes = 0;  // of the record
  Compression codec = Compression::kNone;
  std::string_view key;
  std::string_view value;  // decompressed
};

struct BlobFileReport {
  OneFile file;
  std::optional<format::BlobFileMeta> footer;  // without a value: damaged; then no record can be checked
  // Of the intact records:
  uint64_t records = 0;
  uint64_t key_bytes = 0;
  uint64_t stored_bytes = 0;  // of values as they are stored
  uint64_t value_bytes = 0;
  uint64_t value_bytes_max = 0;
  std::map<Compression, uint64_t> codecs;                // records of each codec
  std::optional<std::string> smallest_key, largest_key;  // bytewise
};
using VisitValue = std::function<Status(const BlobValue&)>;
Result<BlobFileReport> InspectBlobFile(FileSystem* file_system, const std::string& path, const VisitValue& visit);

// ---- the WAL ----------------------------------------------------------------------------------------------------

struct WalFrame {
  uint64_t position = 0;                // in the stream of the epoch
  std::optional<uint64_t> offset = {};  // of a segment: in the file
  uint64_t bytes = 0;                   // with header and padding
  kv::Sequence sequence = 0;
  std::string_view payload;  // format/batch.h
  bool is_proved = true;     // false: the frame before it, of which its checksum is a function, is not in the file
};

struct WalReport {
  OneFile file;
  std::optional<wal::SegmentHead> head;  // of a segment; without a value: damaged, or the file is STAGING
  uint64_t epoch = 0;
  uint64_t frames = 0;
  uint64_t records = 0;
  KindCounts kinds{};
  kv::Sequence first_sequence = 0;  // of all records; 0: none
  kv::Sequence last_sequence = 0;
  uint64_t begin_position = 0;  // of the first frame
  uint64_t end_position = 0;    // of the last one
};
using VisitFrame = std::function<Status(const WalFrame&)>;
Result<WalReport> InspectWal(FileSystem* file_system, const std::string& path, const VisitFrame& visit);

// ---- the MANIFEST -----------------------------------------------------------------------------------------------

struct ManifestReport {
  OneFile file;
  manifest::Identity identity;  // database id 0: the header is damaged
  uint64_t edits = 0;
  format::VersionEdit facts;    // the newest facts; no cuts, adds, levels or blob files
  version::VersionPtr version;  // null: the edits could not be applied
};
using VisitEdit = std::function<Status(const format::VersionEdit&, uint64_t bytes)>;
Result<ManifestReport> InspectManifest(FileSystem* file_system, const std::string& path, const VisitEdit& visit);

}  // namespace mergedb::repair
