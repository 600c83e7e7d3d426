// Open, recovery and Destroy. The order of an open:
//
//   LOCK -> (a database of another kind is imported) -> MANIFEST -> check that its tables exist -> WAL -> memtables
//     -> (the source of the import is removed) -> tables -> new epoch, committed -> new WAL
//
// INVARIANT: an open changes nothing that the database needs before the new epoch is durable. An open that
// fails or is interrupted leaves all of that, plus at most some tables of its own, which the next open removes
// as orphans.
#include <algorithm>
#include <map>
#include <utility>

#include "base/assert.h"
#include "db/db_impl.h"
#include "db/import.h"
#include "format/file_name.h"
#include "version/version_builder.h"

namespace mergedb::db {

std::string ParentOf(const std::string& path) {
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.back() == '/') trimmed.pop_back();
  const size_t slash = trimmed.find_last_of('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : trimmed.substr(0, slash);
}

namespace {

// Returns the same tree with tracked files: a file becomes obsolete when its last user releases it.
Result<version::VersionPtr> TrackFiles(const Store& store, const version::Version& version) {
  std::map<kv::FileNumber, format::FileMetaPtr> tracked;
  for (const auto& meta : version.file_metas()) tracked[meta->number] = store.obsolete->Track(meta);
  format::VersionEdit edit = version::VersionEditFromEmpty(version);
  for (auto& add : edit.adds) add.file = tracked[add.file->number];
  for (auto& add : edit.blob_files) add.file = store.obsolete->Track(add.file);
  return version::ApplyEdit(store.order, version::Version(), edit);
}

}  // namespace

DbImpl::DbImpl(std::shared_ptr<Store> store)
    : store_(std::move(store)),
      recycled_files_(store_->options.env.file_system, store_->directory, *store_->obsolete),
      factory_{.file_system = store_->options.env.file_system,
               .directory = store_->directory,
               .order = store_->order,
               .bloom_bits_per_key = store_->order.is_bytewise() ? store_->options.bloom_bits_per_key : 0,
               .filter_policy = store_->supplies.filter_policy,
               .block_bytes = store_->options.block_bytes,
               .keeps_keys_whole = store_->supplies.maps_tables,
               .allocate_number = [this] { return version_set_->AllocateNumber(); },
               .entropy = store_->options.env.entropy,
               .reuse = [this](format::FileKind kind, kv::FileNumber number,
                               uint64_t bytes) { return recycled_files_.Reuse(kind, number, bytes); },
               .track = [this](const format::FileMetaPtr& meta) { return store_->obsolete->Track(meta); },
               .track_values = [this](const format::BlobFilePtr& meta) { return store_->obsolete->Track(meta); },
               .blob_value_bytes_min = store_->options.blob_value_bytes_min,
               .has_readers = [this] { return store_->TakeReadersSeen(); },
               .operators = &store_->operators},
      write_delay_(store_->options.env.clock, store_->options.write_delay_us_max * 1000),
      queue_(*this),
      opened_nanos_(store_->options.env.clock->NowNanos()) {}

Result<std::unique_ptr<DbImpl>> DbImpl::Open(const Options& options, const std::string& path,
                                             const Supplies& supplies) {
  auto opened = OpenOrFail(options, path, supplies);
  if (!opened) return read::WithNextStep(opened.error(), path);
  return opened;
}

Result<std::unique_ptr<DbImpl>> DbImpl::OpenOrFail(const Options& options, const std::string& path,
                                                   const Supplies& supplies) {
  Options checked = options;
  RETURN_IF_ERROR(CheckOptions(&checked));
  FileSystem* const files = checked.env.file_system;
  const bool is_read_only = checked.mode == OpenMode::kReadOnly;
  const bool may_create = checked.mode == OpenMode::kCreateIfMissing || checked.mode == OpenMode::kMustNotExist;

  if (may_create) {
    RETURN_IF_ERROR(files->CreateDirectory(path));
  } else {
    ASSIGN_OR_RETURN(const bool is_directory, files->IsDirectory(path));
    if (!is_directory) {
      const bool is_absent = files->SizeOf(path).status().IsNotFound();
      return is_absent ? Status::NotFound(path + ": no such directory")
                       : Status::InvalidArgument(path + ": not a directory");
    }
  }
  auto store = std::make_shared<Store>(checked, path, supplies);
  std::unique_ptr<DbImpl> database(new DbImpl(store));
  const std::string lock_path = format::JoinPath(path, format::PrintFileName(format::FileKind::kLock));
  const bool makes_lock_file = files->SizeOf(lock_path).status().IsNotFound();
  if (!is_read_only) { ASSIGN_OR_RETURN(database->lock_, files->Lock(lock_path)); }

  auto loaded = manifest::Load(files, path, store->order, DescribeForeignFile);
  // WHY a retry: a writer that replaces the MANIFEST also removes the file that CURRENT named a moment ago.
  for (int i = 0; is_read_only && !loaded && loaded.error().IsCorruption() && i < 10; ++i) {
    loaded = manifest::Load(files, path, store->order, DescribeForeignFile);
  }
  if (!loaded && loaded.error().IsCorruption()) {
    std::string report;
    ASSIGN_OR_RETURN(const bool is_imported, ImportDirectory(*store, &report));
    if (is_imported) loaded = manifest::Load(files, path, store->order, DescribeForeignFile);
    if (is_imported && loaded) loaded->report += report;
  }
  if (!loaded && loaded.error().IsNotFound() && !may_create && !is_read_only && makes_lock_file) {
    // While the lock is held. WHY: an open that finds no database must leave no file in the directory.
    (void)files->Remove(lock_path);
  }
  if (!loaded && (!loaded.error().IsNotFound() || !may_create)) return loaded.error();
  // Load does not recognize a database of another kind that has neither CURRENT nor tables.
  if (!loaded) RETURN_IF_ERROR(CheckIsSupported(files, path));
  if (loaded && checked.mode == OpenMode::kMustNotExist) {
    return Status::InvalidArgument(path + ": a database exists already");
  }
  if (is_read_only) {
    RETURN_IF_ERROR(database->RecoverReadOnly(std::move(*loaded)));
  } else if (loaded) {
    ASSIGN_OR_RETURN(Inventory inventory, TakeInventory(files, path));
    ASSIGN_OR_RETURN(const bool is_adopted, AdoptFiles(files, path, inventory, &*loaded, true));
    if (is_adopted) { ASSIGN_OR_RETURN(inventory, TakeInventory(files, path)); }
    if (inventory.has_repair_marker) return InterruptedRepair(path);
    Status checked_files = CheckFiles(files, path, *loaded->version);
    if (inventory.has_import_marker && checked_files.IsCorruption()) return ImportedIsDamaged(checked_files, path);
    RETURN_IF_ERROR(checked_files);
    RETURN_IF_ERROR(read::OfWrite(database->Recover(*loaded, inventory), path));
  } else {
    RETURN_IF_ERROR(read::OfWrite(database->Create(), path));
  }
  return database;
}

ManifestCommitter::Options DbImpl::CommitterOptions() {
  FileSystem* const files = store_->options.env.file_system;
  return {
      .order = store_->order,
      .database_id = database_id_,
      .files = {.file_system = files,
                .directory = store_->directory,
                .allocate_number = [this] { return version_set_->AllocateNumber(); },
                .check_table = [this, files](const std::string& path, const format::FileMetaPtr& meta) -> Status {
                  ASSIGN_OR_RETURN(auto reader, table::Reader::Open(files, path, meta, store_->order, nullptr));
                  return reader->CheckIntegrity();
                },
                .check_blob_file = [this, files](const std::string& path, const format::BlobFileMeta& meta) -> Status {
                  ASSIGN_OR_RETURN(auto reader, blob::Reader::Open(files, path, meta, store_->order, nullptr));
                  return reader->CheckIntegrity();
                },
                .file_replaced =
                    [this](kv::FileNumber number) {
                      store_->tables->Evict(number);
                      store_->values.Evict(number);
                    }},
      .merge_operators = [this] { return store_->operator_names.List(); },
      .key_marker = store_->key_map() == nullptr ? std::nullopt : std::optional(store_->key_map()->reserved_prefix())};
}

// `version` is the version of the MANIFEST, or empty if there is none.
void DbImpl::MakeVersionSet(version::VersionPtr version, kv::FileNumber next_file, kv::Position next_position,
                            const VersionSet::WalStart& wal_start) {
  version_set_ = std::make_unique<VersionSet>(store_->order, version, next_file, next_position, wal_start);
  committer_ = std::make_unique<ManifestCommitter>(CommitterOptions(), *version_set_, std::move(version));
}

Status DbImpl::Create() {
  const Env& env = store_->options.env;
  ASSIGN_OR_RETURN(const Inventory inventory, TakeInventory(env.file_system, store_->directory));
  do { database_id_ = env.entropy(); } while (database_id_ == 0);
  const uint64_t salt = env.entropy();
  const wal::Mark first = wal::FirstMark(salt, 1);
  const VersionSet::WalStart start{
      .epoch = 1, .salt = salt, .position = first.position, .chain = first.chain, .sequence = 1};
  MakeVersionSet(std::make_shared<const version::Version>(), kv::FileNumber{kv::ToInt(inventory.largest) + 1},
                 kv::Position{1}, start);
  const std::string parent = ParentOf(store_->directory);
  RETURN_IF_ERROR(env.file_system->SyncDirectory(parent));  // rule W5
  RETURN_IF_ERROR(StartWriting(start, {}));
  StartBackground();
  return {};
}

namespace {

// Corruption if a table holds a sequence that neither MANIFEST nor WAL knows: the table is forged, or the WAL
// is another one. New changes would be older than the table, and compactions would keep its tombstones
// forever.
Status CheckNoneNewer(const Store& store, const version::Version& version, kv::Sequence last) {
  for (const auto& file : version.file_metas()) {
    if (file->largest_sequence <= last) continue;
    return Status::Corruption(format::TablePath(store.directory, file->number) + ": has sequence " +
                              std::to_string(file->largest_sequence) +
                              ", but the last sequence of MANIFEST and WAL is " + std::to_string(last));
  }
  return {};
}

}  // namespace

// Takes over the tree of the MANIFEST. New files get numbers from `next_file` on.
Status DbImpl::TakeTree(const manifest::Loaded& loaded, kv::FileNumber next_file) {
  database_id_ = loaded.database_id;
  if (loaded.key_marker) store_->SetKeyMap(std::make_unique<kv::KeyMap>(*loaded.key_marker));
  for (const std::string& name : loaded.merge_operators) store_->operator_names.Add(name);
  ASSIGN_OR_RETURN(version::VersionPtr version, TrackFiles(*store_, *loaded.version));
  MakeVersionSet(std::move(version), next_file, loaded.next_position, loaded.wal_start);
  return {};
}

// Takes over the result of the replay. Sets *last to the newest sequence.
Status DbImpl::InstallReplay(const manifest::Loaded& loaded, const Replayed& replayed, kv::Sequence* last) {
  recovery_report_ = loaded.report + replayed.log.report;
  Logger* const logger = store_->options.env.logger;
  if (logger != nullptr && !recovery_report_.empty()) logger->Log("recovery: " + recovery_report_);
  *last = std::max(loaded.last_sequence, replayed.last_sequence);
  RETURN_IF_ERROR(CheckNoneNewer(*store_, *loaded.version, *last));
  store_->snapshots->Publish(*last);
  return {};
}

Status DbImpl::Recover(const manifest::Loaded& loaded, const Inventory& inventory) {
  const Env& env = store_->options.env;
  // Orphans may have numbers that the lagging MANIFEST does not know.
  uint64_t next_file = std::max(kv::ToInt(loaded.next_file), kv::ToInt(inventory.largest) + 1);
  RETURN_IF_ERROR(TakeTree(loaded, kv::FileNumber{next_file}));

  const auto flush = [&](std::shared_ptr<memtable::Memtable>* full) -> Status {
    iterator::CompactionIteratorCounts counts;
    version_set_->SwitchMemtable(*full, loaded.wal_start);
    version_set_->SwitchMemtable(nullptr, loaded.wal_start);
    ASSIGN_OR_RETURN(auto flushed, compaction::Flush(factory_, **full, {}, store_->options.compression.upper, &counts));
    RETURN_IF_ERROR(version_set_->InstallFlush(flushed.table, flushed.blob_files));
    *full = nullptr;
    return {};
  };
  auto replay = ReplayWal(*store_, loaded, flush);
  kv::Sequence last = 0;
  const Status status = replay ? InstallReplay(loaded, *replay, &last) : replay.error();
  if (!status.ok()) {
    RemoveFilesFrom(kv::FileNumber{next_file});
    return status;
  }
  // WHY here: tables and WAL were read without error, so the source of an import is not needed, and the new epoch
  // may need their space. After a failure the next open removes them.
  if (inventory.has_import_marker) (void)RemoveImportedSource(env.file_system, store_->directory);
  for (auto& memtable : replay->memtables) RETURN_IF_ERROR(flush(&memtable));
  // If the sequences are used up, writes fail, not the open.
  const kv::Sequence next = std::min(last + 1, kv::kSequenceMax);
  const uint64_t salt = env.entropy();
  const wal::Mark first = wal::FirstMark(salt, next);
  const VersionSet::WalStart start{.epoch = loaded.wal_start.epoch + 1,
                                   .salt = salt,
                                   .position = first.position,
                                   .chain = first.chain,
                                   .sequence = next};
  if (!loaded.has_dropped() && !inventory.has_keep_marker) {
    RETURN_IF_ERROR(StartWriting(start, std::move(replay->log.segments)));
    RemoveOrphans(inventory, replay->log.dropped_bytes > 0);
  } else {
    RETURN_IF_ERROR(KeepOrphans(start, inventory, std::move(replay->log)));
  }
  // WHY orphans are removed before background work starts: a compaction takes tables out of the SuperVersion
  // that the lagging MANIFEST still names, and these would look like orphans.
  StartBackground();
  return {};
}

// Called if the WAL turns out to be damaged after a part of it was flushed: removes the new files of the
// failed open.
void DbImpl::RemoveFilesFrom(kv::FileNumber first) {
  committer_ = nullptr;
  version_set_ = nullptr;  // all tables and blob files are released
  for (const auto& obsolete : store_->obsolete->Take()) {
    if (obsolete.number < first) continue;
    // If this fails, the file is an orphan.
    (void)store_->options.env.file_system->Remove(format::FilePath(store_->directory, obsolete.kind, obsolete.number));
  }
}

// The new epoch becomes durable before any file of the old one is overwritten. The MANIFEST records that
// STAGING may hold frames before STAGING holds any.
Status DbImpl::StartWriting(const VersionSet::WalStart& start, std::vector<kv::FileNumber> reusable_segments,
                            const std::function<void()>& before_log) {
  active_ = store_->memtables->NewMemtable(store_->order);
  version_set_->SwitchMemtable(active_, start);
  version_set_->StartEpoch(start);
  RETURN_IF_ERROR(committer_->Commit([](const VersionSet::WalStart&) { return ManifestCommitter::WalFacts{}; },
                                     std::nullopt, nullptr));
  if (before_log) before_log();
  return StartWal(start.epoch, start.salt, start.sequence, std::move(reusable_segments));
}

void DbImpl::StartBackground() noexcept {
  background_ = std::make_shared<Background>(
      Background::Parts{.options = store_->options,
                        .memory = store_->memory,
                        .order = store_->order,
                        .directory = store_->directory,
                        .version_set = *version_set_,
                        .committer = *committer_,
                        .snapshots = *store_->snapshots,
                        .tables = *store_->tables,
                        .values = store_->values,
                        .obsolete = *store_->obsolete,
                        .recycled_files = recycled_files_,
                        .write_delay = write_delay_,
                        .factory = factory_,
                        .wal_facts = [this](const VersionSet::WalStart& from) { return FactsOf(from); },
                        .wal_released =
                            [this](const VersionSet::WalStart& start) {
                              if (const auto log = WalOf(start.epoch)) log->Release(start.position);
                            },
                        .wal_backlog = [this] { return CurrentWal()->backlog(); },
                        .make_standby = [this] { MakeStandby(); },
                        .flush_if_idle = [this] { FlushIfIdle(); }});
  background_->Nudge();
}

Status DbImpl::Destroy(const Options& options, const std::string& path) {
  Options checked = options;
  RETURN_IF_ERROR(CheckOptions(&checked));
  FileSystem* const files = checked.env.file_system;
  const std::string current = format::JoinPath(path, format::PrintFileName(format::FileKind::kCurrent));
  if (auto bytes = files->SizeOf(current); !bytes) {
    return bytes.error().IsNotFound() ? Status::NotFound(path + ": no database") : bytes.error();
  }
  const std::string lock_path = format::JoinPath(path, format::PrintFileName(format::FileKind::kLock));
  ASSIGN_OR_RETURN(auto lock, files->Lock(lock_path));
  ASSIGN_OR_RETURN(const bool is_foreign_removed, RemoveForeign(files, path));
  if (is_foreign_removed) {
    RETURN_IF_ERROR(files->Remove(lock_path));
    (void)files->RemoveDirectory(path);
    return {};
  }
  // WHY an error ends Destroy: if the marker seemed absent, the source of the import would stay.
  const auto import_marker = files->SizeOf(format::JoinPath(path, format::PrintFileName(format::FileKind::kImport)));
  if (!import_marker && !import_marker.error().IsNotFound()) return import_marker.error();
  if (import_marker) RETURN_IF_ERROR(RemoveImportedSource(files, path));
  ASSIGN_OR_RETURN(const auto names, files->List(path));
  // CURRENT is removed last: an interrupted Destroy leaves a damaged database, which a second Destroy
  // removes.
  for (const std::string& name : names) {
    const auto parsed = format::ParseFileName(name);
    if (!parsed || parsed->kind == format::FileKind::kLock || parsed->kind == format::FileKind::kCurrent) continue;
    RETURN_IF_ERROR(files->Remove(format::JoinPath(path, name)));
  }
  RETURN_IF_ERROR(files->Remove(current));
  RETURN_IF_ERROR(files->Remove(lock_path));
  (void)files->RemoveDirectory(path);  // fails if the directory holds anything else
  return {};
}

}  // namespace mergedb::db
