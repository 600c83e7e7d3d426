#include "db/recovery/recovery.h"

#include <algorithm>
#include <utility>

#include "format/file_name.h"

namespace mergedb::db {

Result<Inventory> TakeInventory(FileSystem* file_system, const std::string& directory) {
  Inventory inventory;
  ASSIGN_OR_RETURN(const auto names, file_system->List(directory));
  for (const std::string& name : names) {
    const auto parsed = format::ParseFileName(name);
    if (!parsed) {
      inventory.other_names.push_back(name);
      continue;
    }
    inventory.largest = std::max(inventory.largest, parsed->number);
    switch (parsed->kind) {
      case format::FileKind::kTable: inventory.tables.push_back(parsed->number); break;
      case format::FileKind::kBlobFile: inventory.blob_files.push_back(parsed->number); break;
      case format::FileKind::kSegment: inventory.segments.push_back(parsed->number); break;
      case format::FileKind::kManifest: inventory.manifests.push_back(parsed->number); break;
      case format::FileKind::kRecycled: inventory.recycled_files.push_back(parsed->number); break;
      case format::FileKind::kStaging: inventory.has_staging = true; break;
      case format::FileKind::kRepair: inventory.has_repair_marker = true; break;
      case format::FileKind::kImport: inventory.has_import_marker = true; break;
      case format::FileKind::kKeep: inventory.has_keep_marker = true; break;
      case format::FileKind::kLive: inventory.has_live_file = true; break;
      default: break;
    }
  }
  return inventory;
}

Status CheckIsDirectory(FileSystem* file_system, const std::string& path) {
  ASSIGN_OR_RETURN(const bool is_directory, file_system->IsDirectory(path));
  if (is_directory) return {};
  const bool is_absent = file_system->SizeOf(path).status().IsNotFound();
  return is_absent ? Status::NotFound(path + ": no such directory")
                   : Status::InvalidArgument(path + ": not a directory");
}

namespace {

// Appends a line to *damage if the file is missing or has another size. Returns an error if this cannot be
// determined.
Status CheckSize(FileSystem* file_system, const std::string& path, uint64_t expected, std::string* damage) {
  const auto bytes = file_system->SizeOf(path);
  if (!bytes) {
    if (!bytes.error().IsNotFound() && !bytes.error().IsInvalidArgument()) return bytes.error();
    *damage += "; " + (bytes.error().IsNotFound() ? path + ": missing" : std::string(bytes.error().message()));
  } else if (*bytes != expected) {
    *damage += "; " + path + ": " + std::to_string(*bytes) + " bytes, expected " + std::to_string(expected);
  }
  return {};
}

}  // namespace

Status CheckFiles(FileSystem* file_system, const std::string& directory, const version::Version& version) {
  std::string damage;
  for (const auto& meta : version.file_metas()) {
    RETURN_IF_ERROR(CheckSize(file_system, format::TablePath(directory, meta->number), meta->bytes, &damage));
  }
  for (const auto& each : version.blob_files()) {
    RETURN_IF_ERROR(
        CheckSize(file_system, format::BlobFilePath(directory, each.file->number), each.file->bytes, &damage));
  }
  return damage.empty() ? Status() : Status::Corruption("files that the MANIFEST names are damaged" + damage);
}

Status InterruptedRepair(const std::string& directory) {
  return Status::Corruption(format::JoinPath(directory, "REPAIR") + ": a repair was interrupted; run `mergedb repair " +
                            directory + "` again");
}

format::VersionEdit::WalStart FirstOfEpoch(uint64_t epoch, uint64_t salt, kv::Sequence sequence) {
  const wal::Mark first = wal::FirstMark(salt, sequence);
  return {.epoch = epoch, .salt = salt, .position = first.position, .chain = first.chain, .sequence = first.sequence};
}

Status CheckRangeDelete(const kv::Order& order, const format::BatchReader& record, kv::Sequence sequence) {
  if (record.kind() != kv::Kind::kRangeDelete || order.CompareKeys(record.key(), record.value()) <= 0) [[likely]]
    return {};
  return Status::Corruption("WAL record at sequence " + std::to_string(sequence) + ": the range begins after its end");
}

namespace {

// Adds the records of WAL frames to memtables. `current_` is the newest memtable.
class Replayer {
 public:
  // Skips records up to sequence `flushed`: tables hold them.
  Replayer(Store& store, kv::Sequence flushed, const OnFull& on_full)
      : store_(store), flushed_(flushed), on_full_(on_full) {}

