// Repair. At any time the directory holds either the files that were found or the files that the repair made of them:
//
//   lock -> inspection -> REPAIR -> new tables -> new MANIFEST, CURRENT -> the rest to lost/ -> report -> remove REPAIR
//           |             |         written beside the old files         |
//           |             from here on DB::Open refuses the directory    from here on the new state is complete
//           changes nothing
//
// A repair that was interrupted starts again from its beginning. Before the new CURRENT it finds what the
// first repair found, and new tables that no MANIFEST names. After the new CURRENT it finds an intact
// database and only removes leftovers.
#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "base/bytes.h"
#include "compaction/flush_job.h"
#include "db/recovery/import.h"
#include "db/state/integrity.h"
#include "db/state/lost_directory.h"
#include "db/state/store.h"
#include "db/state/tree.h"
#include "env/copy_file.h"
#include "env/file_reads.h"
#include "format/keyspace_record.h"
#include "manifest/manifest.h"
#include "repair/inspection.h"
#include "repair/rebuild.h"
#include "repair/table_copies.h"
#include "table/reader.h"
#include "version/data_files.h"
#include "version/version_builder.h"

namespace mergedb::repair {
namespace {

using format::FileKind;

constexpr size_t kMarkerBytesMax = size_t{1} << 20;

LooseTable LooseTableOf(const TableFinding& finding) {
  LooseTable table{.meta = finding.meta, .compacted_ranges = finding.compacted_ranges};
  for (const table::Flaw& flaw : finding.flaws) {
    if (flaw.loses_entries) table.lost_ranges.push_back({.smallest = flaw.smallest, .largest = flaw.largest});
  }
  for (const Damage& lost : finding.lost_values) {
    table.lost_ranges.push_back({.smallest = lost.smallest_key, .largest = lost.largest_key});
  }
  return table;
}

class Repairer : private compaction::FileOwner {
 public:
  Repairer(const Options& checked, const std::string& path, Inspection inspection, db::LostDirectory lost,
           const RepairOptions& repair);

  Status Run();
  RepairReport TakeReport() { return std::move(report_); }

 private:
  kv::FileNumber AllocateNumber() override { return kv::FileNumber{next_file_++}; }
  Status Begin();
  Status SaveTables();
  std::vector<format::VersionEdit::AddBlobFile> WholeBlobFiles() const;
  Status SaveWal();
  Status MakeTree();
  Status MakeTreeOfManifest();
  Status MakeTreeOfTables();
  Status Commit();
  Status KeepOldCurrent();
  Status FindKeyMarker();
  Status SyncNewFiles();
  Status SyncFile(const format::DescribedFile& file);
  format::VersionEdit Describe() const;
  Status MakeMarker();
  Status MoveToLost();
  bool Stays(const std::string& name) const;
  // True for a directory or another non-regular file. WHY not every error of SizeOf: the file may be readable
  // the next time, and the new MANIFEST names it.
  bool IsNoFile(const std::string& name) const { return files_->SizeOf(PathOf(name)).status().IsInvalidArgument(); }
  Status End();
  std::string Text() const;

  bool is_dry() const { return repair_.dry_run; }
  bool has_manifest() const { return found_.loaded.has_value(); }
  void Act(std::string action) { report_.actions.push_back(std::move(action)); }
  std::string PathOf(std::string_view name) const { return format::JoinPath(store_->directory, name); }
  static std::string NameOf(FileKind kind, kv::FileNumber number = {}) { return format::PrintFileName(kind, number); }
  CopyContext CopyFrom() const {
    return {.factory = factory_,
            .compression = store_->options.compression,
            .blob_files = found_.blob_files,
            .compacted_inputs = compacted_inputs_ ? &*compacted_inputs_ : nullptr};
  }
  Status Advance() const {
    if (!repair_.progress || repair_.progress(found_.report.bytes, found_.report.bytes)) return {};
    return Status::Aborted(store_->directory + ": cancelled by the progress callback");
  }

  const std::shared_ptr<db::Store> store_;
  FileSystem* const files_;
  const Inspection found_;
  db::LostDirectory lost_;
  const RepairOptions& repair_;
  RepairReport report_;

