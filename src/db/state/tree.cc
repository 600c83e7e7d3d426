#include "db/state/tree.h"

#include <utility>

#include "blob/reader.h"
#include "table/reader.h"

namespace mergedb::db {
namespace {

ManifestCommitter::Options CommitterOptions(Store& store, VersionSet& version_set, uint64_t database_id) {
  FileSystem* const files = store.options.env.file_system;
  return {.order = store.order,
          .database_id = database_id,
          .files = {
              .file_system = files,
              .directory = store.directory,
              .allocate_number = [&version_set] { return version_set.AllocateNumber(); },
              .check_table = [&store, files](const std::string& path, const format::FileMetaPtr& meta) -> Status {
                ASSIGN_OR_RETURN(auto reader, table::Reader::Open(files, path, meta, store.order, nullptr));
                return reader->CheckIntegrity();
              },
              .check_blob_file = [&store, files](const std::string& path, const format::BlobFileMeta& meta) -> Status {
                ASSIGN_OR_RETURN(auto reader, blob::Reader::Open(files, path, meta, store.order, nullptr));
                return reader->CheckIntegrity();
              },
              .file_replaced =
                  [&store](kv::FileNumber number) {
                    store.tables->Evict(number);
                    store.values.Evict(number);
                  }},
          .merge_operators = [&store] { return store.operator_names.List(); },
          .key_marker = store.key_map() == nullptr ? std::nullopt : std::optional(store.key_map()->reserved_prefix()),
          .clock = store.options.env.clock};
}

template <class Meta>
void TellFile(Store& store, EventKind event, std::string_view kind, const Meta& meta) {
  store.events.Emit(event, [&] {
    return EventFields{TextField("kind", kind), NumberField("number", kv::ToInt(meta.number)),
                       NumberField("bytes", meta.bytes)};
  });
}

compaction::TableFactory FactoryOf(Store& store, VersionSet& version_set, RecycledFiles& recycled_files,
                                   env::WriteTimes& write_times) {
  write_times.clock = store.options.env.clock;
  return {.file_system = store.options.env.file_system,
          .directory = store.directory,
          .order = store.order,
          .bloom_bits_per_key = store.order.is_bytewise() ? store.options.bloom_bits_per_key : 0,
          .filter_policy = store.supplies.filter_policy,
          .block_bytes = store.options.block_bytes,
          .keeps_keys_whole = store.supplies.keeps_keys_whole,
          .allocate_number = [&version_set] { return version_set.AllocateNumber(); },
          .entropy = store.options.env.entropy,
          .reuse = [&recycled_files](format::FileKind kind, kv::FileNumber number,
                                     uint64_t bytes) { return recycled_files.Reuse(kind, number, bytes); },
          .track =
              [&store](const format::FileMetaPtr& meta) {
                TellFile(store, EventKind::kFileMade, "table", *meta);
                return store.obsolete->Track(meta);
              },
          .track_values =
              [&store](const format::BlobFilePtr& meta) {
                TellFile(store, EventKind::kFileMade, "blob", *meta);
                return store.obsolete->Track(meta);
              },
          .blob_value_bytes_min = store.options.blob_value_bytes_min,
          .has_readers = [&store] { return store.TakeReadersSeen(); },
          .operators = &store.operators,
          .write_times = &write_times};
}

}  // namespace

Tree::Tree(Store& store, Origin origin)
    : database_id(origin.database_id),
      version_set(store.order, origin.version, origin.next_file, origin.next_position, origin.wal_start),
      committer(CommitterOptions(store, version_set, database_id), version_set, wal, std::move(origin.version)),
      recycled_files(store.options.env.file_system, store.directory, *store.obsolete, origin.next_file),
      factory(FactoryOf(store, version_set, recycled_files, write_times)) {}

}  // namespace mergedb::db
