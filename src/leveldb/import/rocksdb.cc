#include "leveldb/import/rocksdb.h"

#include <algorithm>
#include <string_view>

#include "base/coding.h"
#include "env/file_reads.h"
#include "format/file_name.h"
#include "leveldb/format/edit.h"
#include "leveldb/format/log.h"
#include "leveldb/format/name.h"
#include "leveldb/import/directory.h"

namespace mergedb::leveldb_import {
namespace {

using leveldb_format::NameKind;
using Evidence = std::optional<std::string>;

// A database has thousands of tables, and a MANIFEST as many edits. In a RocksDB database the first ones are
// enough evidence.
constexpr int kTablesMax = 8;
constexpr int kEditsMax = 64;
constexpr size_t kIdentityBytes = 36;
constexpr size_t kTextLogBytes = 256;
// Block-based, plain and cuckoo tables. (RocksDB writes LevelDB's own number if it is configured to be compatible.)
constexpr uint64_t kMagics[] = {0x88e241b785f4cff7, 0x8242229663bf9564, 0x926789d0c5f17873};

bool IsDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool IsOptionsFile(std::string_view name) {
  constexpr std::string_view kPrefix = "OPTIONS-";
  return name.starts_with(kPrefix) && IsDigits(name.substr(kPrefix.size()));
}

Result<bool> IsIdentity(FileSystem* file_system, const std::string& path) {
  ASSIGN_OR_RETURN(std::string id, ReadPiece(file_system, path, kIdentityBytes + 2, false));
  if (id.ends_with('\n')) id.pop_back();
  return id.size() == kIdentityBytes && std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == '-';
         });
}

Result<bool> IsTextLog(FileSystem* file_system, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string begin, ReadPiece(file_system, path, kTextLogBytes, false));
  return begin.find("RocksDB version: ") != std::string::npos;
}

Result<bool> IsTable(FileSystem* file_system, const std::string& path) {
  uint64_t magic = 0;
  ASSIGN_OR_RETURN(const std::string end, ReadPiece(file_system, path, sizeof magic, true));
  if (end.size() != sizeof magic) return false;
  magic = base::LoadFixed64(end.data());
  return std::find(std::begin(kMagics), std::end(kMagics), magic) != std::end(kMagics);
}

Result<bool> IsManifest(FileSystem* file_system, const std::string& path) {
  ASSIGN_OR_RETURN(const auto file, env::OpenIfRegular(file_system, path));
  if (file == nullptr) return false;
  leveldb_format::LogReader reader(
      [&](uint64_t offset, size_t bytes, char* out, size_t* got) { return file->ReadAt(offset, bytes, out, got); },
      [](uint64_t, uint64_t, std::string_view) {});
  std::string_view record;
  for (int i = 0; i < kEditsMax && reader.Next(&record); ++i) {
    if (leveldb_format::HasRocksDbTag(record)) return true;
  }
  RETURN_IF_ERROR(reader.status());
  return false;
}

}  // namespace

Result<std::optional<std::string>> FindRocksDb(FileSystem* file_system, const std::string& directory,
                                               const std::vector<std::string>& names) {
  int tables = 0;
  for (const std::string& name : names) {
    if (IsOptionsFile(name)) return Evidence(name + " exists");
    const std::string path = format::JoinPath(directory, name);
    if (name == "IDENTITY") {
      ASSIGN_OR_RETURN(const bool is_identity, IsIdentity(file_system, path));
      if (is_identity) return Evidence("IDENTITY exists");
    }
    if (name == "LOG") {
      ASSIGN_OR_RETURN(const bool is_text_log, IsTextLog(file_system, path));
      if (is_text_log) return Evidence("LOG says so");
    }
    const auto parsed = leveldb_format::ParseName(name);
    if (!parsed) continue;
    if (parsed->kind == NameKind::kOldTable && tables++ < kTablesMax) {
      ASSIGN_OR_RETURN(const bool is_table, IsTable(file_system, path));
      if (is_table) return Evidence(name + " is a table of RocksDB's");
    }
    if (parsed->kind == NameKind::kManifest) {
      ASSIGN_OR_RETURN(const bool is_manifest, IsManifest(file_system, path));
      if (is_manifest) return Evidence(name + " holds edits that only RocksDB makes");
    }
  }
  return Evidence();
}

Status RocksDbRefusal(const std::string& directory, const std::string& found) {
  return Status::NotSupported(
      directory + ": a database of RocksDB (" + found +
      "), which mergedb cannot read; nothing was changed. Copy its entries into another directory with a program "
      "that opens it by RocksDB's library");
}

}  // namespace mergedb::leveldb_import
