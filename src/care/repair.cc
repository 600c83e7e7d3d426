// Repair, from top to bottom. The directory is never without either what was found or what was made of it:
//
//   lock -> diagnosis -> REPAIR -> new tables -> new MANIFEST, CURRENT -> what does not count any more to lost/ -> report -> no REPAIR
//            |           |         written beside what is there             |
//            |           nobody opens it from here on                       from here on the new state is complete
//            changes nothing
//
// A repair that was interrupted is done again from its beginning: before the new CURRENT it finds what the first one found, and
// tables of it that nobody names; afterwards it finds a whole database and has only to tidy up.
#include <algorithm>
#include <map>
#include <utility>

#include "care/aside.h"
#include "care/diagnosis.h"
#include "care/rebuild.h"
#include "compaction/flush.h"
#include "db/store.h"
#include "manifest/manifest.h"
#include "tree/version_builder.h"

namespace mergedb::care {
namespace {

using format::FileKind;

constexpr size_t kMarkerBytesMax = size_t{1} << 20;

class Repairer {
 public:
  Repairer(const Options& checked, const std::string& path, Diagnosis diagnosis, Aside aside, const RepairOptions& repair);

  Status Run();
  RepairReport TakeReport() { return std::move(report_); }

 private:
  struct Taken {  // of one table: whole, now
    format::FileMetaPtr meta;
    std::optional<format::Settled> settled;
  };

  Status Begin();
  Status SaveTables();
  Result<format::FileMetaPtr> SaveTable(kv::FileNumber number, const TableFinding& finding);
  Status SaveLog();
  Status MakeTree();
  Status MakeTreeOfManifest();
  Status MakeTreeOfTables();
  Status Commit();
  Status SyncNewTables();
  format::Edit Describe() const;
  Status MoveAside();
  bool Stays(const std::string& name) const;
  Status End();
  std::string Text() const;

  bool is_dry() const { return repair_.dry_run; }
  bool has_manifest() const { return found_.loaded.has_value(); }
  void Act(std::string action) { report_.actions.push_back(std::move(action)); }
  std::string PathOf(std::string_view name) const { return format::JoinPath(store_->directory, name); }
  static std::string NameOf(FileKind kind, kv::FileNumber number = {}) { return format::PrintFileName(kind, number); }
  Status Advance() const {
    if (!repair_.progress || repair_.progress(found_.report.bytes, found_.report.bytes)) return {};
    return Status::Aborted(store_->directory + ": given up on request");
  }

  const std::shared_ptr<db::Store> store_;
  FileSystem* const files_;
  const Diagnosis found_;
  Aside aside_;
  const RepairOptions& repair_;
  RepairReport report_;

