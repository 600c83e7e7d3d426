// FORMAT: the names in a database directory (docs/formats/files.md). Files with other names are foreign: mergedb
// leaves them alone, except the source of an import.
//
//   CURRENT             names the valid MANIFEST; ends without a newline, so that LevelDB refuses the directory
//   CURRENT.tmp         the next CURRENT, before the rename
//   LOCK                locked by the process that has the database open
//   MANIFEST-000005     a sequence of VersionEdits
//   STAGING             the mapped WAL buffer
//   000007.seg          a WAL segment
//   000012.tbl          a table
//   000012.spare        a recycled file: an obsolete table or blob file, to be overwritten under another number
//   000013.val          a blob file
//   REPAIR              a repair is running or was interrupted; Open refuses the database until a repair finishes
//   IMPORT              an import is running or was interrupted (src/db/recovery/import.h)
//   KEEP                Open dropped a part of the MANIFEST, has not moved all files to lost/ yet
//                       (src/db/recovery/orphans.h)
//   LOG, LOG.old        events (src/db/state/event_log.h), no data; ParseFileName does not know them
//   LIVE                the state that an open database publishes for other processes (format/live_state.h)
//   lost/               files that repair or Open moved away; mergedb neither reads nor deletes them
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
  kLive,
};

// Files with larger numbers are foreign. So the next number never overflows.
inline constexpr uint64_t kFileNumberMax = uint64_t{1} << 62;
inline constexpr std::string_view kLostDirectory = "lost";

struct FileName {
  FileKind kind;
  kv::FileNumber number{};  // 0 for kinds without a number
};

std::string PrintFileNumber(kv::FileNumber number);                    // decimal, at least six digits
std::string PrintFileName(FileKind kind, kv::FileNumber number = {});  // without the directory
std::optional<FileName> ParseFileName(std::string_view name);
std::string JoinPath(std::string_view directory, std::string_view name);
std::string_view LastName(std::string_view path);  // behind the last slash
std::string ParentOf(std::string_view path);       // the parent directory of `path`; "." if `path` has no slash
std::string FilePath(std::string_view directory, FileKind kind, kv::FileNumber number = {});
inline std::string TablePath(std::string_view directory, kv::FileNumber number) {
  return FilePath(directory, FileKind::kTable, number);
}
inline std::string RecycledPath(std::string_view directory, kv::FileNumber number) {
  return FilePath(directory, FileKind::kRecycled, number);
}
inline std::string BlobFilePath(std::string_view directory, kv::FileNumber number) {
  return FilePath(directory, FileKind::kBlobFile, number);
}
inline std::string SegmentPath(std::string_view directory, kv::FileNumber number) {
  return FilePath(directory, FileKind::kSegment, number);
}
inline std::string ManifestPath(std::string_view directory, kv::FileNumber number) {
  return FilePath(directory, FileKind::kManifest, number);
}

}  // namespace mergedb::format
