#include "db/checkpoint.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compaction/flush_job.h"
#include "db/db_impl.h"
#include "db/recovery/recovery.h"
#include "db/state/integrity.h"
#include "db/state/options_check.h"
#include "db/state/tree.h"
#include "env/copy_file.h"
#include "env/held_files.h"
#include "format/file_name.h"
#include "manifest/manifest.h"
#include "version/data_files.h"
#include "version/version_builder.h"

namespace mergedb::db {
namespace {

constexpr std::string_view kPartialSuffix = ".partial";
constexpr int kLockAttemptsMax = 10;

using format::DescribedFile;

class Checkpointer : private compaction::FileOwner {
 public:
  Checkpointer(const CheckpointSource& source, std::string target, const CheckpointOptions& options)
      : source_(source),
        store_(*source.store),
        files_(store_.options.env.file_system),
        options_(options),
        target_(Trimmed(std::move(target))),
        partial_(target_ + std::string(kPartialSuffix)),
        factory_(FactoryFor(store_, partial_, *this)),
        pieces_(version::DataFilesOf(*source_.super_version->version)) {
    for (const DescribedFile& piece : pieces_) {
      next_file_ = std::max(next_file_, kv::ToInt(piece.number) + 1);
      report_.bytes += piece.bytes;
    }
  }

  Result<CheckpointReport> Run() {
    RETURN_IF_ERROR(Begin());
    if (options_.may_link && source_.committer != nullptr)
      RETURN_IF_ERROR(source_.committer->SyncFiles(*source_.super_version->version));
    for (const DescribedFile& piece : pieces_) RETURN_IF_ERROR(Take(piece));
    RETURN_IF_ERROR(FlushMemtables());
    RETURN_IF_ERROR(VerifyAll());
    RETURN_IF_ERROR(Describe());
    RETURN_IF_ERROR(TakeName());
    report_.sequence = source_.sequence;
    return report_;
  }

 private:
  static std::string Trimmed(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
  }

  kv::FileNumber AllocateNumber() override { return kv::FileNumber{next_file_++}; }
  Status Begin();
  Status LockPartial();
  Result<std::vector<std::string>> ListPartial();
  Status CheckTarget();
  Status Take(const DescribedFile& piece);
  Status Check(const DescribedFile& piece);
  Status CopyFile(const std::string& from, const DescribedFile& piece);
  Status CheckWasNotReplaced(const std::string& from);
  Status FlushMemtables();
  Status SyncFlushed(const DescribedFile& piece);
  Status VerifyAll();
  Status Describe();
  Status TakeName();
  Status Advance(uint64_t bytes);

