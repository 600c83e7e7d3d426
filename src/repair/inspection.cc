#include "repair/inspection.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "db/recovery/import.h"
#include "db/replaced_files.h"
#include "db/state/event_log.h"
#include "format/batch.h"
#include "kv/operand.h"
#include "table/reader.h"

namespace mergedb::repair {
namespace {

using format::FileKind;

kv::Sequence LargestSequence(const version::Version& version) {
  kv::Sequence largest = 0;
  for (const auto& meta : version.file_metas()) largest = std::max(largest, meta->largest_sequence);
  return largest;
}

// A mistake of the caller, a newer version, or no file descriptor left: not damage, and not repairable here.
bool IsRefusal(const Status& status) {
  return status.IsInvalidArgument() || status.IsNotSupported() || status.IsBusy();
}

bool HoldsData(FileKind kind) {
  return kind == FileKind::kCurrent || kind == FileKind::kManifest || kind == FileKind::kTable ||
         kind == FileKind::kBlobFile || kind == FileKind::kSegment || kind == FileKind::kStaging;
}

class Inspector {
 public:
  explicit Inspector(const InspectionInput& input)
      : input_(input), result_(BlobFiles(input.file_system, input.directory, input.order)) {}

  Result<Inspection> Run();

 private:
  Status TakeNames();
  Status CheckOpens(const std::string& name) const;
  Status ChooseManifest();
  Status TryManifest(const manifest::Current& current, std::optional<manifest::Loaded>* loaded);
  Result<bool> LeadsToTheNewest(const manifest::Loaded& loaded);
  void ReportManifest();
  Status ReadTables();
  Status ReadTable(kv::FileNumber number, const format::FileMetaPtr& meta);
  Status LookAt(const kv::Entry& entry, TableFinding* finding, LostValues* lost,
                std::map<kv::FileNumber, uint64_t>* shares);
  void NoteOperator(const kv::Entry& entry);
  Status ReadBlobFiles();
  void TellWhatBlobFilesLose();
  void Widen(Damage* damage, const Damage& lost) const;
  Status ReadBlobFile(kv::FileNumber number, const format::BlobFilePtr& meta);
  Status ReadWal();
  void ReportLog();
  void NoteTheRest();
  Status Advance(uint64_t bytes);

  Damage& Report(std::string file, std::string_view what) {
    result_.report.damages.push_back({.file = std::move(file), .what = std::string(what)});
    return result_.report.damages.back();
  }
  void Note(std::string text) { result_.report.notes.push_back(std::move(text)); }
  // Notes a file that the MANIFEST in use, or CURRENT, does not name.
  void NoteUnnamed(const std::string& name, std::string_view by) {
    const std::string marker = format::PrintFileName(FileKind::kKeep);
    const bool is_kept = std::binary_search(result_.names.begin(), result_.names.end(), marker);
    Note(name + ": " + std::string(by) + " does not name it; the next open " +
         (is_kept ? "moves it to lost/" : "removes it"));
  }
  std::string PathOf(std::string_view name) const { return format::JoinPath(input_.directory, name); }
  Result<wal::Salvaged> ReadWalOf(const wal::Origin& origin, const manifest::Loaded* loaded,
                                  kv::Sequence* last_sequence);

