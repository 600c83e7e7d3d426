#include "manifest/loader.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/bytes.h"
#include "base/coding.h"
#include "base/crc32c.h"
#include "env/file_reads.h"
#include "format/file_name.h"
#include "manifest/mirror_file.h"
#include "manifest/mirror_layout.h"
#include "version/invariants.h"
#include "version/version_builder.h"

namespace mergedb::manifest {
namespace {

constexpr std::string_view kCurrentPrefix = "mergedb-1 ";
constexpr size_t kCurrentBytesMax = 128;

std::string Hex32(uint32_t value) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", value);
  return text;
}

Result<bool> HoldAnyManifest(FileSystem* file_system, const std::string& directory,
                             const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto parsed = format::ParseFileName(name);
    if (!parsed || parsed->kind != format::FileKind::kManifest) continue;
    ASSIGN_OR_RETURN(const bool is_ours, HoldsManifest(file_system, format::JoinPath(directory, name)));
    if (is_ours) return true;
  }
  return false;
}

// There is no CURRENT: the directory is new, or its database has lost CURRENT. A new database has only a MANIFEST
// before it has CURRENT, so a table, blob file or WAL file proves the loss.
Status WithoutCurrent(FileSystem* file_system, const std::string& directory, ForeignFile foreign_file) {
  ASSIGN_OR_RETURN(auto names, file_system->List(directory));
  // If IMPORT exists, check the files of the source before the tables that the interrupted import left.
  const std::string marker = format::PrintFileName(format::FileKind::kImport);
  if (std::find(names.begin(), names.end(), marker) != names.end()) {
    std::stable_partition(names.begin(), names.end(),
                          [](const std::string& name) { return !format::ParseFileName(name); });
  }
  for (const std::string& name : names) {
    const auto parsed = format::ParseFileName(name);
    std::string foreign;
    if (foreign_file != nullptr) { ASSIGN_OR_RETURN(foreign, foreign_file(file_system, directory, name)); }
    if (!foreign.empty()) {
      ASSIGN_OR_RETURN(const bool is_converted, HoldAnyManifest(file_system, directory, names));
      if (is_converted) {
        return Status::Corruption(format::JoinPath(directory, "CURRENT") +
                                  ": missing, but a MANIFEST of mergedb exists; run `mergedb repair " + directory +
                                  "`");
      }
      return Status::Corruption(format::JoinPath(directory, "CURRENT") + ": missing, but " + foreign);
    }
    if (!parsed) continue;
    if (parsed->kind == format::FileKind::kTable || parsed->kind == format::FileKind::kSegment ||
        parsed->kind == format::FileKind::kBlobFile || parsed->kind == format::FileKind::kStaging ||
        parsed->kind == format::FileKind::kRepair) {
      return Status::Corruption(format::JoinPath(directory, "CURRENT") + ": missing, but " + name + " exists");
    }
  }
  return Status::NotFound(directory + ": no database");
}

// Newer facts replace older ones.
void TakeFacts(const format::VersionEdit& edit, Loaded* loaded, std::optional<std::string>* comparator) {
  if (edit.database_id) loaded->database_id = *edit.database_id;
  if (edit.comparator) *comparator = *edit.comparator;
  if (edit.next_file) loaded->next_file = *edit.next_file;
  if (edit.next_position) loaded->next_position = *edit.next_position;
  if (edit.last_sequence) loaded->last_sequence = *edit.last_sequence;
  if (edit.wal_start) loaded->wal_start = *edit.wal_start;
  if (edit.wal_durable) loaded->wal_durable = *edit.wal_durable;
  if (edit.wal_segments) loaded->wal_segments = *edit.wal_segments;
  loaded->clean_wal_end = edit.clean_wal_end;
  loaded->staging_bytes = edit.staging_bytes;
  if (edit.key_marker) loaded->key_marker = edit.key_marker;
  if (edit.merge_operators) loaded->merge_operators = *edit.merge_operators;
  loaded->flushed_sequence = edit.flushed_sequence.value_or(0);
}

// The facts must fit the tree: all numbers and positions in use lie below the next ones. Otherwise a number would
// be used twice. PublishReplayed (db/) checks the sequences, since they also depend on the WAL.
Status CheckFacts(const Loaded& loaded) {
  const auto beyond = [](const std::string& what, uint64_t found, uint64_t next) {
    return Status::Corruption("the number of " + what + " is " + std::to_string(found) +
                              ", but the next free number is " + std::to_string(next));
  };
  for (const auto& file : loaded.version->file_metas()) {
    if (file->number >= loaded.next_file)
      return beyond("a table", kv::ToInt(file->number), kv::ToInt(loaded.next_file));
  }
  for (const auto& each : loaded.version->blob_files()) {
    const kv::FileNumber number = each.file->number;
    if (number >= loaded.next_file) return beyond("a blob file", kv::ToInt(number), kv::ToInt(loaded.next_file));
  }
  for (const auto& run : loaded.version->runs()) {
    if (run->position() >= loaded.next_position)
      return beyond("a position", kv::ToInt(run->position()), kv::ToInt(loaded.next_position));
  }
  return {};
}

}  // namespace

std::string EncodeCurrent(const Current& current) {
  std::string text(kCurrentPrefix);
  text += format::PrintFileName(format::FileKind::kManifest, current.manifest);
  if (current.reached) text += " " + std::to_string(current.reached->bytes) + " " + Hex32(current.reached->chain);
  return text + " " + Hex32(base::Crc32c(text));
}

