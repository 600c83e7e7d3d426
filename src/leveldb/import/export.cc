#include "leveldb/import/export.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "env/copy_file.h"
#include "format/file_name.h"
#include "leveldb/format/edit.h"
#include "leveldb/format/filter.h"
#include "leveldb/format/log.h"
#include "leveldb/format/name.h"
#include "leveldb/format/table.h"
#include "leveldb/import/directory.h"

namespace mergedb::leveldb_import {
namespace {

using leveldb_format::NameKind;

constexpr size_t kWriteBytes = size_t{1} << 20;
constexpr kv::FileNumber kManifest{1};
constexpr kv::Sequence kSequence = 1;
constexpr std::string_view kMarker = "EXPORT";
constexpr std::string_view kMarkerText =
    "An export from mergedb to LevelDB is under way, or was interrupted. Run it again, or remove this directory.\n";
constexpr uint64_t kLevelOneBytes = 10 << 20;  // LevelDB's limit; each level holds ten times the one above

// A new file, written sequentially in large pieces.
class FrontToBack {
 public:
  static Result<std::unique_ptr<FrontToBack>> Create(FileSystem* file_system, const std::string& path) {
    ASSIGN_OR_RETURN(auto file, file_system->Open(path, {.access = Access::kCreate}));
    return std::unique_ptr<FrontToBack>(new FrontToBack(std::move(file)));
  }
  Status Append(std::string_view bytes) {
    buffer_ += bytes;
    return buffer_.size() < kWriteBytes ? Status() : WriteBuffer();
  }
  Status Finish() {
    RETURN_IF_ERROR(WriteBuffer());
    RETURN_IF_ERROR(file_->Sync());
    return file_->Close();
  }

 private:
  explicit FrontToBack(std::unique_ptr<File> file) : file_(std::move(file)) {}
  Status WriteBuffer() {
    if (buffer_.empty()) return {};
    RETURN_IF_ERROR(file_->WriteAt(written_, buffer_));
    written_ += buffer_.size();
    buffer_.clear();
    return {};
  }

  const std::unique_ptr<File> file_;
  std::string buffer_;
  uint64_t written_ = 0;
};

class Exporter {
 public:
  explicit Exporter(const Exporting& exporting)
      : exporting_(exporting),
        files_(exporting.file_system),
        user_(exporting.order),
        bloom_(std::max(exporting.options.bloom_bits_per_key, 0)) {}

  Result<LevelDbExport> Run(Iterator& it) {
    Status status = Begin();
    if (status.ok()) {
      status = WriteTables(it);
      if (status.ok()) status = Commit();
      if (status.ok()) return exported_;
      builder_.reset();
      file_ = nullptr;
      (void)RemoveUnfinished();  // if this fails, the next export removes the files
    }
    if (lock_ != nullptr && makes_lock_file_) (void)files_->Remove(PathOf(leveldb_format::PrintName(NameKind::kLock)));
    return status;
  }

 private:
  Status Begin();
  Status CheckDirectory();
  Status RemoveUnfinished();
  Status WriteTables(Iterator& it);
  Status BeginTable();
  Status FinishTable();
  Status Commit();
  uint32_t LevelOf(uint64_t bytes) const;
  std::string PathOf(std::string_view name) const { return format::JoinPath(exporting_.directory, name); }