  const InspectionInput& input_;
  Inspection result_;
  uint64_t bytes_all_ = 0;
  uint64_t log_bytes_ = 0;
  kv::Sequence last_sequence_ = 0;  // the newest sequence in MANIFEST and WAL
};

Result<Inspection> Inspector::Run() {
  RETURN_IF_ERROR(TakeNames());
  RETURN_IF_ERROR(ChooseManifest());
  ReportManifest();
  RETURN_IF_ERROR(ReadBlobFiles());
  RETURN_IF_ERROR(ReadTables());
  TellWhatBlobFilesLose();
  RETURN_IF_ERROR(ReadWal());
  ReportLog();
  NoteTheRest();
  return std::move(result_);
}

Status Inspector::TakeNames() {
  ASSIGN_OR_RETURN(result_.names, input_.file_system->List(input_.directory));
  std::sort(result_.names.begin(), result_.names.end());
  ASSIGN_OR_RETURN(result_.inventory, db::TakeInventory(input_.file_system, input_.directory));
  for (const std::string& name : result_.names) {
    const auto parsed = format::ParseFileName(name);
    if (!parsed) continue;
    result_.has_marker |= parsed->kind == FileKind::kRepair;
    if (HoldsData(parsed->kind)) RETURN_IF_ERROR(CheckOpens(name));
    const auto bytes = input_.file_system->SizeOf(PathOf(name));
    if (bytes && parsed->kind != FileKind::kRepair && parsed->kind != FileKind::kLive) bytes_all_ += *bytes;
    if (bytes && (parsed->kind == FileKind::kSegment || parsed->kind == FileKind::kStaging)) log_bytes_ += *bytes;
  }
  return {};
}

// WHY an error, and no damage: the bytes of a file that this user may not read can be whole. A repair would move them
// to lost/.
Status Inspector::CheckOpens(const std::string& name) const {
  const Status status = input_.file_system->Open(PathOf(name), {.access = Access::kRead}).status();
  const bool is_no_file = input_.file_system->SizeOf(PathOf(name)).status().IsInvalidArgument();
  if (!status.IsIOError() || is_no_file) return {};
  return Status::IOError(
      std::string(status.message()) +
      "; nothing was changed. Run as a user who may read the files of the database. If the disk cannot "
      "open the file, move it out of the directory: what it holds is then lost");
}

Status Inspector::Advance(uint64_t bytes) {
  result_.report.bytes += bytes;
  if (!input_.progress || input_.progress(std::min(result_.report.bytes, bytes_all_), bytes_all_)) return {};
  return Status::Aborted(input_.directory + ": cancelled by the progress callback");
}

// ---- which MANIFEST -------------------------------------------------------------------------------------------------

// Returns only errors that concern the caller. Damage leaves *loaded without a value.
Status Inspector::TryManifest(const manifest::Current& current, std::optional<manifest::Loaded>* loaded) {
  auto read = manifest::LoadManifest(input_.file_system, input_.directory, current, input_.order);
  if (read) {
    *loaded = std::move(*read);
    return {};
  }
  return IsRefusal(read.error()) ? read.error() : Status();
}

// Fails only if no file descriptor is left (Busy).
Result<bool> Inspector::LeadsToTheNewest(const manifest::Loaded& loaded) {
  if (!db::CheckFiles(input_.file_system, input_.directory, *loaded.version).ok()) return false;
  const auto newest = wal::FindOrigin(input_.file_system, input_.directory);
  if (!newest && newest.error().IsBusy()) return newest.error();
  const bool is_of_ours = newest && *newest && (*newest)->database_id == loaded.database_id;
  if (is_of_ours && (*newest)->epoch > loaded.wal_start.epoch) return false;
  kv::Sequence last = 0;
  const auto wal = ReadWalOf(wal::OriginOf(loaded.database_id, loaded.wal_start), &loaded, &last);
  if (!wal && wal.error().IsBusy()) return wal.error();
  return wal && wal->verdict.ok() && wal->flaws.empty() && LargestSequence(*loaded.version) <= last;
}

Status Inspector::ChooseManifest() {
  const std::string current = format::PrintFileName(FileKind::kCurrent);
  auto read = manifest::ReadCurrent(input_.file_system, input_.directory);
  if (!read && read.error().IsBusy()) return read.error();
  if (!read) Report(current, read.error().IsNotFound() ? "missing" : read.error().message());
  if (read) result_.current = std::move(*read);
  const std::optional<manifest::Current>& named = result_.current;

  std::optional<manifest::Loaded> of_current;
  if (named) RETURN_IF_ERROR(TryManifest(*named, &of_current));
  if (of_current) { ASSIGN_OR_RETURN(result_.is_current_right, LeadsToTheNewest(*of_current)); }
  if (result_.is_current_right) {
    result_.loaded = std::move(of_current);
    return {};
  }
  std::vector<kv::FileNumber> others = result_.inventory.manifests;
  std::sort(others.rbegin(), others.rend());
  std::optional<manifest::Loaded> newest;
  for (const kv::FileNumber number : others) {
    std::optional<manifest::Loaded> loaded;
    if (!named || number != named->manifest) RETURN_IF_ERROR(TryManifest({number}, &loaded));
    if (!loaded) continue;
    const bool is_newest = number == others.front();
    ASSIGN_OR_RETURN(const bool leads_to_the_newest, LeadsToTheNewest(*loaded));
    if (leads_to_the_newest) {
      result_.loaded = std::move(loaded);
      return {};
    }
    if (is_newest && !named) newest = std::move(loaded);
  }
  // No MANIFEST leads to the newest state. The one that CURRENT names is the newest; without CURRENT, the one
  // with the largest number is.
  result_.is_current_right = of_current.has_value();
  result_.loaded = of_current ? std::move(of_current) : std::move(newest);
  return {};
}

void Inspector::ReportManifest() {
  const std::optional<manifest::Current>& named = result_.current;
  if (named && !result_.is_current_right) {
    const auto read = manifest::LoadManifest(input_.file_system, input_.directory, *named, input_.order);
    const std::string name = format::PrintFileName(FileKind::kManifest, named->manifest);
    const std::string what = read                        ? "its tables or its WAL do not match it"
                             : read.error().IsNotFound() ? "missing, but CURRENT names it"
                                                         : std::string(read.error().message());
    Report(name, what);
  }
  if (!result_.loaded) {
    // WHY a loss, although all tables may exist: this cannot be known.
    Report("MANIFEST", "no MANIFEST is valid: the set of tables and their order are unknown").loses_entries = true;
    return;
  }
  const manifest::Loaded& loaded = *result_.loaded;
  const std::string name = format::PrintFileName(FileKind::kManifest, loaded.manifest);
  if (!result_.is_current_right) Note(name + ": used instead");
  const auto report = [&](const manifest::MirrorFlaw& flaw) {
    Damage& damage = Report(name, flaw.what);
    damage.offset = flaw.offset;
    damage.bytes = flaw.bytes;
  };
  for (const auto& flaw : loaded.flaws) report(flaw);
  for (const auto& flaw : loaded.tail) {
    if (loaded.clean_wal_end) {  // nothing is written after a clean close
      report(flaw);
    } else {
      Note(name + ": offset " + std::to_string(flaw.offset) + ": an unfinished record; a repair drops it");
    }
  }
}

// ---- tables ---------------------------------------------------------------------------------------------------------

Status Inspector::ReadTables() {
  if (result_.loaded) {
    for (const auto& meta : result_.loaded->version->file_metas()) RETURN_IF_ERROR(ReadTable(meta->number, meta));
    for (const kv::FileNumber number : result_.inventory.tables) {
      if (result_.tables.contains(number)) continue;
      NoteUnnamed(format::PrintFileName(FileKind::kTable, number), "the MANIFEST");
    }
    return {};
  }
  for (const kv::FileNumber number : result_.inventory.tables) RETURN_IF_ERROR(ReadTable(number, nullptr));
  return {};
}

Status Inspector::ReadTable(kv::FileNumber number, const format::FileMetaPtr& meta) {
  const std::string name = format::PrintFileName(FileKind::kTable, number);
  TableFinding& finding = result_.tables[number];
  finding.meta = meta;
  const auto bytes = input_.file_system->SizeOf(PathOf(name));
  if (!bytes && (bytes.error().IsNotFound() || bytes.error().IsInvalidArgument())) {
    finding.is_there = false;
    table::Flaw flaw{.what = bytes.error().IsNotFound() ? "missing" : "not a regular file",
                     .loses_entries = meta != nullptr};
    if (meta) {
      flaw.smallest = meta->smallest;
      flaw.largest = meta->largest;
    }
    finding.flaws.push_back(std::move(flaw));
  } else {
    LostValues lost;
    std::map<kv::FileNumber, uint64_t> shares;
    const auto visit = [&](const kv::Entry& entry) { return LookAt(entry, &finding, &lost, &shares); };
    ASSIGN_OR_RETURN(auto salvaged, table::Salvage({.file_system = input_.file_system,
                                                    .path = PathOf(name),
                                                    .number = number,
                                                    .meta = meta,
                                                    .order = input_.order},
                                                   visit));
    finding.lost_values = lost.Take();
    finding.flaws = std::move(salvaged.flaws);
    finding.compacted_ranges = std::move(salvaged.compacted_ranges);
    finding.entries = salvaged.found.entries;
    if (meta == nullptr && (finding.entries > 0 || salvaged.found.range_tombstones > 0)) {
      for (const auto& [file, share] : shares) salvaged.found.values.push_back({.file = file, .bytes = share});
      finding.meta = std::make_shared<const format::FileMeta>(std::move(salvaged.found));
    }
    if (!finding.is_whole()) finding.range_tombstones = std::move(salvaged.range_tombstones);
    ++result_.report.tables;
    result_.report.entries += finding.entries;
  }
  for (const table::Flaw& flaw : finding.flaws) {
    result_.report.damages.push_back({.file = name,
                                      .offset = flaw.offset,
                                      .bytes = flaw.bytes,
                                      .what = flaw.what,
                                      .loses_entries = flaw.loses_entries,
                                      .smallest_key = flaw.smallest,
                                      .largest_key = flaw.largest});
  }
  auto& damages = result_.report.damages;
  damages.insert(damages.end(), finding.lost_values.begin(), finding.lost_values.end());
  return Advance(bytes ? *bytes : 0);
}

// Fails only if no file descriptor is left (Busy).
Status Inspector::LookAt(const kv::Entry& entry, TableFinding* finding, LostValues* lost,
                         std::map<kv::FileNumber, uint64_t>* shares) {
  if (kv::KindOf(entry.tag) != kv::Kind::kPutBlobIndex) {
    if (finding->meta == nullptr) NoteOperator(entry);
    lost->Pass();
    return {};
  }
  format::BlobIndex reference;
  std::string_view value;
  const Status status = result_.blob_files.Read(entry.key, entry.value, &reference, &value);
  if (status.IsBusy()) return status;
  (*shares)[reference.file] += reference.bytes;
  finding->refers_to_damaged |= !result_.blob_files.IsWhole(reference.file);
  if (status.ok()) {
    lost->Pass();
  } else {
    lost->Add(entry.key, reference, status);
  }
  return {};
}

void Inspector::NoteOperator(const kv::Entry& entry) {
  kv::ProgramParts parts;
  const bool is_operand = kv::KindOf(entry.tag) == kv::Kind::kMerge && !entry.value.empty();
  if (is_operand && kv::TypeOf(entry.value) == kv::OperandType::kProgram && kv::ParseProgram(entry.value, &parts)) {
    result_.merge_operators.emplace(parts.name);
  }
}

// ---- blob files -----------------------------------------------------------------------------------------------------

Status Inspector::ReadBlobFiles() {
  if (result_.loaded) {
    for (const version::BlobFile& each : result_.loaded->version->blob_files()) {
      RETURN_IF_ERROR(ReadBlobFile(each.file->number, each.file));
    }
    for (const kv::FileNumber number : result_.inventory.blob_files) {
      if (result_.blob_files.found().contains(number)) continue;
      NoteUnnamed(format::PrintFileName(FileKind::kBlobFile, number), "the MANIFEST");
    }
    return {};
  }
  for (const kv::FileNumber number : result_.inventory.blob_files) RETURN_IF_ERROR(ReadBlobFile(number, nullptr));
  return {};
}

// Reports the first damage of the file. TellWhatBlobFilesLose says what it loses.
Status Inspector::ReadBlobFile(kv::FileNumber number, const format::BlobFilePtr& meta) {
  const std::string name = format::PrintFileName(FileKind::kBlobFile, number);
  RETURN_IF_ERROR(result_.blob_files.Look(number, meta));
  const BlobFileFinding& finding = result_.blob_files.found().at(number);
  if (!finding.verdict.ok()) {
    result_.damages_of_blob_files.push_back(result_.report.damages.size());
    Report(name, finding.verdict.IsNotFound() ? "missing" : finding.verdict.message());
  }
  return Advance(finding.meta ? finding.meta->bytes : 0);
}

// Makes `damage` lose the keys of `lost`, too.
void Inspector::Widen(Damage* damage, const Damage& lost) const {
  const bool is_first = !std::exchange(damage->loses_entries, true);
  if (is_first || input_.order.CompareKeys(*lost.smallest_key, *damage->smallest_key) < 0)
    damage->smallest_key = lost.smallest_key;
  if (is_first || input_.order.CompareKeys(*lost.largest_key, *damage->largest_key) > 0)
    damage->largest_key = lost.largest_key;
}

// A blob file loses the values that the tables report as lost in it. A table with too many of them does not name all
// files.
void Inspector::TellWhatBlobFilesLose() {
  for (const auto& [number, table] : result_.tables) {
    const bool names_all = table.lost_values.size() < LostValues::kDamagesMax;
    for (const Damage& lost : table.lost_values) {
      for (const size_t index : result_.damages_of_blob_files) {
        Damage& damage = result_.report.damages[index];
        if (lost.file == damage.file || !names_all) Widen(&damage, lost);
      }
    }
  }
}

// ---- the WAL --------------------------------------------------------------------------------------------------------

// *last_sequence: sequence of the newest change in MANIFEST and WAL.
Result<wal::Salvaged> Inspector::ReadWalOf(const wal::Origin& origin, const manifest::Loaded* loaded,
                                           kv::Sequence* last_sequence) {
  *last_sequence = loaded != nullptr ? loaded->last_sequence : 0;
  const auto check = [&](kv::Sequence first, std::string_view payload) {
    format::BatchReader reader(payload);
    for (kv::Sequence sequence = first; reader.Next(); ++sequence) {
      RETURN_IF_ERROR(db::CheckRangeDelete(input_.order, reader, sequence));
      *last_sequence = std::max(*last_sequence, sequence);
    }
    return reader.status();
  };
  const wal::Expected expected = loaded != nullptr ? db::ExpectedOf(*loaded) : wal::Expected();
  return wal::Salvage(input_.file_system, input_.directory, origin, expected, check);
}

Status Inspector::ReadWal() {
  if (result_.loaded) {
    result_.origin = wal::OriginOf(result_.loaded->database_id, result_.loaded->wal_start);
  } else {
    ASSIGN_OR_RETURN(result_.origin, wal::FindOrigin(input_.file_system, input_.directory));
  }
  if (result_.origin) {
    ASSIGN_OR_RETURN(result_.wal,
                     ReadWalOf(*result_.origin, result_.loaded ? &*result_.loaded : nullptr, &last_sequence_));
    result_.report.wal_frames = result_.wal.replayed.frames;
  }
  return Advance(log_bytes_);
}

void Inspector::ReportLog() {
  const wal::Salvaged& wal = result_.wal;
  if (!result_.origin) {
    const bool is_there = !result_.inventory.segments.empty() || result_.inventory.has_staging;
    if (is_there)
      Report("STAGING", "the WAL cannot be read: neither a MANIFEST nor a segment has its begin").loses_entries = true;
    return;
  }
  if (result_.origin->unproved_bytes > 0) {
    Damage& damage = Report(wal.break_file, std::to_string(result_.origin->unproved_bytes) +
                                                " bytes at the begin of the WAL cannot be verified without a MANIFEST");
    damage.bytes = result_.origin->unproved_bytes;
    damage.loses_entries = true;
  }
  // After a clean close, with all frames read to the end, no other flaw loses entries.
  const bool has_all = wal.verdict.ok() && result_.loaded && result_.loaded->clean_wal_end;
  for (const Status& flaw : wal.flaws) {
    const std::string_view path = flaw.message().substr(0, flaw.message().find(": "));
    const std::string_view what = flaw.message().substr(std::min(flaw.message().size(), path.size() + 2));
    Report(std::string(format::LastName(path)), what).loses_entries = !has_all;
  }
  if (!wal.verdict.ok()) {
    Damage& damage =
        Report(wal.break_file, std::string(wal.verdict.message()) + "; " + std::to_string(wal.frames_beyond) +
                                   " WAL frames behind it cannot be verified; commits from sequence " +
                                   std::to_string(wal.replayed.end.sequence) + " on are lost");
    damage.offset = wal.break_offset;
    const uint64_t end = wal.replayed.end.position;
    damage.bytes = wal.beyond_end > end ? wal.beyond_end - end : 0;
    damage.loses_entries = true;
  } else if (!wal.replayed.report.empty()) {
    Note(wal.replayed.report);
  }
  // Tables are flushed from changes in the WAL. So a table with a newer change than the WAL shows that the
  // WAL has lost its end.
  const kv::Sequence largest = result_.loaded ? LargestSequence(*result_.loaded->version) : 0;
  if (wal.verdict.ok() && largest > last_sequence_) {
    Report(wal.break_file, "a table holds sequence " + std::to_string(largest) +
                               ", but the last sequence of MANIFEST and WAL is " + std::to_string(last_sequence_) +
                               ": the end of the WAL is lost")
        .loses_entries = true;
  }
}

// ---- the rest -------------------------------------------------------------------------------------------------------

void Inspector::NoteTheRest() {
  if (result_.has_marker)
    Report(format::PrintFileName(FileKind::kRepair),
           "a repair was interrupted; run `mergedb repair " + input_.directory + "` again");
  for (const std::string& name : result_.names) {
    const auto parsed = format::ParseFileName(name);
    if (!parsed) {
      if (name != format::kLostDirectory && name != db::EventLog::kName && name != db::EventLog::kOldName)
        Note(base::Escape(name, 256) + ": not a file of mergedb");
      continue;
    }
    if (parsed->kind == FileKind::kManifest && result_.loaded && parsed->number != result_.loaded->manifest) {
      NoteUnnamed(name, "CURRENT");
    }
    const bool is_told = parsed->kind == FileKind::kTable || parsed->kind == FileKind::kBlobFile ||
                         parsed->kind == FileKind::kCurrent || parsed->kind == FileKind::kStaging ||
                         parsed->kind == FileKind::kSegment || parsed->kind == FileKind::kLive;
    if (!is_told && input_.file_system->SizeOf(PathOf(name)).status().IsInvalidArgument())
      Report(name, "not a regular file");
  }
}

}  // namespace

Result<Inspection> Inspect(const InspectionInput& input) { return Inspector(input).Run(); }

Status CheckIsDatabase(FileSystem* file_system, const std::string& directory) {
  RETURN_IF_ERROR(db::CheckIsDirectory(file_system, directory));
  RETURN_IF_ERROR(db::CheckIsNotLmdb(file_system, directory));
  ASSIGN_OR_RETURN(const auto names, file_system->List(directory));
  bool is_database = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    const auto parsed = format::ParseFileName(name);
    return parsed && parsed->kind != FileKind::kLock && parsed->kind != FileKind::kCurrentTemporary &&
           parsed->kind != FileKind::kLive;
  });
  if (!is_database) {  // its files may have names of another database
    ASSIGN_OR_RETURN(const db::Inventory inventory, db::TakeInventory(file_system, directory));
    const Status adopted = db::AdoptFiles(file_system, directory, inventory, nullptr, false).status();
    if (adopted.IsIOError() || adopted.IsBusy()) return adopted;
    is_database = adopted.IsNotSupported();
  }
  if (!is_database) return Status::NotFound(directory + ": no database");
  // A CURRENT that cannot be read is damage that the inspection reports.
  return db::CheckIsNotForeign(file_system, directory);
}

Result<std::unique_ptr<FileLock>> LockForRepair(FileSystem* file_system, const std::string& directory,
                                                bool may_create) {
  const std::string path = format::FilePath(directory, FileKind::kLock);
  if (!may_create && !file_system->SizeOf(path)) return std::unique_ptr<FileLock>();
  auto lock = db::LockDatabase(file_system, directory);
  if (lock || may_create || lock.error().IsBusy()) return lock;
  return std::unique_ptr<FileLock>();  // the file system is read-only, so no other process writes either
}

}  // namespace mergedb::repair