  uint64_t next_file_ = 0;
  kv::FileNumber first_new_{};
  compaction::TableFactory factory_;
  std::map<kv::FileNumber, LooseTable> tables_;      // usable tables, by their original number
  std::vector<LooseTable> found_tables_;             // the same tables, as found
  std::optional<CompactedInputs> compacted_inputs_;  // of found_tables_; only without a MANIFEST
  std::vector<format::FileMetaPtr> log_tables_;      // oldest first
  kv::Sequence last_sequence_ = 0;
  version::VersionPtr version_ = std::make_shared<const version::Version>();
  kv::Position next_position_{1};
  std::optional<std::string> key_marker_;
  std::optional<kv::FileNumber> manifest_;
};

Repairer::Repairer(const Options& checked, const std::string& path, Inspection inspection, db::LostDirectory lost,
                   const RepairOptions& repair)
    : store_(std::make_shared<db::Store>(checked, path)),
      files_(checked.env.file_system),
      found_(std::move(inspection)),
      lost_(std::move(lost)),
      repair_(repair),
      factory_(db::FactoryFor(*store_, store_->directory, *this)) {
  factory_.blob_value_bytes_min = 0;  // values stay in the tables
  next_file_ = std::max(kv::ToInt(found_.inventory.largest), kv::ToInt(lost_.largest())) + 1;
  if (has_manifest()) {
    next_file_ = std::max(next_file_, kv::ToInt(found_.loaded->next_file));
    next_position_ = found_.loaded->next_position;
    last_sequence_ = found_.loaded->last_sequence;
    for (const std::string& name : found_.loaded->merge_operators) store_->operator_names.Add(name);
    key_marker_ = found_.loaded->key_marker;
  }
  for (const std::string& name : found_.merge_operators) store_->operator_names.Add(name);
  first_new_ = kv::FileNumber{next_file_};
  report_.damages = found_.report.damages;
  report_.notes = found_.report.notes;
  // WHY not the damages of blob files: the lost values of the tables say the same with their keys.
  const auto& of_blob_files = found_.damages_of_blob_files;
  for (size_t i = 0; i < report_.damages.size(); ++i) {
    const bool is_said = std::find(of_blob_files.begin(), of_blob_files.end(), i) != of_blob_files.end();
    if (report_.damages[i].loses_entries && !is_said) report_.losses.push_back(report_.damages[i]);
  }
}

Status Repairer::Run() {
  if (report_.damages.empty()) return {};
  RETURN_IF_ERROR(store_->events.status());
  RETURN_IF_ERROR(Begin());
  RETURN_IF_ERROR(SaveTables());
  RETURN_IF_ERROR(SaveWal());
  RETURN_IF_ERROR(MakeTree());
  RETURN_IF_ERROR(Commit());
  RETURN_IF_ERROR(MoveToLost());
  return End();
}

// From here on DB::Open refuses the directory until the repair is complete. The marker REPAIR holds the
// findings, in case the first report is never written.
Status Repairer::Begin() {
  const std::string marker = NameOf(FileKind::kRepair);
  const auto bytes = files_->SizeOf(PathOf(marker));
  if (bytes) {
    ASSIGN_OR_RETURN(const std::string text, env::ReadBeginning(files_, PathOf(marker), kMarkerBytesMax));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      if (!line.empty()) report_.notes.push_back("an interrupted repair found: " + line);
    return {};
  }
  const bool is_no_file = bytes.error().IsInvalidArgument();
  if (!is_no_file && !bytes.error().IsNotFound()) return bytes.error();
  if (is_dry()) return {};
  RETURN_IF_ERROR(lost_.Create());
  if (is_no_file) RETURN_IF_ERROR(lost_.Move(marker));
  Status made = MakeMarker();
  // WHY: nothing has changed yet, so the database need not stay closed until a repair succeeds.
  if (!made.ok()) (void)files_->Remove(PathOf(marker));
  return made;
}

Status Repairer::MakeMarker() {
  RETURN_IF_ERROR(env::WriteNewFile(files_, PathOf(NameOf(FileKind::kRepair)), Text()));
  return files_->SyncDirectory(store_->directory);
}

// ---- usable data ----------------------------------------------------------------------------------------------------

Status Repairer::SaveTables() {
  for (const auto& [number, finding] : found_.tables) {
    if (finding.meta != nullptr && (finding.is_whole() || finding.is_of_use()))
      found_tables_.push_back(LooseTableOf(finding));
  }
  if (!has_manifest()) compacted_inputs_.emplace(store_->order, found_tables_);
  for (const LooseTable& found : found_tables_) {
    const kv::FileNumber number = found.meta->number;
    const TableFinding& finding = found_.tables.at(number);
    LooseTable taken = found;
    if (!finding.is_whole()) {
      Act(NameOf(FileKind::kTable, number) + ": its " + std::to_string(finding.entries) +
          " intact entries go into a new table");
      report_.entries_saved += finding.entries;
      taken.made_as = number;
      if (is_dry()) {
        auto planned = std::make_shared<format::FileMeta>(*found.meta);
        std::erase_if(planned->values, [&](const auto& share) { return !found_.blob_files.IsWhole(share.file); });
        taken.meta = std::move(planned);
      } else {
        ASSIGN_OR_RETURN(taken.meta, CopyTable(CopyFrom(), found, finding.range_tombstones, finding.entries));
        RETURN_IF_ERROR(Advance());
      }
    }
    if (taken.meta != nullptr) tables_[number] = std::move(taken);
  }
  return {};
}

// The intact blob files. The tree takes those to which its tables refer.
std::vector<format::VersionEdit::AddBlobFile> Repairer::WholeBlobFiles() const {
  std::vector<format::VersionEdit::AddBlobFile> whole;
  for (const auto& [number, finding] : found_.blob_files.found()) {
    if (found_.blob_files.IsWhole(number)) whole.push_back({finding.meta});
  }
  return whole;
}

Status Repairer::SaveWal() {
  if (!found_.origin) return {};
  const uint64_t frames = found_.wal.replayed.frames;
  if (frames > 0) Act("the WAL's " + std::to_string(frames) + " intact frames go into new tables");
  if (is_dry() || frames == 0) return {};
  const auto flush = [&](std::shared_ptr<memtable::Memtable>* full) -> Status {
    iterator::CompactionIteratorCounts counts;
    format::FileMetaPtr table;
    if (has_manifest()) {  // the factory writes no blob files
      ASSIGN_OR_RETURN(auto flushed,
                       compaction::Flush(factory_, **full, {}, store_->options.compression.upper, &counts));
      table = std::move(flushed.table);
    } else {
      ASSIGN_OR_RETURN(table, CopyLogged(CopyFrom(), **full));
    }
    *full = nullptr;
    if (table == nullptr) return {};
    report_.entries_saved += table->entries;
    log_tables_.push_back(std::move(table));
    return Advance();
  };
  ASSIGN_OR_RETURN(auto salvaged,
                   db::SalvageWal(*store_, *found_.origin, has_manifest() ? &*found_.loaded : nullptr, flush));
  if (salvaged.wal.replayed.frames != frames) {
    return Status::IOError(store_->directory + ": of the WAL's " + std::to_string(frames) + " intact frames " +
                           std::to_string(salvaged.wal.replayed.frames) +
                           " could be read a second time; run the repair again");
  }
  for (auto& memtable : salvaged.replayed.memtables) RETURN_IF_ERROR(flush(&memtable));
  last_sequence_ = std::max(last_sequence_, salvaged.replayed.last_sequence);
  return {};
}

// ---- the tree -------------------------------------------------------------------------------------------------------

Status Repairer::MakeTree() {
  RETURN_IF_ERROR(has_manifest() ? MakeTreeOfManifest() : MakeTreeOfTables());
  const bool loses_tables = std::any_of(found_.tables.begin(), found_.tables.end(),
                                        [](const auto& each) { return each.second.loses_entries(); });
  if (loses_tables) {
    report_.notes.push_back(
        "where entries of tables are lost, older versions of their keys, also deleted ones, may be visible again");
  }
  return {};
}

// The runs of the MANIFEST with their usable tables, and the tables of the WAL on top.
Status Repairer::MakeTreeOfManifest() {
  const kv::Order& order = store_->order;
  format::VersionEdit edit;
  for (const auto& run : found_.loaded->version->runs()) {
    for (const version::VirtualTable& virtual_table : run->virtual_tables()) {
      const auto taken = tables_.find(virtual_table.file->number);
      if (taken == tables_.end()) continue;
      auto shown = version::Clip(order, taken->second.meta, virtual_table.bounds);
      if (!shown) continue;
      edit.adds.push_back(
          {.position = run->position(), .level = run->level(), .file = shown->file, .bounds = shown->bounds});
    }
  }
  for (const auto& table : log_tables_) {
    edit.adds.push_back({.position = next_position_, .level = 0, .file = table, .bounds = {}});
    next_position_ = kv::Position{kv::ToInt(next_position_) + 1};
  }
  edit.blob_files = WholeBlobFiles();
  ASSIGN_OR_RETURN(version_, version::ApplyEdit(order, version::Version(), edit));
  return {};
}

Status Repairer::MakeTreeOfTables() {
  report_.notes.push_back(
      "without a MANIFEST, the entry with the largest sequence of each key counts; commits may be incomplete, and "
      "entries "
      "that compactions had dropped may be visible again where the inputs of the compactions were still on disk");
  std::vector<LooseTable> loose;
  for (const auto& [number, taken] : tables_) loose.push_back(taken);
  for (const auto& table : log_tables_) loose.push_back({.meta = table, .made_as = kv::FileNumber{0}});
  Rebuilt rebuilt = PlanRebuild(store_->order, loose);
  Act(std::to_string(rebuilt.kept.size()) + " tables stay unchanged, " + std::to_string(rebuilt.merged.size()) +
      " are merged into new tables");
  if (is_dry()) return {};
  ASSIGN_OR_RETURN(rebuilt, Rebuild(factory_, loose, store_->options.compression.bottom, [this] { return Advance(); }));
  format::VersionEdit edit;
  for (auto* metas : {&rebuilt.kept, &rebuilt.made}) {
    for (const auto& meta : *metas) {
      edit.adds.push_back({.position = next_position_, .level = format::kBottommostLevel, .file = meta, .bounds = {}});
    }
  }
  next_position_ = kv::Position{kv::ToInt(next_position_) + 1};
  edit.blob_files = WholeBlobFiles();
  ASSIGN_OR_RETURN(version_, version::ApplyEdit(store_->order, version::Version(), edit));
  return {};
}

// ---- the new state --------------------------------------------------------------------------------------------------

Status Repairer::Commit() {
  Act("a new MANIFEST and a new CURRENT are written");
  if (is_dry()) return {};
  RETURN_IF_ERROR(SyncNewFiles());
  if (!key_marker_) RETURN_IF_ERROR(FindKeyMarker());
  RETURN_IF_ERROR(KeepOldCurrent());
  const format::VersionEdit edit = Describe();
  manifest::Manifest manifest({.file_system = files_,
                               .directory = store_->directory,
                               .database_id = *edit.database_id,
                               .allocate_number = [this] { return AllocateNumber(); }});
  RETURN_IF_ERROR(manifest.Commit(edit));
  manifest_ = manifest.number();
  return {};
}

// Keeps a wrong CURRENT in lost/ as evidence.
// WHY a copy of one that names a MANIFEST: CURRENT stays until the rename of Commit replaces it. If this
// repair fails before that, the next repair needs CURRENT to reject the same MANIFEST again.
Status Repairer::KeepOldCurrent() {
  const std::vector<std::string>& names = found_.names;
  const auto is_there = [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); };
  const std::string current = NameOf(FileKind::kCurrent), temporary = NameOf(FileKind::kCurrentTemporary);
  if (found_.current && !found_.is_current_right) {
    RETURN_IF_ERROR(lost_.WriteText(current, manifest::EncodeCurrent(*found_.current)));
  } else if (!found_.current && is_there(current)) {
    RETURN_IF_ERROR(lost_.Move(current));
  }
  if (is_there(temporary)) RETURN_IF_ERROR(lost_.Move(temporary));
  return lost_.Sync();  // before the new CURRENT makes the moves durable
}

// Without a MANIFEST the first record of the keyspace list, if it still exists, shows whether there are
// keyspaces (docs/formats/keyspaces.md). Of several keys that look like this record, the one with the
// shortest marker is used: the others may be keys of the program.
Status Repairer::FindKeyMarker() {
  for (const auto& meta : version_->file_metas()) {
    ASSIGN_OR_RETURN(auto reader, table::Reader::Open(files_, format::TablePath(store_->directory, meta->number), meta,
                                                      store_->order, nullptr));
    const auto entries = reader->NewScanIterator();
    for (entries->SeekToFirst(); entries->Valid(); entries->Next()) {
      auto marker = format::ReservedPrefixOfNextIdKey(entries->entry().key);
      if (marker && (!key_marker_ || marker->size() < key_marker_->size())) key_marker_ = std::move(marker);
    }
    RETURN_IF_ERROR(entries->status());
    RETURN_IF_ERROR(Advance());
  }
  if (key_marker_)
    report_.notes.push_back("keyspaces: the prefix of their keys, 0x" + base::ToHex(*key_marker_) +
                            ", comes from a keyspace record");
  return {};
}

// Syncs the files that the new MANIFEST names and the old one did not: they may never have been synced.
Status Repairer::SyncNewFiles() {
  // files are synced when they are written
  if (files_->is_append_only()) return files_->SyncDirectory(store_->directory);
  for (const format::DescribedFile& file : version::DataFilesOf(*version_)) {
    if (has_manifest() && (file.kind == FileKind::kBlobFile || file.number < first_new_)) continue;
    RETURN_IF_ERROR(SyncFile(file));
  }
  return files_->SyncDirectory(store_->directory);
}

// After a failed sync, a copy replaces the file. WHY: it is unknown which of its pages are on disk, and a
// second sync, also of the next repair, could return OK.
Status Repairer::SyncFile(const format::DescribedFile& file) {
  const std::string path = file.PathIn(store_->directory);
  ASSIGN_OR_RETURN(auto opened, files_->Open(path, {.access = Access::kReadWrite}));
  Status status = opened->Sync();
  if (status.ok()) return opened->Close();
  Act(NameOf(file.kind, file.number) + ": a sync failed; the file was replaced by a copy");
  const std::string copy = PathOf(NameOf(FileKind::kRecycled, AllocateNumber()));
  status = env::CopyFile(files_, path, copy);
  if (status.ok()) status = db::CheckFile(files_, copy, file, store_->order);
  if (status.ok()) status = files_->Rename(copy, path);
  if (!status.ok()) (void)files_->Remove(copy);
  return status;
}

// A new epoch with an empty WAL: all changes of the WAL are in tables.
format::VersionEdit Repairer::Describe() const {
  format::VersionEdit edit = version::VersionEditFromEmpty(*version_);
  uint64_t database_id = has_manifest() ? found_.loaded->database_id : found_.origin ? found_.origin->database_id : 0;
  while (database_id == 0) database_id = store_->options.env.entropy();
  const uint64_t epoch =
      std::max(has_manifest() ? found_.loaded->wal_start.epoch : 0, found_.origin ? found_.origin->epoch : 0) + 1;
  const uint64_t salt = store_->options.env.entropy();
  kv::Sequence last = last_sequence_;
  for (const auto& meta : version_->file_metas()) last = std::max(last, meta->largest_sequence);
  const wal::Mark first = wal::FirstMark(salt, std::min(last + 1, kv::kSequenceMax));
  edit.database_id = database_id;
  edit.comparator = std::string(store_->order.comparator()->Name());
  edit.key_marker = key_marker_;
  edit.next_file = kv::FileNumber{next_file_ + 1};  // one more for the MANIFEST itself
  edit.next_position = next_position_;
  edit.last_sequence = first.sequence - 1;
  edit.wal_start = format::VersionEdit::WalStart{
      .epoch = epoch, .salt = salt, .position = first.position, .chain = first.chain, .sequence = first.sequence};
  edit.wal_durable = 0;
  edit.wal_segments.emplace();
  edit.clean_wal_end = 0;
  if (auto names = store_->operator_names.List(); !names.empty()) edit.merge_operators = std::move(names);
  return edit;
}

bool Repairer::Stays(const std::string& name) const {
  const auto parsed = format::ParseFileName(name);
  if (!parsed) return true;
  switch (parsed->kind) {
    case FileKind::kTable: return version_->files().contains(parsed->number) && !IsNoFile(name);
    case FileKind::kBlobFile: return version_->FindBlobFile(parsed->number) != nullptr;
    case FileKind::kManifest: return manifest_ && parsed->number == *manifest_;
    case FileKind::kSegment:
    case FileKind::kStaging:
      // All their changes are in the tree, and the next open overwrites them. After an interruption it is
      // unknown to which state they belong.
      return has_manifest() && found_.is_wal_whole() && !found_.has_marker;
    case FileKind::kRecycled: return !IsNoFile(name);  // recycled before the damage
    case FileKind::kLock:
    case FileKind::kRepair:
    case FileKind::kImport:
    case FileKind::kKeep:
    case FileKind::kLive: return true;
    case FileKind::kCurrent:
    case FileKind::kCurrentTemporary: return true;  // Commit has replaced or moved them
  }
  return true;
}

Status Repairer::MoveToLost() {
  if (is_dry()) {
    for (const auto& [number, finding] : found_.tables) {
      if (finding.is_there && !finding.is_whole())
        Act(NameOf(FileKind::kTable, number) + " -> " + lost_.TargetOf(NameOf(FileKind::kTable, number)));
    }
    for (const auto& [number, finding] : found_.blob_files.found()) {
      if (finding.verdict.ok() || finding.verdict.IsNotFound()) continue;
      Act(NameOf(FileKind::kBlobFile, number) + " -> " + lost_.TargetOf(NameOf(FileKind::kBlobFile, number)));
    }
    for (const std::string& name : found_.names) {
      const auto parsed = format::ParseFileName(name);
      const bool is_of_state = parsed && (parsed->kind == FileKind::kManifest || parsed->kind == FileKind::kSegment ||
                                          parsed->kind == FileKind::kStaging);
      if (is_of_state && !Stays(name)) Act(name + " -> " + lost_.TargetOf(name));
    }
    return {};
  }
  ASSIGN_OR_RETURN(auto names, files_->List(store_->directory));
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (Stays(name)) continue;
    const auto parsed = format::ParseFileName(name);
    if (parsed->kind == FileKind::kTable && parsed->number >= first_new_) {  // an intermediate table of this repair
      RETURN_IF_ERROR(files_->Remove(PathOf(name)));
      continue;
    }
    Act(name + " -> " + lost_.TargetOf(name));
    RETURN_IF_ERROR(lost_.Move(name));
  }
  return {};
}

