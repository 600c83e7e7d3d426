// Open and Destroy. The order of an open:
//
//   LOCK -> (a database of another kind is imported) -> MANIFEST -> check that its tables exist -> WAL -> memtables
//     -> (the source of the import is removed) -> tables -> new epoch, committed -> new WAL
//
// INVARIANT: an open changes nothing that the database needs before the new epoch is durable.
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/elf_note.h"
#include "db/background/reads_to_background.h"
#include "db/db_impl.h"
#include "db/full_disk.h"
#include "db/recovery/import.h"
#include "db/recovery/orphans.h"
#include "db/recovery/recovered_tree.h"
#include "db/replaced_files.h"
#include "env/executor.h"
#include "format/file_name.h"
#include "read/next_step.h"

namespace mergedb::db {
namespace {

Status PrepareDirectory(FileSystem* files, const std::string& path, bool may_create) {
  return may_create ? files->CreateDirectory(path) : CheckIsDirectory(files, path);
}

Result<manifest::Loaded> LoadManifest(const Store& store) {
  const auto load = store.options.mode == OpenMode::kReadOnly ? manifest::LoadBesideWriter : manifest::Load;
  return load(store.options.env.file_system, store.directory, store.order, DescribeForeignFile);
}

// The MANIFEST is damaged. If that is because the database is of another kind, imports it and loads the result.
Status ImportInto(const Store& store, Result<manifest::Loaded>* loaded) {
  std::string report;
  ASSIGN_OR_RETURN(const bool is_imported, ImportDirectory(store, &report));
  if (!is_imported) return {};
  *loaded = LoadManifest(store);
  if (*loaded) (*loaded)->report += report;
  store.events.Emit(EventKind::kImport, [&] { return EventFields{TextField("report", report)}; });
  return {};
}

// Checks that the files of the tree exist. Renames files that have LevelDB's names.
Result<Inventory> CheckDirectory(const Store& store, manifest::Loaded* loaded) {
  FileSystem* const files = store.options.env.file_system;
  ASSIGN_OR_RETURN(Inventory inventory, TakeInventory(files, store.directory));
  ASSIGN_OR_RETURN(const bool is_adopted, AdoptFiles(files, store.directory, inventory, loaded, true));
  if (is_adopted) { ASSIGN_OR_RETURN(inventory, TakeInventory(files, store.directory)); }
  if (inventory.has_repair_marker) return InterruptedRepair(store.directory);
  const Status status = CheckFiles(files, store.directory, *loaded->version);
  if (inventory.has_import_marker && status.IsCorruption()) return ImportedIsDamaged(status, store.directory);
  RETURN_IF_ERROR(status);
  return inventory;
}

// True for a file that no other engine and no user has: a MANIFEST of mergedb. The content says it.
Result<bool> IsOwnFile(FileSystem* files, const std::string& path, const std::string& name) {
  const auto parsed = format::ParseFileName(name);
  if (!parsed || parsed->kind != format::FileKind::kManifest) return false;
  return manifest::HoldsManifest(files, format::JoinPath(path, name));
}

// The names in the directory, a MANIFEST of mergedb last.
Result<std::vector<std::string>> OwnFilesLast(FileSystem* files, const std::string& path, bool* has_own) {
  ASSIGN_OR_RETURN(const auto names, files->List(path));
  std::vector<std::string> sorted, own;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const bool is_own, IsOwnFile(files, path, name));
    (is_own ? own : sorted).push_back(name);
  }
  *has_own = !own.empty();
  sorted.insert(sorted.end(), own.begin(), own.end());
  return sorted;
}

// For Destroy. NotFound unless the directory has CURRENT or, if that is lost, a MANIFEST of mergedb. Refuses files of
// other engines beside which there is no CURRENT.
Status CheckHasDatabase(FileSystem* files, const std::string& path) {
  const auto current = files->SizeOf(format::FilePath(path, format::FileKind::kCurrent));
  if (current || !current.error().IsNotFound()) return current.status();
  RETURN_IF_ERROR(CheckIsNotLmdb(files, path));
  bool has_own = false;
  const auto names = OwnFilesLast(files, path, &has_own);
  if (!names && !names.error().IsNotFound()) return names.error();
  if (!has_own) return Status::NotFound(path + ": no database");
  return CheckIsNotForeign(files, path);
}

}  // namespace

Result<std::unique_ptr<DbImpl>> DbImpl::Open(const Options& options, const std::string& path,
                                             const Supplies& supplies) {
  auto opened = OpenOrFail(options, path, supplies);
  if (!opened && opened.error().IsNoSpace() && options.mode != OpenMode::kReadOnly && FreeSpaceForOpen(options, path))
    opened = OpenOrFail(options, path, supplies);
  if (!opened) return read::WithNextStep(opened.error(), path);
  (*opened)->TellOpen();
  return opened;
}

