#include "leveldb/import/directory.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/bytes.h"
#include "env/file_reads.h"
#include "format/file_name.h"
#include "format/table_layout.h"
#include "leveldb/format/log.h"
#include "leveldb/format/name.h"
#include "leveldb/import/rocksdb.h"
#include "manifest/loader.h"
#include "wal/frame.h"

namespace mergedb::leveldb_import {
namespace {

using leveldb_format::NameKind;

constexpr size_t kCurrentBytesMax = 64;

// The MANIFEST that LevelDB's CURRENT names. Nothing if CURRENT is missing or is not LevelDB's.
Result<std::optional<kv::FileNumber>> ReadCurrent(FileSystem* file_system, const std::string& directory) {
  const auto bytes = env::ReadBeginning(file_system, format::JoinPath(directory, "CURRENT"), kCurrentBytesMax);
  if (bytes) return leveldb_format::DecodeCurrent(*bytes);
  return bytes.error().IsNotFound() ? Result<std::optional<kv::FileNumber>>(std::nullopt) : bytes.error();
}

bool IsMergedbsOwn(format::FileKind kind) {
  return kind == format::FileKind::kTable || kind == format::FileKind::kBlobFile ||
         kind == format::FileKind::kSegment || kind == format::FileKind::kStaging;
}

Result<leveldb_format::State> ReadManifest(FileSystem* file_system, const std::string& path, const kv::Order& order,
                                           bool* is_cut_short) {
  auto file = file_system->Open(path, {.access = Access::kRead});
  if (!file)
    return file.error().IsNotFound() ? Status::Corruption(path + ": missing, but CURRENT names it") : file.error();
  Status damage;
  leveldb_format::LogReader reader(
      [&](uint64_t offset, size_t bytes, char* out, size_t* got) { return (*file)->ReadAt(offset, bytes, out, got); },
      [&](uint64_t offset, uint64_t bytes, std::string_view why) {
        if (!damage.ok()) return;
        damage = Status::Corruption(path + ": offset " + std::to_string(offset) + ", " + std::to_string(bytes) +
                                    " bytes: " + std::string(why));
      });
  leveldb_format::State state;
  std::string_view record;
  while (reader.Next(&record)) {
    auto edit = leveldb_format::DecodeVersionEdit(record);
    if (!edit) return edit.error().WithContext(path + ": record at offset " + std::to_string(reader.record_offset()));
    if (edit->comparator && *edit->comparator != LevelDbNameOf(order)) {
      return Status::InvalidArgument(path + ": the database is ordered by \"" + base::Escape(*edit->comparator) +
                                     "\", the options by \"" + LevelDbNameOf(order) + "\"");
    }
    state.Apply(*edit);
  }
  RETURN_IF_ERROR(reader.status());
  RETURN_IF_ERROR(damage);
  *is_cut_short = reader.is_cut_short();
  RETURN_IF_ERROR(state.Check().WithContext(path));
  return state;
}

// MANIFESTs, tables and logs by number, and the largest number of any file.
struct Listing {
  std::set<kv::FileNumber> manifests;
  std::map<kv::FileNumber, std::string> tables, logs;  // names; if a table has two names, LevelDB reads .ldb first
  uint64_t largest_number = 0;
};
Result<Listing> List(FileSystem* file_system, const std::string& directory) {
  Listing listing;
  ASSIGN_OR_RETURN(const auto names, file_system->List(directory));
  for (const std::string& name : names) {
    if (const auto ours = format::ParseFileName(name))
      listing.largest_number = std::max(listing.largest_number, kv::ToInt(ours->number));
    const auto parsed = leveldb_format::ParseName(name);
    if (!parsed) continue;
    // mergedb cannot continue from a number above kFileNumberMax. LevelDB counts from 1, so such a file is foreign.
    if (kv::ToInt(parsed->number) > format::kFileNumberMax) continue;
    listing.largest_number = std::max(listing.largest_number, kv::ToInt(parsed->number));
    if (parsed->kind == NameKind::kTable) listing.tables[parsed->number] = name;
    if (parsed->kind == NameKind::kOldTable) listing.tables.emplace(parsed->number, name);
    if (parsed->kind == NameKind::kManifest) listing.manifests.insert(parsed->number);
    if (parsed->kind == NameKind::kLog) listing.logs[parsed->number] = name;
  }
  return listing;
}

Status AddLog(FileSystem* file_system, const std::string& directory, kv::FileNumber number, const std::string& name,
              Source* source) {
  ASSIGN_OR_RETURN(const uint64_t bytes, file_system->SizeOf(format::JoinPath(directory, name)));
  source->logs.push_back({.name = name, .number = number, .bytes = bytes});
  source->bytes += bytes;
  return {};
}

}  // namespace

std::string LevelDbNameOf(const kv::Order& order) {
  return order.is_bytewise() ? std::string(leveldb_format::kBytewiseName) : std::string(order.comparator()->Name());
}

Result<Owner> OwnerOf(FileSystem* file_system, const std::string& directory, std::string* found) {
  ASSIGN_OR_RETURN(const auto manifest, ReadCurrent(file_system, directory));
  const auto listed = file_system->List(directory);
  if (!listed && !manifest && listed.error().IsNotFound()) return Owner::kOther;  // the directory does not exist
  if (!listed) return listed.error();
  const std::vector<std::string>& names = *listed;
  const auto parse = [](const std::string& name) { return format::ParseFileName(name); };
  const bool is_converting = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const auto parsed = parse(name);
    return parsed && parsed->kind == format::FileKind::kImport;
  });
  const bool is_ours = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const auto parsed = parse(name);
    // An interrupted conversion leaves tables, but no WAL files.
    return parsed && IsMergedbsOwn(parsed->kind) && !(is_converting && parsed->kind == format::FileKind::kTable);
  });
  if (!is_ours) {
    ASSIGN_OR_RETURN(const auto evidence, FindRocksDb(file_system, directory, names));
    if (evidence && found != nullptr) *found = *evidence;
    if (evidence) return Owner::kRocksDb;
  }
  if (!manifest) return Owner::kOther;
  return is_ours ? Owner::kOverwritten : Owner::kLevelDb;
}