Status Repairer::End() {
  if (is_dry()) return {};
  RETURN_IF_ERROR(lost_.Sync());
  RETURN_IF_ERROR(lost_.WriteText("report.txt", Text()));
  RETURN_IF_ERROR(lost_.Sync());
  RETURN_IF_ERROR(files_->Remove(PathOf(NameOf(FileKind::kRepair))));
  return files_->SyncDirectory(store_->directory);
}

std::string Repairer::Text() const {
  std::string text = "found:\n";
  for (const Damage& damage : report_.damages) text += "  " + ToText(damage) + "\n";
  text += "lost:\n";
  for (const Damage& loss : report_.losses) text += "  " + ToText(loss) + "\n";
  text += "actions:\n";
  for (const std::string& action : report_.actions) text += "  " + action + "\n";
  text += "notes:\n";
  for (const std::string& note : report_.notes) text += "  " + note + "\n";
  return text;
}

}  // namespace
}  // namespace mergedb::repair

namespace mergedb {

Result<RepairReport> Repair(const Options& options, const std::string& path, const RepairOptions& repair) {
  Options checked = options;
  RETURN_IF_ERROR(db::CheckOptions(&checked));
  // before the lock, which would create LOCK in a foreign directory
  RETURN_IF_ERROR(repair::CheckIsDatabase(checked.env.file_system, path));
  ASSIGN_OR_RETURN(const auto bound, db::BindDirectory(&checked, path));
  FileSystem* const files = checked.env.file_system;
  ASSIGN_OR_RETURN(const auto lock, repair::LockForRepair(files, path, !repair.dry_run));
  RETURN_IF_ERROR(db::CheckIsNotLmdb(files, path, lock != nullptr));
  ASSIGN_OR_RETURN(const db::Inventory inventory, db::TakeInventory(files, path));
  ASSIGN_OR_RETURN(const bool is_adopted, db::AdoptFiles(files, path, inventory, nullptr, !repair.dry_run));
  ASSIGN_OR_RETURN(db::LostDirectory lost, db::LostDirectory::Look(files, path));
  ASSIGN_OR_RETURN(auto inspection, repair::Inspect({.file_system = files,
                                                     .directory = path,
                                                     .order = kv::Order(checked.comparator),
                                                     .progress = repair.progress}));
  repair::Repairer repairer(checked, path, std::move(inspection), std::move(lost), repair);
  RETURN_IF_ERROR(repairer.Run());
  RepairReport report = repairer.TakeReport();
  if (is_adopted) report.actions.emplace(report.actions.begin(), db::kFilesAdopted);
  return report;
}

}  // namespace mergedb