// Accepts only text that EncodeCurrent produces: encodes the parsed values again and compares.
Result<Current> DecodeCurrent(std::string_view bytes, const std::string& path) {
  const std::string text(bytes);
  char name[64];
  unsigned long long reached = 0;
  unsigned int chain = 0;
  const int fields = std::sscanf(text.c_str(), "mergedb-1 %63s %20llu %8x", name, &reached, &chain);
  const auto parsed = fields >= 1 ? format::ParseFileName(name) : std::nullopt;
  if (parsed && parsed->kind == format::FileKind::kManifest) {
    for (const Current& current : {Current{parsed->number}, Current{parsed->number, MirrorEnd{reached, chain}}}) {
      if (EncodeCurrent(current) == bytes) return current;
    }
  }
  return Status::Corruption(path +
                            ": expected \"mergedb-1 MANIFEST-<number> <bytes> <checksum> <checksum>\", found \"" +
                            base::Escape(bytes) + "\"; run `mergedb repair " + format::ParentOf(path) + "`");
}

Result<Current> ReadCurrent(FileSystem* file_system, const std::string& directory) {
  const std::string current = format::FilePath(directory, format::FileKind::kCurrent);
  ASSIGN_OR_RETURN(const std::string bytes, env::ReadBeginning(file_system, current, kCurrentBytesMax));
  return DecodeCurrent(bytes, current);
}

Result<bool> HoldsManifest(FileSystem* file_system, const std::string& path) {
  ASSIGN_OR_RETURN(const auto file, env::OpenIfRegular(file_system, path));
  if (file == nullptr) return false;
  for (const int copy : {0, 1}) {
    std::string begin(kMirrorMagic.size(), '\0');
    size_t got = 0;
    RETURN_IF_ERROR(file->ReadAt(MirrorOffset(0, copy), begin.size(), begin.data(), &got));
    if (got == begin.size() && begin == kMirrorMagic) return true;
  }
  return false;
}

// WHY CURRENT is read again if the MANIFEST is missing: a writer beside a read-only open may have replaced both.
Result<Loaded> Load(FileSystem* file_system, const std::string& directory, const kv::Order& order,
                    ForeignFile foreign_file) {
  auto current = ReadCurrent(file_system, directory);
  for (;;) {
    if (!current)
      return current.error().IsNotFound() ? WithoutCurrent(file_system, directory, foreign_file) : current.error();
    auto loaded = LoadManifest(file_system, directory, *current, order);
    if (loaded || !loaded.error().IsNotFound()) return loaded;
    auto again = ReadCurrent(file_system, directory);
    if (again && again->manifest == current->manifest) {
      return Status::Corruption(format::ManifestPath(directory, current->manifest) +
                                ": missing, but CURRENT names it; run `mergedb repair " + directory + "`");
    }
    current = std::move(again);
  }
}

Result<Loaded> LoadBesideWriter(FileSystem* file_system, const std::string& directory, const kv::Order& order,
                                ForeignFile foreign_file) {
  constexpr int kAttemptsMax = 11;
  auto loaded = Load(file_system, directory, order, foreign_file);
  for (int attempt = 1; attempt < kAttemptsMax && !loaded; ++attempt) {
    if (!loaded.error().IsCorruption() && !loaded.error().IsBusy()) break;
    loaded = Load(file_system, directory, order, foreign_file);
  }
  return loaded;
}

Result<Loaded> LoadManifest(FileSystem* file_system, const std::string& directory, const Current& current,
                            const kv::Order& order) {
  Loaded loaded;
  loaded.manifest = current.manifest;
  loaded.version = std::make_shared<const version::Version>();
  std::optional<std::string> comparator;
  const std::string path = format::ManifestPath(directory, loaded.manifest);
  auto contents = ReadMirror(
      file_system, path,
      [&](std::string_view record) -> Status {
        ASSIGN_OR_RETURN(const format::VersionEdit edit, format::DecodeVersionEdit(record));
        // Compare the comparators first: under another order the tree would look damaged.
        if (edit.comparator && *edit.comparator != order.comparator()->Name()) {
          return Status::InvalidArgument("the database is ordered by \"" + base::Escape(*edit.comparator) +
                                         "\", the options by \"" + std::string(order.comparator()->Name()) + "\"");
        }
        TakeFacts(edit, &loaded, &comparator);
        ASSIGN_OR_RETURN(loaded.version, version::ApplyEdit(order, *loaded.version, edit));
        return {};
      },
      current.reached);
  if (!contents) return contents.error();
  // The header stores the low 32 bits of the number.
  if (static_cast<uint32_t>(kv::ToInt(contents->identity.number)) !=
      static_cast<uint32_t>(kv::ToInt(loaded.manifest))) {
    return Status::Corruption(path + ": the header has number " + std::to_string(kv::ToInt(contents->identity.number)));
  }
  if (!comparator || loaded.database_id == 0 || loaded.database_id != contents->identity.database_id) {
    return Status::Corruption(path + ": has no valid database id");
  }
  RETURN_IF_ERROR(version::CheckInvariants(order, *loaded.version).WithContext(path));
  RETURN_IF_ERROR(CheckFacts(loaded).WithContext(path));
  loaded.flaws = std::move(contents->flaws);
  loaded.tail = std::move(contents->tail);
  if (contents->repaired > 0) {
    loaded.report += path + ": " + std::to_string(contents->repaired) +
                     " records or headers have one valid copy of two; it was used\n";
  }
  if (contents->dropped_bytes > 0) {
    loaded.report += path + ": dropped an unfinished record of " + std::to_string(contents->dropped_bytes) + " bytes\n";
  }
  return loaded;
}

}  // namespace mergedb::manifest