Status RefuseRocksDb(FileSystem* file_system, const std::string& directory) {
  std::string found;
  ASSIGN_OR_RETURN(const Owner owner, OwnerOf(file_system, directory, &found));
  return owner == Owner::kRocksDb ? RocksDbRefusal(directory, found) : Status();
}

Result<std::string> ReadPiece(FileSystem* file_system, const std::string& path, size_t bytes, bool at_the_end) {
  ASSIGN_OR_RETURN(const auto file, env::OpenIfRegular(file_system, path));
  if (file == nullptr) return std::string();
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  std::string piece(static_cast<size_t>(std::min<uint64_t>(bytes, size)), '\0');
  size_t got = 0;
  RETURN_IF_ERROR(file->ReadAt(at_the_end ? size - piece.size() : 0, piece.size(), piece.data(), &got));
  piece.resize(got);
  return piece;
}

Result<bool> HoldsOurTable(FileSystem* file_system, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string end, ReadPiece(file_system, path, format::kTableMagic.size(), true));
  return end == format::kTableMagic;
}

Result<bool> HoldsOurSegment(FileSystem* file_system, const std::string& path, std::optional<uint64_t> database_id) {
  ASSIGN_OR_RETURN(const std::string block, ReadPiece(file_system, path, wal::kBlockBytes, false));
  const auto head = wal::LoadSegmentHead(block);
  return head && head->database_id == database_id.value_or(head->database_id);
}

