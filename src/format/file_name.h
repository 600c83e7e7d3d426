// FORMAT: the names in a database directory (docs/formats/files.md). Names that are not of this grammar are foreign:
// left alone, never deleted.
//
//   CURRENT             which MANIFEST is valid; no newline at its end (stock LevelDB then refuses and deletes nothing)
//   CURRENT.tmp         the next one, before the rename
//   LOCK                held by the process that has the database open
//   MANIFEST-000005     a Log of Edits
//   STAGING             the mapped ring
//   000007.seg          a log segment
//   000012.tbl          a table
//   000012.spare        what was that table or value file, kept to be written again under another number
//   000013.val          a value file
//   REPAIR              a repair is under way, or was interrupted: nobody opens the database before it is done
//   IMPORT              a conversion from LevelDB is under way, or was interrupted (src/legacy/convert.h)
//   KEEP                an open dropped a part of the MANIFEST, and has not yet moved all files to lost/ (src/db/orphans.cc)
//   lost/               what repairs and opens moved aside; not ours to read or delete
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kv/key.h"

namespace mergedb::format {

enum class FileKind : uint8_t {
  kCurrent,
  kCurrentTemporary,
  kLock,
  kManifest,
  kStaging,
  kSegment,
  kTable,
  kRecycled,
  kBlobFile,
  kRepair,
  kImport,
  kKeep,
};

// Larger numbers are foreign, so that the next one can always be counted up to.
inline constexpr uint64_t kFileNumberMax = uint64_t{1} << 62;
inline constexpr std::string_view kLostDirectory = "lost";

struct FileName {
  FileKind kind;
  kv::FileNumber number{};  // 0 for kinds without one
};

std::string PrintFileName(FileKind kind, kv::FileNumber number = {});  // without directory
std::optional<FileName> ParseFileName(std::string_view name);
std::string JoinPath(std::string_view directory, std::string_view name);
std::string FilePath(std::string_view directory, FileKind kind, kv::FileNumber number);
std::string TablePath(std::string_view directory, kv::FileNumber number);
std::string RecycledPath(std::string_view directory, kv::FileNumber number);
std::string BlobFilePath(std::string_view directory, kv::FileNumber number);
std::string SegmentPath(std::string_view directory, kv::FileNumber number);
std::string ManifestPath(std::string_view directory, kv::FileNumber number);

}  // namespace mergedb::format