  const Exporting& exporting_;
  FileSystem* const files_;
  std::unique_ptr<FileLock> lock_;  // of the directory
  bool makes_lock_file_ = false;
  const leveldb_format::UserOrder user_;
  const leveldb_format::InternalOrder internal_{user_};
  const leveldb_format::BloomPolicy bloom_;
  LevelDbExport exported_;
  std::vector<leveldb_format::File> tables_;
  std::unique_ptr<FrontToBack> file_;
  std::optional<leveldb_format::TableBuilder> builder_;
  std::string key_;  // internal
};

// InvalidArgument if the directory holds files that are not of an unfinished export.
Status Exporter::CheckDirectory() {
  ASSIGN_OR_RETURN(const auto names, files_->List(exporting_.directory));
  const auto other = std::find_if(names.begin(), names.end(), [](const std::string& name) {
    return name != leveldb_format::PrintName(NameKind::kLock);
  });
  if (other == names.end() || std::find(names.begin(), names.end(), kMarker) != names.end()) return {};
  return Status::InvalidArgument(exporting_.directory + ": expected no directory or an empty one, found " + *other);
}

// Afterwards the directory exists and holds only the marker and LevelDB's LOCK, which this process holds: two exports
// to one directory would remove each other's files.
// WHY three checks: LOCK must not appear in a foreign directory, another export may end before this one has the lock,
// and an unfinished export may lie beside foreign files.
// WHY the sync of the parent: a power cut after the export must not take the new directory away.
Status Exporter::Begin() {
  RETURN_IF_ERROR(files_->CreateDirectory(exporting_.directory));
  RETURN_IF_ERROR(files_->SyncDirectory(format::ParentOf(exporting_.directory)));
  RETURN_IF_ERROR(CheckDirectory());
  const std::string lock_path = PathOf(leveldb_format::PrintName(NameKind::kLock));
  makes_lock_file_ = files_->SizeOf(lock_path).status().IsNotFound();
  auto lock = files_->Lock(lock_path);
  if (!lock && lock.error().IsBusy()) {
    return Status::Busy(exporting_.directory +
                        ": another export writes to this directory now, or LevelDB has it open (" +
                        std::string(lock.error().message()) + "); wait for it, or choose another directory");
  }
  RETURN_IF_ERROR(lock.status());
  lock_ = std::move(*lock);
  RETURN_IF_ERROR(CheckDirectory());
  RETURN_IF_ERROR(RemoveUnfinished());
  RETURN_IF_ERROR(CheckDirectory());
  RETURN_IF_ERROR(env::WriteNewFile(files_, PathOf(kMarker), kMarkerText));
  return files_->SyncDirectory(exporting_.directory);
}

// Removes CURRENT first, so that LevelDB does not open a partial directory. Removes the marker last.
Status Exporter::RemoveUnfinished() {
  ASSIGN_OR_RETURN(const auto names, files_->List(exporting_.directory));
  if (std::find(names.begin(), names.end(), kMarker) == names.end()) return {};
  const auto remove = [&](bool is_current) -> Status {
    for (const std::string& name : names) {
      const auto parsed = leveldb_format::ParseName(name);
      if (parsed && parsed->kind != NameKind::kLock && (parsed->kind == NameKind::kCurrent) == is_current)
        RETURN_IF_ERROR(files_->Remove(PathOf(name)));
    }
    return files_->SyncDirectory(exporting_.directory);
  };
  RETURN_IF_ERROR(remove(true));
  RETURN_IF_ERROR(remove(false));
  RETURN_IF_ERROR(files_->Remove(PathOf(kMarker)));
  return files_->SyncDirectory(exporting_.directory);
}

// ---- tables ---------------------------------------------------------------------------------------------------

Status Exporter::WriteTables(Iterator& it) {
  const auto& options = exporting_.options;
  for (it.SeekToFirst(); it.Valid() || (it.failed_key() && options.on_failed_key); it.Next()) {
    if (!it.Valid()) {
      options.on_failed_key(*it.failed_key(), it.status());
      continue;
    }
    if (!builder_) RETURN_IF_ERROR(BeginTable());
    key_.clear();
    leveldb_format::AppendInternalKey(&key_, it.key(), kv::MakeTag(kSequence, kv::Kind::kPut));
    if (builder_->entries() == 0) tables_.back().smallest = key_;
    builder_->Add(key_, it.value());
    RETURN_IF_ERROR(builder_->status());
    ++exported_.entries;
    if (builder_->bytes() >= options.table_bytes) RETURN_IF_ERROR(FinishTable());
  }
  RETURN_IF_ERROR(it.status());
  return builder_ ? FinishTable() : Status();
}

Status Exporter::BeginTable() {
  const kv::FileNumber number{kv::ToInt(kManifest) + 1 + tables_.size()};
  ASSIGN_OR_RETURN(file_, FrontToBack::Create(files_, PathOf(leveldb_format::PrintName(NameKind::kTable, number))));
  tables_.push_back({.number = number, .bytes = 0, .smallest = "", .largest = ""});
  const auto& options = exporting_.options;
  builder_.emplace(internal_,
                   leveldb_format::TableOptions{.block_bytes = options.block_bytes,
                                                .codec = {.compression = options.compression},
                                                .filter = options.bloom_bits_per_key > 0 ? &bloom_ : nullptr},
                   [this](std::string_view bytes) { return file_->Append(bytes); });
  return {};
}

Status Exporter::FinishTable() {
  tables_.back().largest = key_;
  RETURN_IF_ERROR(builder_->Finish());
  RETURN_IF_ERROR(file_->Finish());
  tables_.back().bytes = builder_->bytes();
  exported_.bytes += builder_->bytes();
  ++exported_.tables;
  builder_.reset();
  const auto& progress = exporting_.options.progress;
  if (!progress || progress(exported_.bytes, std::max(exported_.bytes, exporting_.bytes_expected))) return {};
  return Status::Aborted(exporting_.directory + ": cancelled by the progress callback");
}

// ---- the commit -----------------------------------------------------------------------------------------------

uint32_t Exporter::LevelOf(uint64_t bytes) const {
  uint32_t level = 1;
  for (uint64_t room = kLevelOneBytes; bytes > room && level < leveldb_format::kLevels - 1; room *= 10) ++level;
  return level;
}

// Writes a MANIFEST of one edit and no log, as LevelDB's own repair does.
Status Exporter::Commit() {
  leveldb_format::VersionEdit edit{.comparator = LevelDbNameOf(exporting_.order),
                                   .log = kv::FileNumber{0},
                                   .previous_log = kv::FileNumber{0},
                                   .next_file = kv::FileNumber{kv::ToInt(kManifest) + 1 + tables_.size()},
                                   .last_sequence = kSequence,
                                   .pointers = {},
                                   .removed = {},
                                   .added = {}};
  for (leveldb_format::File& table : tables_) edit.added.emplace_back(LevelOf(exported_.bytes), std::move(table));
  std::string manifest;
  leveldb_format::LogWriter().Append(leveldb_format::EncodeVersionEdit(edit), &manifest);
  RETURN_IF_ERROR(
      env::WriteNewFile(files_, PathOf(leveldb_format::PrintName(NameKind::kManifest, kManifest)), manifest));
  const std::string temporary = leveldb_format::PrintName(NameKind::kTemporary, kManifest);
  RETURN_IF_ERROR(env::WriteNewFile(files_, PathOf(temporary), leveldb_format::EncodeCurrent(kManifest)));
  RETURN_IF_ERROR(files_->SyncDirectory(exporting_.directory));
  RETURN_IF_ERROR(files_->Rename(PathOf(temporary), PathOf(leveldb_format::PrintName(NameKind::kCurrent))));
  RETURN_IF_ERROR(files_->SyncDirectory(exporting_.directory));
  RETURN_IF_ERROR(files_->Remove(PathOf(kMarker)));
  return files_->SyncDirectory(exporting_.directory);
}

}  // namespace

Result<LevelDbExport> Export(const Exporting& exporting, Iterator& it) { return Exporter(exporting).Run(it); }

}  // namespace mergedb::leveldb_import