  const CheckpointSource& source_;
  Store& store_;
  FileSystem* const files_;
  const CheckpointOptions& options_;
  const std::string target_, partial_;
  std::unique_ptr<FileLock> lock_;  // of `partial_`
  uint64_t next_file_ = 1;
  const compaction::TableFactory factory_;
  std::vector<DescribedFile> pieces_;
  std::vector<format::FileMetaPtr> flushed_tables_;  // of memtables, oldest first
  std::vector<format::BlobFilePtr> flushed_values_;
  uint64_t done_bytes_ = 0;
  CheckpointReport report_;
};

// Counts the bytes of a file when it is taken, and again when it is verified.
Status Checkpointer::Advance(uint64_t bytes) {
  done_bytes_ += bytes;
  if (!options_.progress || options_.progress(done_bytes_, options_.verify ? 2 * report_.bytes : report_.bytes))
    return {};
  return Status::Aborted(target_ + ": cancelled by the progress callback; the partial result is in " + partial_);
}

Status Checkpointer::CheckTarget() {
  RETURN_IF_ERROR(CheckPath(target_));
  ASSIGN_OR_RETURN(const bool is_directory, files_->IsDirectory(target_));
  if (!is_directory) {
    const auto size = files_->SizeOf(target_);
    if (!size && size.error().IsNotFound()) return {};
    return Status::InvalidArgument(target_ + ": expected no file or an empty directory, found a file");
  }
  ASSIGN_OR_RETURN(const auto names, files_->List(target_));
  if (names.empty()) return {};
  return Status::InvalidArgument(target_ + ": expected no file or an empty directory, found " + names.front());
}

// The names in the partial directory. InvalidArgument if one of them is foreign.
Result<std::vector<std::string>> Checkpointer::ListPartial() {
  ASSIGN_OR_RETURN(auto names, files_->List(partial_));
  for (const std::string& name : names) {
    if (format::ParseFileName(name)) continue;
    return Status::InvalidArgument(format::JoinPath(partial_, name) +
                                   ": not a file of an interrupted checkpoint; remove it, or choose another target");
  }
  return names;
}

// Two calls for one target would remove and rename each other's files. The lock is the LOCK of the copy: it moves to
// the target with the directory, so no call can lock a directory that another call is about to rename.
Status Checkpointer::LockPartial() {
  Status status;
  for (int attempt = 0; attempt < kLockAttemptsMax; ++attempt) {
    RETURN_IF_ERROR(files_->CreateDirectory(partial_));
    status = ListPartial().status();  // WHY before the lock: LOCK must not appear in a foreign directory
    if (status.IsNotFound()) continue;
    RETURN_IF_ERROR(status);
    auto lock = files_->Lock(format::FilePath(partial_, format::FileKind::kLock));
    status = lock.status();
    if (lock) {
      lock_ = std::move(*lock);
      return {};
    }
    if (!status.IsNotFound()) break;  // NotFound: another call has just renamed the directory
  }
  if (!status.IsBusy()) return status;
  return Status::Busy(target_ + ": another call makes a checkpoint with this target now (" +
                      std::string(status.message()) + "); wait for it, or choose another target");
}

// An interrupted call may have left files of another state. Files with names of this state stay for now: Take
// keeps those that are whole. Other files of a database are removed. A file of any other name is foreign:
// InvalidArgument.
Status Checkpointer::Begin() {
  RETURN_IF_ERROR(CheckTarget());
  RETURN_IF_ERROR(LockPartial());
  ASSIGN_OR_RETURN(const auto names, ListPartial());
  if (Status status = CheckTarget(); !status.ok()) {  // another call has completed it meanwhile
    if (names.size() == 1) {
      (void)files_->Remove(format::FilePath(partial_, format::FileKind::kLock));
      (void)files_->RemoveDirectory(partial_);
    }
    return status;
  }
  std::set<std::string> wanted = {format::FilePath(partial_, format::FileKind::kLock)};
  for (const DescribedFile& piece : pieces_) wanted.insert(piece.PathIn(partial_));
  for (const std::string& name : names) {
    const std::string path = format::JoinPath(partial_, name);
    if (!wanted.contains(path)) RETURN_IF_ERROR(files_->Remove(path));
  }
  return {};
}

Status Checkpointer::Check(const DescribedFile& piece) {
  return CheckFile(files_, piece.PathIn(partial_), piece, store_.order);
}

Status Checkpointer::Take(const DescribedFile& piece) {
  const std::string from = piece.PathIn(store_.directory);
  const std::string to = piece.PathIn(partial_);
  ++report_.files;
  if (files_->SizeOf(to).has_value()) {
    if (Check(piece).ok()) {
      ++report_.kept;
      return Advance(piece.bytes);
    }
    RETURN_IF_ERROR(files_->Remove(to));
  }
  if (options_.may_link && files_->Link(from, to).ok()) {
    ++report_.linked;
    return Advance(piece.bytes);
  }
  RETURN_IF_ERROR(CopyFile(from, piece));
  ++report_.copied;
  return {};
}

// Until the copy is durable, it has a name that the next call removes.
Status Checkpointer::CopyFile(const std::string& from, const DescribedFile& piece) {
  const std::string unsynced = format::RecycledPath(partial_, piece.number);
  Status status = env::CopyFile(files_, from, unsynced, [this](uint64_t bytes) { return Advance(bytes); });
  if (status.ok() || status.IsNotFound()) RETURN_IF_ERROR(CheckWasNotReplaced(from));
  RETURN_IF_ERROR(status);
  return files_->Rename(unsynced, piece.PathIn(partial_));
}

// A process beside a read-only open gives a file another name before it overwrites it, and overwrites no file that the
// open holds (env/hold.h).
Status Checkpointer::CheckWasNotReplaced(const std::string& from) {
  if (store_.held != nullptr && store_.held->Keeps(from)) return {};
  const Status status = files_->SizeOf(from).status();
  return status.IsNotFound() ? Status::IOError(from +
                                               ": copy: No such file or directory; expected a file that the "
                                               "checkpoint needs")
                             : status;
}

Status Checkpointer::FlushMemtables() {
  std::vector<std::shared_ptr<memtable::Memtable>> memtables(source_.super_version->immutable.rbegin(),
                                                             source_.super_version->immutable.rend());
  for (const auto& memtable : memtables) {
    iterator::CompactionIteratorCounts counts;
    ASSIGN_OR_RETURN(auto flushed,
                     compaction::Flush(factory_, *memtable, {}, store_.options.compression.upper, &counts));
    if (flushed.table == nullptr) continue;
    flushed_tables_.push_back(flushed.table);
    std::vector<DescribedFile> pieces = {DescribedFile(flushed.table)};
    for (const auto& values : flushed.blob_files) {
      flushed_values_.push_back(values);
      pieces.emplace_back(values);
    }
    for (const DescribedFile& piece : pieces) RETURN_IF_ERROR(SyncFlushed(piece));
    pieces_.insert(pieces_.end(), pieces.begin(), pieces.end());
    const uint64_t files = 1 + flushed.blob_files.size();
    report_.files += files;
    report_.copied += files;
    report_.bytes += flushed.bytes();
    RETURN_IF_ERROR(Advance(flushed.bytes()));
  }
  return {};
}

// A file that cannot be synced is removed: the next call could take it for a durable one.
Status Checkpointer::SyncFlushed(const DescribedFile& piece) {
  if (files_->is_append_only()) return {};  // synced when it was written
  const std::string path = piece.PathIn(partial_);
  ASSIGN_OR_RETURN(auto file, files_->Open(path, {.access = Access::kReadWrite}));
  Status status = file->Sync();
  if (status.ok()) status = file->Close();
  if (!status.ok()) (void)files_->Remove(path);
  return status;
}

Status Checkpointer::VerifyAll() {
  for (const DescribedFile& piece : pieces_) {
    if (!options_.verify) break;
    RETURN_IF_ERROR(Check(piece));
    RETURN_IF_ERROR(Advance(piece.bytes));
  }
  return files_->SyncDirectory(partial_);
}

// Writes the MANIFEST: the runs as they are, the flushed memtables on top, and an empty WAL.
Status Checkpointer::Describe() {
  const version::Version& version = *source_.super_version->version;
  uint64_t next_position = 1;
  for (const auto& run : version.runs()) next_position = std::max(next_position, kv::ToInt(run->position()) + 1);
  format::VersionEdit edit = version::VersionEditFromEmpty(version);
  for (const auto& values : flushed_values_) edit.blob_files.push_back({.file = values});
  for (const auto& meta : flushed_tables_) {
    edit.adds.push_back({.position = kv::Position{next_position++}, .level = 0, .file = meta, .bounds = {}});
  }
  const Env& env = store_.options.env;
  uint64_t database_id = 0;
  while (database_id == 0) database_id = env.entropy();
  const auto start = FirstOfEpoch(1, env.entropy(), std::min(source_.sequence + 1, kv::kSequenceMax));
  edit.database_id = database_id;
  edit.comparator = std::string(store_.order.comparator()->Name());
  if (source_.key_map != nullptr) edit.key_marker = source_.key_map->reserved_prefix();
  edit.next_file = kv::FileNumber{next_file_ + 1};  // one number more, for the MANIFEST itself
  edit.next_position = kv::Position{next_position};
  edit.last_sequence = start.sequence - 1;
  edit.wal_start = start;
  edit.wal_durable = 0;
  edit.wal_segments.emplace();
  edit.clean_wal_end = 0;
  if (auto operators = store_.operator_names.List(); !operators.empty()) edit.merge_operators = std::move(operators);
  manifest::Manifest manifest(
      {.file_system = files_, .directory = partial_, .database_id = database_id, .allocate_number = [this] {
         return AllocateNumber();
       }});
  return manifest.Commit(edit);
}

// The rename replaces an empty target directory.
Status Checkpointer::TakeName() {
  RETURN_IF_ERROR(files_->Rename(partial_, target_));
  return files_->SyncDirectory(format::ParentOf(target_));
}

}  // namespace

Result<CheckpointReport> MakeCheckpoint(const CheckpointSource& source, const std::string& target,
                                        const CheckpointOptions& options) {
  if (target.empty()) return Status::InvalidArgument("Checkpoint: the name of the target directory is empty");
  return Checkpointer(source, target, options).Run();
}

// WHY the exclusive section: a batch larger than a memtable is applied piece by piece, and the SuperVersion
// must not hold only a part of it.
Result<CheckpointReport> DbImpl::Checkpoint(const std::string& target, const CheckpointOptions& options) {
  RETURN_IF_ERROR(store_->CheckOpen());
  CheckpointSource source{.store = store_, .super_version = nullptr};
  const auto take = [&] {
    source.super_version = tree_->version_set.Current();
    source.key_map = store_->key_map();
    source.sequence = store_->snapshots->published();
  };
  if (store_->options.mode == OpenMode::kReadOnly) {
    take();
  } else {
    write::WriterQueue::ExclusiveSection section(writers_.queue());
    RETURN_IF_ERROR(writers_.ResumeWal());
    RETURN_IF_ERROR(writers_.SwitchMemtableIfUsed());
    take();
    source.committer = &tree_->committer;
  }
  const uint64_t start = store_->options.env.clock->NowNanos();
  auto report = MakeCheckpoint(source, target, options);
  if (!report && store_->explain) report = store_->explain(report.error());
  store_->events.Emit(EventKind::kCheckpoint, [&] {
    return EventFields{TextField("target", target), NumberField("files", report ? report->files : 0),
                       NumberField("bytes", report ? report->bytes : 0),
                       NumberField("micros", (store_->options.env.clock->NowNanos() - start) / 1000),
                       StatusField(report.status())};
  });
  store_->events.WriteLog();
  return report;
}

}  // namespace mergedb::db

namespace mergedb {

Result<CheckpointReport> Checkpoint(DB& db, const std::string& target, const CheckpointOptions& options) {
  auto* const ours = dynamic_cast<db::DbImpl*>(&db);
  if (ours == nullptr) return Status::NotSupported("Checkpoint: the database was not opened by DB::Open");
  return ours->Checkpoint(target, options);
}

}  // namespace mergedb