namespace {

// The owner of the files in a directory, independent of CURRENT.
struct Evidence {
  bool of_leveldb = false;    // a table, a log or a MANIFEST
  bool of_mergedb = false;    // a file that an unfinished conversion does not leave
  bool has_manifest = false;  // a MANIFEST of mergedb: a conversion was committed, or was about to be
  bool is_converting = false;
};

Result<Evidence> FindEvidence(FileSystem* file_system, const std::string& directory) {
  ASSIGN_OR_RETURN(const auto names, file_system->List(directory));
  Evidence evidence;
  for (const std::string& name : names) {
    const auto ours = format::ParseFileName(name);
    evidence.is_converting |= ours && ours->kind == format::FileKind::kImport;
  }
  for (const std::string& name : names) {
    const auto ours = format::ParseFileName(name);
    const bool may_be_half = evidence.is_converting && ours && ours->kind == format::FileKind::kTable;
    evidence.of_mergedb |= ours && IsMergedbsOwn(ours->kind) && !may_be_half;
  }
  for (const std::string& name : names) {
    const auto parsed = leveldb_format::ParseName(name);
    // WHY no file is read beside one of mergedb's own: an unreadable file is a matter for the repair of that
    // database.
    if (evidence.of_mergedb) break;
    if (!parsed) continue;
    const std::string path = format::JoinPath(directory, name);
    bool is_ours = false;
    if (parsed->kind == NameKind::kTable) { ASSIGN_OR_RETURN(is_ours, HoldsOurTable(file_system, path)); }
    if (parsed->kind == NameKind::kLog) { ASSIGN_OR_RETURN(is_ours, HoldsOurSegment(file_system, path)); }
    evidence.of_mergedb |= is_ours;
    if (parsed->kind == NameKind::kManifest) { ASSIGN_OR_RETURN(is_ours, manifest::HoldsManifest(file_system, path)); }
    evidence.has_manifest |= is_ours && parsed->kind == NameKind::kManifest;
    evidence.of_leveldb |= !is_ours && (parsed->kind == NameKind::kTable || parsed->kind == NameKind::kOldTable ||
                                        parsed->kind == NameKind::kLog || parsed->kind == NameKind::kManifest);
  }
  return evidence;
}

}  // namespace

Result<bool> LooksLikeLevelDb(FileSystem* file_system, const std::string& directory) {
  ASSIGN_OR_RETURN(const Evidence evidence, FindEvidence(file_system, directory));
  if (!evidence.of_leveldb || evidence.of_mergedb) return false;
  const auto current = manifest::ReadCurrent(file_system, directory);
  if (current) return false;
  const Status& error = current.error();
  if (!error.IsNotFound() && !error.IsCorruption() && !error.IsInvalidArgument()) return error;
  if (!evidence.has_manifest) return true;
  // A conversion may be killed right before its commit. A whole CURRENT of LevelDB shows that it was not committed.
  ASSIGN_OR_RETURN(const auto named, ReadCurrent(file_system, directory));
  return evidence.is_converting && named.has_value();
}

Result<bool> IsConverted(FileSystem* file_system, const std::string& directory) {
  const std::string name = format::PrintFileName(format::FileKind::kImport);
  const auto marker = file_system->SizeOf(format::JoinPath(directory, name));
  if (!marker) return marker.error().IsNotFound() ? Result<bool>(false) : marker.error();
  ASSIGN_OR_RETURN(const Owner owner, OwnerOf(file_system, directory));
  if (owner != Owner::kOther) return false;
  ASSIGN_OR_RETURN(const Evidence evidence, FindEvidence(file_system, directory));
  return evidence.of_mergedb || evidence.has_manifest || manifest::ReadCurrent(file_system, directory).has_value();
}