Result<std::unique_ptr<DbImpl>> DbImpl::OpenOrFail(const Options& options, const std::string& path,
                                                   const Supplies& supplies) {
  Options checked = options;
  RETURN_IF_ERROR(CheckPath(path));
  RETURN_IF_ERROR(CheckOptions(&checked));
  const bool is_read_only = checked.mode == OpenMode::kReadOnly;
  const bool may_create = checked.mode == OpenMode::kCreateIfMissing || checked.mode == OpenMode::kMustNotExist;

  if (!is_read_only) RETURN_IF_ERROR(env::CheckThreads(checked.env.executor).WithContext(path));
  // Before Lock, which would create LOCK in its directory.
  RETURN_IF_ERROR(CheckIsNotLmdb(checked.env.file_system, path));
  RETURN_IF_ERROR(PrepareDirectory(checked.env.file_system, path, may_create));
  ASSIGN_OR_RETURN(auto bound, BindDirectory(&checked, path));
  std::shared_ptr<env::HeldFiles> held;
  if (is_read_only) {
    held = std::make_shared<env::HeldFiles>(checked.env.file_system, env::DescriptorsMax() / 2);
    checked.env.file_system = held.get();
  }
  FileSystem* const files = checked.env.file_system;
  auto store = std::make_shared<Store>(checked, path, supplies, std::move(bound), std::move(held));
  RETURN_IF_ERROR(store->events.status().WithContext(path));
  const std::string lock_path = format::FilePath(path, format::FileKind::kLock);
  const bool makes_lock_file = files->SizeOf(lock_path).status().IsNotFound();
  std::unique_ptr<FileLock> file_lock;
  if (!is_read_only) { ASSIGN_OR_RETURN(file_lock, LockDatabase(files, path)); }

  auto loaded = LoadManifest(*store);
  if (!loaded && is_read_only) RETURN_IF_ERROR(CheckNoRepairRuns(*store));
  if (!loaded && loaded.error().IsCorruption()) RETURN_IF_ERROR(ImportInto(*store, &loaded));
  if (!loaded && loaded.error().IsNotFound() && !may_create && !is_read_only && makes_lock_file) {
    // While the lock is held. WHY: an open that finds no database must leave no file in the directory.
    (void)files->Remove(lock_path);
  }
  if (!loaded && (!loaded.error().IsNotFound() || !may_create)) return loaded.error();
  // Load does not recognize a database of another kind that has neither CURRENT nor tables.
  if (!loaded) RETURN_IF_ERROR(CheckIsSupported(files, path));
  // WHY again: before the lock was taken, another process may have begun to unpack an archive.
  const Status refused = loaded ? Status() : CheckIsNotLmdb(files, path, true);
  if (!refused.ok() && makes_lock_file) (void)files->Remove(lock_path);  // the archive needs an empty directory
  RETURN_IF_ERROR(refused);
  if (loaded && checked.mode == OpenMode::kMustNotExist) {
    return Status::InvalidArgument(path + ": a database exists already");
  }
  if (is_read_only) {
    ASSIGN_OR_RETURN(auto recovered, RecoverReadOnly(*store, std::move(*loaded)));
    store->explain = [of = store.get(), id = recovered.tree->database_id](Status status) {
      return ExplainReadOnly(*of, id, std::move(status));
    };
    return std::unique_ptr<DbImpl>(new DbImpl(std::move(store), nullptr, std::move(recovered)));
  }
  Inventory inventory;
  if (loaded) { ASSIGN_OR_RETURN(inventory, CheckDirectory(*store, &*loaded)); }
  auto recovered = loaded ? RecoverTree(*store, *loaded, inventory) : CreateTree(*store);
  if (!recovered) return read::OfWrite(recovered.error(), path);
  const bool keeps_orphans = loaded && (loaded->has_dropped() || inventory.has_keep_marker);
  const VersionSet::WalStart start = recovered->start;
  wal::Replayed wal = std::move(recovered->wal);
  std::unique_ptr<DbImpl> database(new DbImpl(std::move(store), std::move(file_lock), std::move(*recovered)));
  RETURN_IF_ERROR(read::OfWrite(keeps_orphans ? database->StartWithDroppedFiles(start, inventory, std::move(wal))
                                              : database->Start(start, inventory, std::move(wal)),
                                path));
  // The state of an earlier process that did not close the database.
  if (inventory.has_live_file) (void)files->Remove(format::FilePath(path, format::FileKind::kLive));
  // WHY orphans are removed before background work starts: a compaction takes tables out of the SuperVersion
  // that the lagging MANIFEST still names, and these would look like orphans.
  database->StartBackground();
  return database;
}

Status DbImpl::Start(const VersionSet::WalStart& start, const Inventory& inventory, wal::Replayed wal) {
  RETURN_IF_ERROR(writers_.Start(start));
  RETURN_IF_ERROR(epochs_.CreateWal(start, std::move(wal.segments)));
  for (const kv::FileNumber number : inventory.recycled_files) tree_->recycled_files.Adopt(number);
  RemoveOrphans(*store_, *tree_, inventory, wal.dropped_bytes > 0);
  return {};
}