  Status Apply(kv::Sequence first, std::string_view payload) {
    // The memtable requires ascending sequences and tags without overflow. A payload of n bytes has fewer
    // than n records.
    if (first <= last_sequence_ || first > kv::kSequenceMax - payload.size()) {
      return Status::Corruption(store_.directory + ": a WAL frame of sequence " + std::to_string(first) +
                                " follows sequence " + std::to_string(last_sequence_));
    }
    format::BatchReader reader(payload);
    kv::Sequence sequence = first;
    while (reader.Next()) {
      RETURN_IF_ERROR(CheckRangeDelete(store_.order, reader, sequence));
      if (sequence <= flushed_) [[unlikely]] {
        ++sequence;
        continue;
      }
      RETURN_IF_ERROR(MakeMemtableRoom(reader.key().size(), reader.value().size()));
      if (reader.kind() == kv::Kind::kMerge) store_.operator_names.AddOf(reader.value());
      current_->Add(reader.key(), kv::MakeTag(sequence++, reader.kind()), reader.value());
    }
    last_sequence_ = std::max(last_sequence_, sequence - 1);
    return reader.status();
  }
  kv::Sequence last_sequence() const { return last_sequence_; }
  std::vector<std::shared_ptr<memtable::Memtable>> Take() {
    if (current_ != nullptr) full_.push_back(std::move(current_));
    return std::move(full_);
  }

 private:
  Status MakeMemtableRoom(size_t key_bytes, size_t value_bytes) {
    if (current_ != nullptr && current_->HasRoom(key_bytes, value_bytes)) return {};
    if (current_ != nullptr) {
      if (on_full_) RETURN_IF_ERROR(on_full_(&current_));
      if (current_ != nullptr) full_.push_back(std::move(current_));
    }
    // WHY the first one takes pages as it fills: most WALs are small.
    current_ = std::exchange(is_first_, false) ? store_.memtables->NewUntouchedMemtable(store_.order)
                                               : store_.memtables->NewMemtable(store_.order);
    if (!current_->HasRoom(key_bytes, value_bytes)) {
      current_ =
          write::MemoryPool::NewLargeMemtable(store_.order, memtable::Memtable::BytesNeeded(key_bytes, value_bytes));
    }
    return {};
  }

  Store& store_;
  const kv::Sequence flushed_;
  const OnFull& on_full_;
  std::shared_ptr<memtable::Memtable> current_;
  bool is_first_ = true;
  kv::Sequence last_sequence_ = 0;
  std::vector<std::shared_ptr<memtable::Memtable>> full_;
};

}  // namespace

wal::Expected ExpectedOf(const manifest::Loaded& loaded) {
  return {.clean_end = loaded.clean_wal_end,
          .durable_position = loaded.wal_durable,
          .segments = loaded.wal_segments,
          .staging_bytes = loaded.staging_bytes};
}

Result<Replayed> ReplayWal(Store& store, const manifest::Loaded& loaded, const OnFull& on_full) {
  Replayed replayed;
  Replayer replayer(store, loaded.flushed_sequence, on_full);
  ASSIGN_OR_RETURN(replayed.wal,
                   wal::Replay(store.options.env.file_system, store.directory, loaded.database_id, loaded.wal_start,
                               ExpectedOf(loaded), [&](kv::Sequence first, std::string_view payload) {
                                 return replayer.Apply(first, payload);
                               }));
  replayed.last_sequence = replayer.last_sequence();
  replayed.memtables = replayer.Take();
  return replayed;
}

// WHY each batch is parsed completely first: if it is malformed, none of its records may be applied.
Result<SalvagedWal> SalvageWal(Store& store, const wal::Origin& origin, const manifest::Loaded* loaded,
                               const OnFull& on_full, const std::function<void()>& on_loaded) {
  Replayer replayer(store, loaded == nullptr ? 0 : loaded->flushed_sequence, on_full);
  const auto apply = [&](kv::Sequence first, std::string_view payload) -> Status {
    format::BatchReader reader(payload);
    for (kv::Sequence sequence = first; reader.Next(); ++sequence)
      RETURN_IF_ERROR(CheckRangeDelete(store.order, reader, sequence));
    RETURN_IF_ERROR(reader.status());
    return replayer.Apply(first, payload);
  };
  const wal::Expected expected = loaded != nullptr ? ExpectedOf(*loaded) : wal::Expected();
  SalvagedWal salvaged;
  ASSIGN_OR_RETURN(salvaged.wal,
                   wal::Salvage(store.options.env.file_system, store.directory, origin, expected, apply, on_loaded));
  salvaged.replayed.last_sequence = replayer.last_sequence();
  salvaged.replayed.memtables = replayer.Take();
  return salvaged;
}

}  // namespace mergedb::db