namespace {

// A table that no MANIFEST names.
Result<SourceTable> Unbounded(FileSystem* file_system, const std::string& directory, kv::FileNumber number,
                              const std::string& name) {
  ASSIGN_OR_RETURN(const uint64_t bytes, file_system->SizeOf(format::JoinPath(directory, name)));
  return SourceTable{
      .name = name, .file = {.number = number, .bytes = bytes, .smallest = "", .largest = ""}, .has_bounds = false};
}

Result<Source> ReadSourceOf(FileSystem* file_system, const std::string& directory, const kv::Order& order,
                            kv::FileNumber manifest) {
  const std::string path = format::JoinPath(directory, leveldb_format::PrintName(NameKind::kManifest, manifest));
  Source source;
  ASSIGN_OR_RETURN(const leveldb_format::State state, ReadManifest(file_system, path, order, &source.is_cut_short));
  ASSIGN_OR_RETURN(const Listing listing, List(file_system, directory));
  // LevelDB removes a log only after the edit that names a later one. If that edit is incomplete, the log still
  // exists.
  if (source.is_cut_short && kv::ToInt(*state.log) != 0 && !listing.logs.contains(*state.log)) {
    return Status::Corruption(
        path + ": cut short, and the log that it names is gone: more than an unfinished edit is missing");
  }
  source.last_sequence = *state.last_sequence;
  source.largest_number = std::max(listing.largest_number, kv::ToInt(*state.next_file));
  if (source.largest_number > format::kFileNumberMax) {
    return Status::Corruption(path + ": the next file number is " + std::to_string(source.largest_number));
  }
  for (uint32_t level = 0; level < state.levels.size(); ++level) {
    const auto& files = state.levels[level];
    for (auto each = files.rbegin(); each != files.rend(); ++each) {
      const auto found = listing.tables.find(each->first);
      if (found == listing.tables.end()) {
        source.missing.push_back(leveldb_format::PrintName(NameKind::kTable, each->first));
        continue;
      }
      source.tables.push_back({.name = found->second, .file = each->second, .level = level});
      source.bytes += each->second.bytes;
    }
  }
  const auto is_named = [&](kv::FileNumber number) {
    return std::any_of(state.levels.begin(), state.levels.end(),
                       [&](const auto& files) { return files.contains(number); });
  };
  for (const auto& [number, name] : listing.tables) {
    if (!source.is_cut_short || is_named(number)) continue;
    ASSIGN_OR_RETURN(SourceTable table, Unbounded(file_system, directory, number, name));
    source.unnamed.push_back(std::move(table));
  }
  for (const auto& [number, name] : listing.logs) {
    const bool counts = number >= *state.log || (state.previous_log && number == *state.previous_log);
    if (counts) RETURN_IF_ERROR(AddLog(file_system, directory, number, name, &source));
  }
  return source;
}

}  // namespace

Result<Source> ReadSource(FileSystem* file_system, const std::string& directory, const kv::Order& order) {
  ASSIGN_OR_RETURN(const auto manifest, ReadCurrent(file_system, directory));
  if (!manifest) return Status::NotFound(format::JoinPath(directory, "CURRENT") + ": missing, or not LevelDB's");
  return ReadSourceOf(file_system, directory, order, *manifest);
}

Result<Source> GuessSource(FileSystem* file_system, const std::string& directory, const kv::Order& order,
                           std::string* what) {
  ASSIGN_OR_RETURN(const Listing listing, List(file_system, directory));
  for (auto number = listing.manifests.rbegin(); number != listing.manifests.rend(); ++number) {
    auto source = ReadSourceOf(file_system, directory, order, *number);
    if (!source && !source.error().IsCorruption()) return source.error();
    if (!source || !source->missing.empty()) continue;
    *what = leveldb_format::PrintName(NameKind::kManifest, *number) + " is used";
    return source;
  }
  *what = "no MANIFEST is valid: all tables are converted, and deleted or overwritten entries may be visible again";
  Source source;
  source.largest_number = listing.largest_number;
  for (auto each = listing.tables.rbegin(); each != listing.tables.rend(); ++each) {
    ASSIGN_OR_RETURN(SourceTable table, Unbounded(file_system, directory, each->first, each->second));
    source.bytes += table.file.bytes;
    source.tables.push_back(std::move(table));
  }
  for (const auto& [number, name] : listing.logs)
    RETURN_IF_ERROR(AddLog(file_system, directory, number, name, &source));
  return source;
}

}  // namespace mergedb::leveldb_import