  uint64_t next_file_ = 0;
  kv::FileNumber first_new_{};
  compaction::TableFactory factory_;
  std::map<kv::FileNumber, Taken> tables_;           // by the number that they had; what can be used of them
  std::vector<format::FileMetaPtr> log_tables_;      // oldest first
  kv::Sequence last_sequence_ = 0;
  tree::VersionPtr version_ = std::make_shared<const tree::Version>();
  kv::Position next_position_{1};
  std::optional<kv::FileNumber> manifest_;
};

Repairer::Repairer(const Options& checked, const std::string& path, Diagnosis diagnosis, Aside aside, const RepairOptions& repair)
    : store_(std::make_shared<db::Store>(checked, path)),
      files_(checked.env.file_system),
      found_(std::move(diagnosis)),
      aside_(std::move(aside)),
      repair_(repair),
      factory_{.file_system = files_,
               .directory = store_->directory,
               .order = store_->order,
               .bloom_bits_per_key = store_->order.is_bytewise() ? checked.bloom_bits_per_key : 0,
               .block_bytes = checked.block_bytes,
               .allocate_number = [this] { return kv::FileNumber{next_file_++}; },
               .entropy = checked.env.entropy,
               .track = [](const format::FileMetaPtr& meta) { return meta; }} {
  next_file_ = std::max(kv::ToInt(found_.inventory.largest), kv::ToInt(aside_.largest())) + 1;
  if (has_manifest()) {
    next_file_ = std::max(next_file_, kv::ToInt(found_.loaded->next_file));
    next_position_ = found_.loaded->next_position;
    last_sequence_ = found_.loaded->last_sequence;
  }
  first_new_ = kv::FileNumber{next_file_};
  report_.damages = found_.report.damages;
  report_.notes = found_.report.notes;
  for (const Damage& damage : report_.damages) {
    if (damage.loses_entries) report_.losses.push_back(damage);
  }
}

Status Repairer::Run() {
  if (report_.damages.empty()) return {};
  // WHY refused: entries whose values are gone must go as well, and a table that is written anew must say what it refers to.
  if (found_.has_references) {
    return Status::NotSupported(store_->directory + ": values stand in value files, which repair does not know yet; nothing was changed");
  }
  RETURN_IF_ERROR(Begin());
  RETURN_IF_ERROR(SaveTables());
  RETURN_IF_ERROR(SaveLog());
  RETURN_IF_ERROR(MakeTree());
  RETURN_IF_ERROR(Commit());
  RETURN_IF_ERROR(MoveAside());
  return End();
}

// From here on nobody opens the directory until it is whole again. The marker holds what was found, should the first report
// never be written.
Status Repairer::Begin() {
  const std::string marker = NameOf(FileKind::kRepair);
  const auto bytes = files_->SizeOf(PathOf(marker));
  if (bytes) {
    ASSIGN_OR_RETURN(auto file, files_->Open(PathOf(marker), {.access = Access::kRead}));
    std::string text(std::min<uint64_t>(*bytes, kMarkerBytesMax), '\0');
    size_t got = 0;
    RETURN_IF_ERROR(file->ReadAt(0, text.size(), text.data(), &got));
    report_.notes.push_back("an interrupted repair had found:\n" + text.substr(0, got));
    return {};
  }
  if (is_dry()) return {};
  RETURN_IF_ERROR(aside_.Create());
  if (!bytes.error().IsNotFound()) RETURN_IF_ERROR(aside_.Move(marker));  // no file
  ASSIGN_OR_RETURN(auto file, files_->Open(PathOf(marker), {.access = Access::kCreate}));
  RETURN_IF_ERROR(file->WriteAt(0, Text()));
  RETURN_IF_ERROR(file->Sync());
  RETURN_IF_ERROR(file->Close());
  return files_->SyncDirectory(store_->directory);
}

// ---- what can be used --------------------------------------------------------------------------------------------------

Status Repairer::SaveTables() {
  for (const auto& [number, finding] : found_.tables) {
    if (finding.is_whole()) {
      tables_[number] = {finding.meta, finding.settled};
      continue;
    }
    if (!finding.is_there || finding.entries == 0) continue;
    Act(NameOf(FileKind::kTable, number) + ": its " + std::to_string(finding.entries) + " whole entries go into a new table");
    report_.entries_saved += finding.entries;
    // WHY its claims go with its entries: a table that nobody synced may have lost what it says it took in.
    const bool loses = std::any_of(finding.flaws.begin(), finding.flaws.end(), [](const auto& flaw) { return flaw.loses_entries; });
    const std::optional<format::Settled> settled = loses ? std::nullopt : finding.settled;
    if (is_dry()) {
      tables_[number] = {finding.meta, settled};
      continue;
    }
    ASSIGN_OR_RETURN(auto meta, SaveTable(number, finding));
    if (meta != nullptr) tables_[number] = {std::move(meta), settled};
    RETURN_IF_ERROR(Advance());
  }
  return {};
}

// Null if nothing of it is whole any more.
Result<format::FileMetaPtr> Repairer::SaveTable(kv::FileNumber number, const TableFinding& finding) {
  compaction::Outputs outputs(factory_, {.compression = store_->options.compression.bottom});
  const format::FileMetaPtr meta = has_manifest() ? finding.meta : nullptr;
  const auto add = [&](const kv::Entry& entry) { return outputs.Add(entry); };
  RETURN_IF_ERROR(table::Salvage({.file_system = files_, .path = format::TablePath(store_->directory, number), .number = number,
                                  .meta = meta, .order = store_->order}, add).status());
  RETURN_IF_ERROR(outputs.Finish());
  auto made = outputs.Take();
  return made.empty() ? nullptr : made.front();
}

Status Repairer::SaveLog() {
  if (!found_.origin) return {};
  const uint64_t frames = found_.log.replayed.frames;
  if (frames > 0) Act("the log's " + std::to_string(frames) + " whole frames go into new tables");
  if (is_dry() || frames == 0) return {};
  const auto flush = [&](std::shared_ptr<memtable::Memtable>* full) -> Status {
    stream::CollapseCounts counts;
    // The factory separates no values.
    ASSIGN_OR_RETURN(auto flushed, compaction::Flush(factory_, **full, {}, store_->options.compression.upper, &counts));
    *full = nullptr;
    if (flushed.table == nullptr) return {};
    report_.entries_saved += flushed.table->entries;
    log_tables_.push_back(std::move(flushed.table));
    return Advance();
  };
  ASSIGN_OR_RETURN(auto salvaged, db::SalvageLog(*store_, *found_.origin, has_manifest() ? &*found_.loaded : nullptr, flush));
  for (auto& memtable : salvaged.replayed.memtables) RETURN_IF_ERROR(flush(&memtable));
  last_sequence_ = std::max(last_sequence_, salvaged.replayed.last_sequence);
  return {};
}

// ---- the tree ----------------------------------------------------------------------------------------------------------

Status Repairer::MakeTree() {
  RETURN_IF_ERROR(has_manifest() ? MakeTreeOfManifest() : MakeTreeOfTables());
  const bool loses_tables = std::any_of(found_.tables.begin(), found_.tables.end(), [](const auto& each) {
    return std::any_of(each.second.flaws.begin(), each.second.flaws.end(), [](const auto& flaw) { return flaw.loses_entries; });
  });
  if (loses_tables) {
    report_.notes.push_back("where entries of tables are lost, older versions of their keys may show, deleted ones among them");
  }
  return {};
}

// The runs as they were, of what is left of their tables, and the log on top.
Status Repairer::MakeTreeOfManifest() {
  const kv::Order& order = store_->order;
  format::Edit edit;
  for (const auto& run : found_.loaded->version->runs()) {
    for (const tree::Slice& slice : run->slices()) {
      const auto taken = tables_.find(slice.file->number);
      if (taken == tables_.end()) continue;
      auto shown = tree::Clip(order, taken->second.meta, slice.bounds);
      if (!shown) continue;
      edit.adds.push_back({.position = run->position(), .level = run->level(), .file = shown->file, .bounds = shown->bounds});
    }
  }
  for (const auto& table : log_tables_) {
    edit.adds.push_back({.position = next_position_, .level = 0, .file = table, .bounds = {}});
    next_position_ = kv::Position{kv::ToInt(next_position_) + 1};
  }
  ASSIGN_OR_RETURN(version_, tree::ApplyEdit(order, tree::Version(), edit));
  return {};
}

Status Repairer::MakeTreeOfTables() {
  report_.notes.push_back(
      "without a MANIFEST the tables speak for themselves: the largest sequence of a key wins; commits may be there in part, and "
      "what merges had dropped may show again where their inputs were still on disk");
  std::vector<LooseTable> loose;
  for (const auto& [number, taken] : tables_) loose.push_back({taken.meta, taken.settled});
  for (const auto& table : log_tables_) loose.push_back({table, std::nullopt});
  Rebuilt rebuilt = PlanRebuild(store_->order, loose);
  Act(std::to_string(rebuilt.kept.size()) + " tables stay as they are, " + std::to_string(rebuilt.merged.size()) + " are merged anew");
  if (is_dry()) return {};
  ASSIGN_OR_RETURN(rebuilt, Rebuild(factory_, loose, store_->options.compression.bottom, [this] { return Advance(); }));
  format::Edit edit;
  for (auto* metas : {&rebuilt.kept, &rebuilt.made}) {
    for (const auto& meta : *metas) {
      edit.adds.push_back({.position = next_position_, .level = format::kBottomLevel, .file = meta, .bounds = {}});
    }
  }
  next_position_ = kv::Position{kv::ToInt(next_position_) + 1};
  ASSIGN_OR_RETURN(version_, tree::ApplyEdit(store_->order, tree::Version(), edit));
  return {};
}

// ---- the new state -----------------------------------------------------------------------------------------------------

Status Repairer::Commit() {
  Act("a new MANIFEST and CURRENT");
  if (is_dry()) return {};
  RETURN_IF_ERROR(SyncNewTables());
  for (const FileKind kind : {FileKind::kCurrent, FileKind::kCurrentTemporary}) {
    // A CURRENT that is right is replaced in one act; another one is evidence.
    if (kind == FileKind::kCurrent && found_.is_current_right) continue;
    if (std::find(found_.names.begin(), found_.names.end(), NameOf(kind)) != found_.names.end()) {
      RETURN_IF_ERROR(aside_.Move(NameOf(kind)));
      RETURN_IF_ERROR(aside_.Sync());  // before the new name makes its going durable
    }
  }
  const format::Edit edit = Describe();
  manifest::Manifest manifest({.file_system = files_, .directory = store_->directory, .database_id = *edit.database_id,
                               .allocate_number = factory_.allocate_number});
  RETURN_IF_ERROR(manifest.Commit(edit));
  manifest_ = manifest.number();
  return {};
}

Status Repairer::SyncNewTables() {
  for (const auto& meta : version_->file_metas()) {
    if (meta->number < first_new_ || files_->is_append_only()) continue;  // append-only: synced when it was written
    ASSIGN_OR_RETURN(auto file, files_->Open(format::TablePath(store_->directory, meta->number), {.access = Access::kReadWrite}));
    RETURN_IF_ERROR(file->Sync());
    RETURN_IF_ERROR(file->Close());
  }
  return files_->SyncDirectory(store_->directory);
}

// A new epoch, which ends where it begins: all that the log had is in tables.
format::Edit Repairer::Describe() const {
  format::Edit edit = tree::EditFromEmpty(*version_);
  uint64_t database_id = has_manifest() ? found_.loaded->database_id : found_.origin ? found_.origin->database_id : 0;
  while (database_id == 0) database_id = store_->options.env.entropy();
  const uint64_t epoch = std::max(has_manifest() ? found_.loaded->log_start.epoch : 0, found_.origin ? found_.origin->epoch : 0) + 1;
  const uint64_t salt = store_->options.env.entropy();
  kv::Sequence last = last_sequence_;
  for (const auto& meta : version_->file_metas()) last = std::max(last, meta->largest_sequence);
  const log::Mark first = log::FirstMark(salt, std::min(last + 1, kv::kSequenceMax));
  edit.database_id = database_id;
  edit.comparator = std::string(store_->order.comparator()->Name());
  edit.next_file = kv::FileNumber{next_file_ + 1};  // and the MANIFEST itself
  edit.next_position = next_position_;
  edit.last_sequence = first.sequence - 1;
  edit.log_start = format::Edit::LogStart{.epoch = epoch, .salt = salt, .position = first.position, .chain = first.chain,
                                          .sequence = first.sequence};
  edit.log_durable = 0;
  edit.log_segments.emplace();
  edit.clean_log_end = 0;
  return edit;
}

bool Repairer::Stays(const std::string& name) const {
  const auto parsed = format::ParseFileName(name);
  if (!parsed) return true;
  switch (parsed->kind) {
    case FileKind::kTable: return version_->files().contains(parsed->number) && files_->SizeOf(PathOf(name)).has_value();
    case FileKind::kValueFile: return false;  // nothing refers to one
    case FileKind::kManifest: return manifest_ && parsed->number == *manifest_;
    case FileKind::kSegment:
    case FileKind::kStaging:
      // Used up: the next open writes over them. After an interruption nobody knows whose they are.
      return has_manifest() && found_.is_log_whole() && !found_.has_marker;
    case FileKind::kSpare:  // dead before anything was damaged
    case FileKind::kLock:
    case FileKind::kRepair:
    case FileKind::kImport: return true;
    case FileKind::kCurrent:
    case FileKind::kCurrentTemporary: return true;  // Commit has seen to them
  }
  return true;
}

Status Repairer::MoveAside() {
  if (is_dry()) {
    for (const auto& [number, finding] : found_.tables) {
      if (finding.is_there && !finding.is_whole()) Act(NameOf(FileKind::kTable, number) + " -> " + aside_.TargetOf(NameOf(FileKind::kTable, number)));
    }
    return {};
  }
  ASSIGN_OR_RETURN(auto names, files_->List(store_->directory));
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (Stays(name)) continue;
    const auto parsed = format::ParseFileName(name);
    if (parsed->kind == FileKind::kTable && parsed->number >= first_new_) {  // made on the way, merged since
      RETURN_IF_ERROR(files_->Remove(PathOf(name)));
      continue;
    }
    Act(name + " -> " + aside_.TargetOf(name));
    RETURN_IF_ERROR(aside_.Move(name));
  }
  return {};
}

Status Repairer::End() {
  if (is_dry()) return {};
  RETURN_IF_ERROR(aside_.Sync());
  RETURN_IF_ERROR(aside_.WriteText("report.txt", Text()));
  RETURN_IF_ERROR(aside_.Sync());
  RETURN_IF_ERROR(files_->Remove(PathOf(NameOf(FileKind::kRepair))));
  return files_->SyncDirectory(store_->directory);
}

std::string Repairer::Text() const {
  std::string text = "found:\n";
  for (const Damage& damage : report_.damages) text += "  " + ToText(damage) + "\n";
  text += "given up:\n";
  for (const Damage& loss : report_.losses) text += "  " + ToText(loss) + "\n";
  text += "done:\n";
  for (const std::string& action : report_.actions) text += "  " + action + "\n";
  text += "notes:\n";
  for (const std::string& note : report_.notes) text += "  " + note + "\n";
  return text;
}

}  // namespace
}  // namespace mergedb::care

namespace mergedb {

Result<RepairReport> Repair(const Options& options, const std::string& path, const RepairOptions& repair) {
  Options checked = options;
  RETURN_IF_ERROR(db::CheckOptions(&checked));
  FileSystem* const files = checked.env.file_system;
  RETURN_IF_ERROR(care::CheckIsDatabase(files, path));  // a foreign directory gets no LOCK
  ASSIGN_OR_RETURN(const auto lock, care::LockForCare(files, path, !repair.dry_run));
  ASSIGN_OR_RETURN(care::Aside aside, care::Aside::Look(files, path));
  ASSIGN_OR_RETURN(auto diagnosis, care::Diagnose({.file_system = files, .directory = path, .order = kv::Order(checked.comparator),
                                                   .progress = repair.progress}));
  care::Repairer repairer(checked, path, std::move(diagnosis), std::move(aside), repair);
  RETURN_IF_ERROR(repairer.Run());
  return repairer.TakeReport();
}

}  // namespace mergedb