// WHY the WAL moves too if KEEP is found: the open that made KEEP may have dropped a part of the WAL.
Status DbImpl::StartWithDroppedFiles(const VersionSet::WalStart& start, const Inventory& inventory, wal::Replayed wal) {
  const bool with_wal = wal.dropped_bytes > 0 || inventory.has_keep_marker;
  ASSIGN_OR_RETURN(auto kept, KeptOrphans::Prepare(*store_, *tree_, inventory, with_wal));
  if (with_wal) wal.segments.clear();
  RETURN_IF_ERROR(writers_.Start(start));
  kept.Move();
  RETURN_IF_ERROR(epochs_.CreateWal(start, std::move(wal.segments)));
  for (const kv::FileNumber number : inventory.recycled_files) tree_->recycled_files.Adopt(number);
  recovery_report_ += kept.report();
  return {};
}

void DbImpl::TellOpen() {
  Events& events = store_->events;
  if (!recovery_report_.empty())
    events.Emit(EventKind::kRecovery, [&] { return EventFields{TextField("report", recovery_report_)}; });
  events.Emit(EventKind::kOpen, [&] {
    const read::SuperVersionPtr super_version = reader_.Current();
    const version::Version& version = *super_version->version;
    return EventFields{NumberField("micros", (store_->options.env.clock->NowNanos() - store_->opened_nanos) / 1000),
                       NumberField("runs", version.runs().size()),
                       NumberField("tables", version.file_count()),
                       NumberField("blob_files", version.blob_files().size()),
                       NumberField("bytes", version.bytes_on_disk()),
                       NumberField("sequence", store_->snapshots->published()),
                       NumberField("memory_bytes", store_->options.memory_bytes),
                       NumberField("read_only", background_ == nullptr)};
  });
  events.StartLog();
  events.WriteLog();
}

void DbImpl::StartBackground() noexcept {
  background_ = std::make_shared<Background>(
      *store_, *tree_, writers_.write_delay(),
      WriterCallbacks{.make_standby = [this] { writers_.MakeStandby(); },
                      .flush_if_idle = [this](bool is_worth_it) { writers_.BeginIdleFlush(is_worth_it); }});
  writers_.SetBackground(*background_);
  auto reads = std::make_unique<ReadsToBackground>(*background_);
  reads_ = reads.get();
  store_->read_observer = std::move(reads);
  background_->Nudge();
  live_ = std::make_shared<LivePublisher>(store_->options.env, store_->directory,
                                          [this] { return DescribeLive(Sources()); });
  live_->Start();
}

Status DbImpl::Destroy(const Options& options, const std::string& path) {
  Options checked = options;
  RETURN_IF_ERROR(CheckOptions(&checked));
  RETURN_IF_ERROR(CheckHasDatabase(checked.env.file_system, path));
  // WHY: if another directory takes the name meanwhile, Destroy removes nothing in it.
  ASSIGN_OR_RETURN(const auto bound, BindDirectory(&checked, path));
  FileSystem* const files = checked.env.file_system;
  const std::string lock_path = format::FilePath(path, format::FileKind::kLock);
  ASSIGN_OR_RETURN(auto lock, LockDatabase(files, path));
  ASSIGN_OR_RETURN(const bool is_foreign_removed, RemoveForeign(files, path));
  if (is_foreign_removed) {
    RETURN_IF_ERROR(files->Remove(lock_path));
    (void)files->RemoveDirectory(path);
    return {};
  }
  // WHY an error ends Destroy: if the marker seemed absent, the source of the import would stay.
  const auto import_marker = files->SizeOf(format::FilePath(path, format::FileKind::kImport));
  if (!import_marker && !import_marker.error().IsNotFound()) return import_marker.error();
  if (import_marker) RETURN_IF_ERROR(RemoveImportedSource(files, path));
  // CURRENT is removed last, or without it a MANIFEST: an interrupted Destroy leaves a damaged
  // database, which a second Destroy removes.
  bool has_own = false;
  ASSIGN_OR_RETURN(const auto names, OwnFilesLast(files, path, &has_own));
  for (const std::string& name : names) {
    const auto parsed = format::ParseFileName(name);
    if (!parsed || parsed->kind == format::FileKind::kLock || parsed->kind == format::FileKind::kCurrent) continue;
    RETURN_IF_ERROR(files->Remove(format::JoinPath(path, name)));
  }
  RETURN_IF_ERROR(EventLog::Remove(files, path));
  const Status removed = files->Remove(format::FilePath(path, format::FileKind::kCurrent));
  if (!removed.ok() && !removed.IsNotFound()) return removed;
  RETURN_IF_ERROR(files->Remove(lock_path));
  (void)files->RemoveDirectory(path);  // fails if the directory holds anything else
  return {};
}

}  // namespace mergedb::db
